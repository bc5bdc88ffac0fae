//! Tells whether the text is in a script that the recognizer does not know. Such text comes out as nonsense in letters
//! that it knows: with scores of 0.75 to 0.87, where lines of known scripts have 0.96 to 0.99.

/// Mean score under which the script is probably not covered.
const MIN_MEAN_SCORE: f32 = 0.9;
/// Words of mixed scripts, as a share of all words with letters, from which on the text is nonsense.
const MIXED_SHARE: f32 = 0.05;

/// Alphabets of which a word uses only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    Latin,
    Greek,
    Cyrillic,
}

/// Returns whether text with this mean score is probably of a script that is not covered.
pub(super) fn is_not_covered(text: &str, mean: Option<f32>) -> bool {
    mean.is_some_and(|mean| mean < MIN_MEAN_SCORE) || mixed_share(text) >= MIXED_SHARE
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

    #[test]
    fn a_low_mean_score_is_doubted() {
        assert!(is_not_covered("Ckarnte o6pa3", Some(0.87)));
        assert!(!is_not_covered("Download the image", Some(0.96)));
        assert!(!is_not_covered("", None));
    }

    #[test]
    fn words_of_two_alphabets_are_doubted_however_sure_the_score() {
        assert!(is_not_covered("Зaгpузкa системы", Some(0.99)));
        assert!(is_not_covered("the αrticle", Some(0.99)));
    }

    #[test]
    fn texts_of_several_scripts_in_words_of_their_own_are_not_doubted() {
        assert!(!is_not_covered("安装Debian GNU/Linux之前, 10 µm, インストール", Some(0.97)));
        assert!(!is_not_covered("the angle α and Москва", Some(0.97)));
    }
}
