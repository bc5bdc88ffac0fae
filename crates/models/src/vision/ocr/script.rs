//! Tells whether the text is in a script that the recognizer does not know. Such text comes out as nonsense in letters
//! that it knows: with scores of 0.75 to 0.87, where lines of known scripts have 0.96 to 0.99.
//!
//! What counts is how much of the text is doubtful, by characters. A mean over lines counts the bullet of a list as much as
//! a line: a Czech page of many short pieces has 0.918, a Russian one that is half English 0.893. By characters 0.6 % of
//! the former and 47 % of the latter are doubtful.

/// Score under which a line is doubtful.
const DOUBTFUL_LINE: f32 = 0.9;
/// Share of the characters in doubtful lines from which on the script is probably not covered.
const DOUBTFUL_SHARE: f32 = 0.2;
/// Words of mixed scripts, as a share of all words with letters, from which on the text is nonsense.
const MIXED_SHARE: f32 = 0.05;

/// Alphabets of which a word uses only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    Latin,
    Greek,
    Cyrillic,
}

/// Returns whether text is probably of a script that is not covered, given what was read of each line, with its score.
pub(super) fn is_not_covered<'a>(text: &str, lines: impl Iterator<Item = (&'a str, f32)>) -> bool {
    doubtful_share(lines) >= DOUBTFUL_SHARE || mixed_share(text) >= MIXED_SHARE
}

fn doubtful_share<'a>(lines: impl Iterator<Item = (&'a str, f32)>) -> f32 {
    let (mut all, mut doubtful) = (0.0, 0.0);
    for (text, score) in lines {
        let characters = text.chars().filter(|character| !character.is_whitespace()).count() as f32;
        all += characters;
        if score < DOUBTFUL_LINE {
            doubtful += characters;
        }
    }
    if all == 0.0 { 0.0 } else { doubtful / all }
}

/// Share of the words with letters of an alphabet that have letters of two.
fn mixed_share(text: &str) -> f32 {
    let (mut words, mut mixed) = (0_u16, 0_u16);
    for word in text.split(|letter: char| !letter.is_alphabetic()) {
        let mut alphabets = word.chars().filter_map(alphabet);
        let Some(first) = alphabets.next() else { continue };
        words = words.saturating_add(1);
        if alphabets.any(|other| other != first) {
            mixed = mixed.saturating_add(1);
        }
    }
    if words == 0 { 0.0 } else { f32::from(mixed) / f32::from(words) }
}

fn alphabet(letter: char) -> Option<Alphabet> {
    match letter {
        // Signs of units, not letters of words.
        'µ' | 'Ω' | 'ª' | 'º' => None,
        'A'..='Z' | 'a'..='z' | '\u{C0}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}' => Some(Alphabet::Latin),
        '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}' => Some(Alphabet::Greek),
        '\u{400}'..='\u{52F}' => Some(Alphabet::Cyrillic),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, score: f32) -> bool {
        is_not_covered(text, std::iter::once((text, score)))
    }

    #[test]
    fn text_of_low_scores_is_doubted_and_short_pieces_of_it_are_not() {
        assert!(with("Ckarnte o6pa3", 0.87));
        assert!(!with("Download the image", 0.96));
        assert!(!with("", 0.0));
        let half = [("the rest is in English, which is known", 0.98), ("oHOHSW dHwOlHOgon BZeduOp", 0.8)];
        assert!(is_not_covered("", half.into_iter()));
        let bullets = std::iter::repeat_n(("o", 0.6), 5).chain([("five bullets before lines of a list", 0.98)]);
        assert!(!is_not_covered("", bullets));
    }

    #[test]
    fn words_of_two_alphabets_are_doubted_however_sure_the_score() {
        assert!(with("Зaгpузкa системы", 0.99));
        assert!(with("the αrticle", 0.99));
    }

    #[test]
    fn texts_of_several_scripts_in_words_of_their_own_are_not_doubted() {
        assert!(!with("安装Debian GNU/Linux之前, 10 µm, インストール", 0.97));
        assert!(!with("the angle α and Москва", 0.97));
    }
}
