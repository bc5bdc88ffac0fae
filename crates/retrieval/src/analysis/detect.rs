use whatlang::{Detector, Lang, Script};

use super::Language;

/// Maximum number of characters examined: more do not improve the result.
const LOOKED_AT: usize = 600;
/// Minimum number of letters to distinguish languages of one script.
const ENOUGH: usize = 40;
/// Words that, within its script, only English has and that almost every sentence contains.
const ENGLISH: [&str; 28] = [
    "the", "and", "is", "that", "with", "for", "this", "are", "have", "not", "you", "they", "from", "his", "her",
    "has", "been", "would", "my", "your", "what", "which", "when", "were", "did", "does", "how", "of",
];

/// Detects the language of a text; returns `default` if it is uncertain. With fewer than 40 letters only the script can
/// decide.
#[must_use]
pub fn detect(text: &str, default: Language) -> Language {
    let text = text.char_indices().nth(LOOKED_AT).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
    if is_english(text) {
        return Language::English;
    }
    let Some(found) = Detector::new().detect(text) else { return default };
    let alone = matches!(found.script(), Script::Greek | Script::Tamil);
    let enough = text.chars().filter(|c| c.is_alphabetic()).nth(ENOUGH - 1).is_some();
    if alone || (enough && found.is_reliable()) { by_name(found.lang()) } else { default }
}

/// One word in eight, and at least two: faster than trigrams, and right for most stored texts.
fn is_english(text: &str) -> bool {
    let mut words = 0;
    let mut matches = 0;
    for word in text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
        words += 1;
        matches += usize::from(ENGLISH.iter().any(|known| known.eq_ignore_ascii_case(word)));
    }
    matches >= 2 && matches * 8 >= words
}

fn by_name(lang: Lang) -> Language {
    Language::from_tag(lang.code()).unwrap_or(Language::Other)
}
