//! Words in a form that can be compared: folded letters, stems, hashes.

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

/// A word that is longer is cut: no name of a picture is as long.
const MAX_WORD: usize = 48;

/// How words of one language are compared.
pub(super) struct Folder {
    /// Tones tell words apart, so marks above and below letters stay.
    keeps_marks: bool,
    stemmer: Option<Stemmer>,
    korean: bool,
    hebrew: bool,
}

impl Folder {
    pub(super) fn new(language: &str) -> Self {
        Self {
            keeps_marks: matches!(language, "vi" | "yo"),
            stemmer: algorithm(language).map(Stemmer::create),
            korean: language == "ko",
            hebrew: language == "he",
        }
    }

    /// A word in lower case, compatibility forms resolved, without marks (except where they tell words apart).
    pub(super) fn fold(&self, word: &str) -> String {
        let lower = word.chars().flat_map(char::to_lowercase);
        let decomposed = lower.nfkd().filter(|c| !is_invisible(*c) && (self.keeps_marks || !is_mark(*c)));
        decomposed.take(MAX_WORD).map(unify).nfc().collect::<String>().replace('ß', "ss")
    }

    /// The stem of a folded word; `None` where the word has none that differs in kind (short or without endings).
    pub(super) fn stem(&self, folded: &str) -> Option<String> {
        let letters = folded.chars().count();
        if letters < 3 || folded.chars().any(|c| is_continuous(c) || ('\u{ac00}'..='\u{d7a3}').contains(&c)) {
            return None;
        }
        let bare = folded.strip_prefix("ال").filter(|rest| rest.chars().count() >= 2).unwrap_or(folded);
        Some(match &self.stemmer {
            Some(stemmer) => stemmer.stem(bare).into_owned(),
            None => light_stem(bare),
        })
    }

    /// Forms of a word in a prompt from which a particle or article that is written with it was taken.
    pub(super) fn without_particles(&self, folded: &str) -> Vec<String> {
        let mut forms = Vec::new();
        let mut keep = |rest: Option<&str>, least: usize| {
            forms.extend(rest.filter(|rest| rest.chars().count() >= least).map(str::to_owned));
        };
        if self.korean {
            for particle in [
                "에서", "으로", "이랑", "하고", "은", "는", "이", "가", "을", "를", "의", "에", "와", "과", "도", "로",
                "랑",
            ] {
                keep(folded.strip_suffix(particle), 1);
            }
        }
        if self.hebrew {
            for particle in ["ה", "ו", "ב", "ל", "מ", "ש", "וה", "מה", "שה"] {
                keep(folded.strip_prefix(particle), 2);
            }
        }
        for particle in ["وال", "بال", "لل", "ال", "و", "ب"] {
            keep(folded.strip_prefix(particle), 3);
        }
        forms
    }
}

impl std::fmt::Debug for Folder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Folder").field("keeps_marks", &self.keeps_marks).finish_non_exhaustive()
    }
}

fn algorithm(language: &str) -> Option<Algorithm> {
    Some(match language {
        "ar" => Algorithm::Arabic,
        "da" => Algorithm::Danish,
        "de" => Algorithm::German,
        "el" => Algorithm::Greek,
        "en" => Algorithm::English,
        "es" => Algorithm::Spanish,
        "fi" => Algorithm::Finnish,
        "fr" => Algorithm::French,
        "hu" => Algorithm::Hungarian,
        "it" => Algorithm::Italian,
        "nb" => Algorithm::Norwegian,
        "nl" => Algorithm::Dutch,
        "pt" => Algorithm::Portuguese,
        "ro" => Algorithm::Romanian,
        "ru" => Algorithm::Russian,
        "sv" => Algorithm::Swedish,
        "ta" => Algorithm::Tamil,
        "tr" => Algorithm::Turkish,
        _ => return None,
    })
}

/// Takes up to two ending letters off: case and number in Slavic, Baltic and Indic languages without a stemmer here.
fn light_stem(word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    for _ in 0..2 {
        let indic = letters.last().is_some_and(|c| is_indic_ending(*c));
        let ending = letters.last().is_some_and(|c| "aeiouymsаеиоуыяюьйіїмхв".contains(*c));
        if (ending && letters.len() > 3) || (indic && letters.len() > 2) {
            letters.pop();
        }
    }
    letters.into_iter().collect()
}

const fn is_indic_ending(c: char) -> bool {
    matches!(c, '\u{902}' | '\u{93e}'..='\u{94c}' | '\u{9be}'..='\u{9cc}' | '\u{a02}' | '\u{a3e}'..='\u{a4c}' | '\u{abe}'..='\u{acc}')
}

/// Marks of Latin, Greek, Cyrillic, Hebrew and Arabic that readers leave out or add.
const fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// Letters of Arabic script that are written either way.
const fn unify(c: char) -> char {
    match c {
        'ى' => 'ي',
        'ة' => 'ه',
        'ı' => 'i',
        _ => c,
    }
}

/// Controls, direction marks, joiners and variation selectors.
pub(super) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether words of this letter's script are written without spaces between them.
pub(super) const fn is_continuous(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// FNV-1a: the same on every machine and in every version, which hashes of the standard library are not.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The hash of a stem, apart from those of words.
pub(super) fn stem_hash(stem: &str) -> u64 {
    hash(stem.as_bytes()).rotate_left(17) ^ 0x5353_5353_5353_5353
}
