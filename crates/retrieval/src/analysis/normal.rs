//! Normalisation of words.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::decompose_canonical;

use super::script::Script;

/// Number of significant characters of a word. Longer words do not exist, and hostile ones cost no more.
pub(crate) const MAX_WORD: usize = 64;

/// NFKC, lower case, apostrophes as `'`, no invisible characters.
pub(super) fn normalize(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        out.extend(word.bytes().take(MAX_WORD).map(|byte| char::from(byte.to_ascii_lowercase())));
        return;
    }
    let cut = word.chars().filter(|c| !is_invisible(*c)).take(MAX_WORD);
    let folded = cut.nfkc().flat_map(char::to_lowercase).map(plain_apostrophe);
    // Lower case may produce sequences that NFKC composes: İ becomes i with a dot above.
    out.extend(folded.filter(|c| !is_invisible(*c)).take(MAX_WORD).nfc());
}

const fn plain_apostrophe(c: char) -> char {
    match c {
        '\u{2019}' | '\u{2018}' | '\u{201b}' | '\u{ff07}' | '\u{2bc}' => '\'',
        _ => c,
    }
}

/// Soft hyphens, joiners, direction marks, variation selectors: they affect the appearance, not the word.
const fn is_invisible(c: char) -> bool {
    matches!(c as u32, 0xad | 0x34f | 0x61c | 0x640 | 0x180b..=0x180f | 0x200b..=0x200f | 0x202a..=0x202e
        | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff | 0xe0000..=0xe0fff)
}

/// Removes diacritics of Latin and Greek letters and the points of Arabic and Hebrew; maps ё to е. Vowel signs of other
/// scripts are letters and stay.
pub(super) fn fold(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        out.push_str(word);
        return;
    }
    for c in word.chars() {
        match c {
            'ß' => out.push_str("ss"),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'þ' => out.push_str("th"),
            'ø' => out.push('o'),
            'đ' | 'ð' => out.push('d'),
            'ł' => out.push('l'),
            'ı' => out.push('i'),
            'ё' => out.push('е'),
            'ς' => out.push('σ'),
            _ if is_mark(c) => {}
            _ if matches!(Script::of(c), Script::Latin | Script::Greek) => {
                decompose_canonical(c, |part| {
                    if !is_mark(part) {
                        out.push(part)
                    }
                });
            }
            _ => out.push(c),
        }
    }
}

/// Combining diacritics; points of Hebrew and Arabic.
const fn is_mark(c: char) -> bool {
    matches!(c as u32, 0x300..=0x36f | 0x591..=0x5bd | 0x5bf | 0x5c1..=0x5c7 | 0x610..=0x61a | 0x64b..=0x65f | 0x670)
}
