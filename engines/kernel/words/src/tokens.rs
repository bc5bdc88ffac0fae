//! Words and sentences with their places in the text. Time is linear in any text.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// Bytes of the longest word that is folded; longer ones are no words of a language.
const MAX_FOLDED: usize = 200;
/// Words before a full stop that do not end a sentence, folded.
const ABBREVIATIONS: [&str; 61] = [
    "abs", "adm", "al", "approx", "apr", "apt", "art", "aug", "av", "ave", "bzw", "ca", "capt", "cf", "cie", "co",
    "col", "dec", "dept", "dr", "ed", "eg", "esq", "est", "etc", "feb", "fig", "figs", "gen", "gov", "hon", "ie",
    "inc", "jan", "jr", "jul", "jun", "lt", "ltd", "maj", "max", "min", "mr", "mrs", "ms", "no", "nos", "nov", "oct",
    "op", "pp", "prof", "rev", "sen", "sep", "sept", "sgt", "sr", "st", "vgl", "vs",
];

/// Returns the words by UAX #29 with the byte at which each begins.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.unicode_word_indices()
}

/// Returns a word in lower case without diacritics, compatibility forms replaced: equal for NFC and NFD. Only words of
/// the Latin, Greek and Cyrillic scripts lose marks, as those of other scripts are letters.
pub fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    if word.len() > MAX_FOLDED {
        return word.to_owned();
    }
    word.nfkd()
        .filter(|letter| !matches!(*letter, '\u{300}'..='\u{36f}' | '\u{ad}'))
        .flat_map(char::to_lowercase)
        .nfkc()
        .collect()
}

/// Returns a word in lower case and NFKC, with its diacritics.
pub fn lower(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    word.nfkc().flat_map(char::to_lowercase).nfc().collect()
}

/// Whether a character ends a sentence.
fn ends(letter: char) -> bool {
    matches!(
        letter,
        '.' | '!'
            | '?'
            | '…'
            | '。'
            | '！'
            | '？'
            | '｡'
            | '।'
            | '॥'
            | '؟'
            | '۔'
            | '።'
            | '՞'
            | '։'
            | '။'
            | '។'
            | '‼'
            | '⁇'
    )
}

/// Whether such a character needs no space after it.
fn ends_alone(letter: char) -> bool {
    matches!(letter, '。' | '！' | '？' | '｡' | '।' | '॥' | '።' | '။' | '។')
}

fn closes(letter: char) -> bool {
    matches!(letter, '"' | '\'' | ')' | ']' | '}' | '”' | '’' | '»' | '」' | '』' | '）' | '›')
}

/// Returns the sentences, without the space around them, as byte ranges in order. A sentence ends at its punctuation
/// where a space follows and neither an abbreviation or initial stands before it nor a small letter after it; at an empty
/// line; and at the end of a line unless the next one begins with a small letter.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut begin = 0;
    let mut letters = text.char_indices().peekable();
    let mut word = begin..begin;
    while let Some((at, letter)) = letters.next() {
        if letter.is_alphanumeric() || is_combining_mark(letter) {
            if word.end != at {
                word = at..at;
            }
            word.end = at + letter.len_utf8();
            continue;
        }
        let mut end = at + letter.len_utf8();
        if letter == '\n' || letter == '\u{2029}' {
            let mut lines = 1;
            while let Some((_, next)) = letters.next_if(|(_, next)| next.is_whitespace()) {
                lines += usize::from(next == '\n');
                end += next.len_utf8();
            }
            let continues = lines == 1 && letters.peek().is_some_and(|(_, next)| next.is_lowercase());
            if !continues {
                push(text, begin..at, &mut found);
                begin = end;
            }
            continue;
        }
        if !ends(letter) {
            continue;
        }
        let mut alone = ends_alone(letter);
        let mut several = letter != '.';
        while let Some((_, next)) = letters.next_if(|(_, next)| ends(*next) || closes(*next)) {
            alone |= ends_alone(next);
            several |= ends(next);
            end += next.len_utf8();
        }
        let follows = letters.peek().map(|(_, next)| *next);
        let space = follows.is_none_or(char::is_whitespace);
        if !(alone || space) || (!several && word.end == at && abbreviates(text, begin, word.clone(), end)) {
            continue;
        }
        let mut after = end;
        while let Some((_, next)) = letters.next_if(|(_, next)| next.is_whitespace() && *next != '\n') {
            after += next.len_utf8();
        }
        // A line that ends here is read above.
        if letters.peek().is_some_and(|(_, next)| next.is_lowercase()) && !alone {
            continue;
        }
        push(text, begin..end, &mut found);
        begin = after;
    }
    push(text, begin..text.len(), &mut found);
    found
}

/// Months that follow the number of a day and its full stop, as in "14. Juli", folded.
const MONTHS_AFTER_DAYS: [&str; 24] = [
    "april",
    "aprila",
    "august",
    "avgust",
    "desember",
    "dezember",
    "feber",
    "februar",
    "jaenner",
    "janner",
    "januar",
    "juli",
    "julij",
    "juni",
    "junij",
    "maj",
    "marec",
    "mars",
    "marts",
    "marz",
    "november",
    "october",
    "oktober",
    "september",
];

/// Whether the word before a full stop is an abbreviation, an initial, the number of an item of a list, or that of a day
/// before its month. `after` is the end of the full stop.
fn abbreviates(text: &str, begin: usize, word: Range<usize>, after: usize) -> bool {
    let (Some(letters), Some(before)) = (text.get(word.clone()), text.get(begin..word.start)) else { return false };
    let mut characters = letters.chars();
    let first = characters.next().unwrap_or(' ');
    if characters.next().is_none() && first.is_alphabetic() {
        // "Plan B." at the end of a text is rarer than "C. F. F. Karney".
        return first.is_uppercase() || before.ends_with('.');
    }
    if letters.bytes().all(|byte| byte.is_ascii_digit()) && letters.len() < 4 {
        let next = text.get(after..).and_then(|rest| words(rest).next()).map(|(_, next)| fold(next));
        let is_day = letters.len() < 3 && next.is_some_and(|next| MONTHS_AFTER_DAYS.contains(&next.as_str()));
        return is_day || before.trim().is_empty();
    }
    letters.len() < 8 && ABBREVIATIONS.binary_search(&fold(letters).as_str()).is_ok()
}

fn push(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let Some(part) = text.get(range.clone()) else { return };
    let start = range.start + (part.len() - part.trim_start().len());
    let end = start + part.trim().len();
    if start < end {
        found.push(start..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn abbreviations_are_sorted() {
        assert!(ABBREVIATIONS.is_sorted());
    }

    #[test]
    fn sentences_end_where_readers_see_an_end() {
        assert_eq!(
            of("Dr. Smith saw C. F. Karney at 3.5 km. He left! \"Why?\" she asked."),
            ["Dr. Smith saw C. F. Karney at 3.5 km.", "He left!", "\"Why?\" she asked."]
        );
        assert_eq!(of("One line\nanother Line\n\n and a third"), ["One line\nanother Line", "and a third"]);
        assert_eq!(of("水が来た。逃げろ！ नमस्ते दुनिया। ठीक है।"), ["水が来た。", "逃げろ！", "नमस्ते दुनिया।", "ठीक है।"]);
        assert_eq!(of("1. First item\n2. Second item"), ["1. First item", "2. Second item"]);
        assert_eq!(of("Am 14. Juli 2021 fiel Regen. Es war nass."), ["Am 14. Juli 2021 fiel Regen.", "Es war nass."]);
        assert_eq!(of("They counted 14. Some were hurt."), ["They counted 14.", "Some were hurt."]);
        assert_eq!(of("... \n ?"), ["...", "?"]);
        assert_eq!(of(""), [""; 0]);
    }

    #[test]
    fn composed_and_decomposed_forms_fold_alike() {
        assert_eq!(fold("Août"), "aout");
        assert_eq!(fold("Aou\u{302}t"), "aout");
        assert_eq!(fold("가"), "가");
        assert_eq!(fold("कि"), "कि");
        assert_eq!(lower("E\u{301}"), "é");
    }

    #[test]
    fn long_runs_of_one_character_end() {
        for letter in ["a", ".", " ", "\n", "\u{301}", "。", "'", "👍"] {
            let text = format!(".{}", letter.repeat((1 << 18) / letter.len()));
            assert!(sentences(&text).len() < text.len());
            let _ = words(&text).count();
        }
    }
}
