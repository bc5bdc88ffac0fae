use whatlang::{Detector, Lang, Script};

use super::Language;

/// Characters that are looked at: more tell nothing new.
const LOOKED_AT: usize = 600;
/// Letters below which languages of one script cannot be told apart.
const ENOUGH: usize = 40;
/// Words that only English has among the languages of its script, and that hardly a sentence is without.
const ENGLISH: [&str; 28] = [
    "the", "and", "is", "that", "with", "for", "this", "are", "have", "not", "you", "they", "from", "his", "her",
    "has", "been", "would", "my", "your", "what", "which", "when", "were", "did", "does", "how", "of",
];

/// The language that a text is written in where that is certain, else `default`. Short texts are not: with fewer than
/// 40 letters only the script can tell.
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

/// One word in eight, and two at least: quicker than trigrams, and right for most of what is stored.
fn is_english(text: &str) -> bool {
    let mut words = 0;
    let mut telling = 0;
    for word in text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
        words += 1;
        telling += usize::from(ENGLISH.iter().any(|known| known.eq_ignore_ascii_case(word)));
    }
    telling >= 2 && telling * 8 >= words
}

fn by_name(lang: Lang) -> Language {
    Language::from_tag(lang.code()).unwrap_or(Language::Other)
}
