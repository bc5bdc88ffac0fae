//! The 84 languages whose codes a request may name, and which of them a text
//! may be in, as far as its script and commonest words tell.

use crate::text::{Sentence, sentences};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// Code and English name.
pub const LANGUAGES: &[(&str, &str)] = &[
    ("af", "Afrikaans"),
    ("am", "Amharic"),
    ("ar", "Arabic"),
    ("az", "Azerbaijani"),
    ("be", "Belarusian"),
    ("bg", "Bulgarian"),
    ("bn", "Bengali"),
    ("bs", "Bosnian"),
    ("ca", "Catalan"),
    ("cs", "Czech"),
    ("cy", "Welsh"),
    ("da", "Danish"),
    ("de", "German"),
    ("el", "Greek"),
    ("en", "English"),
    ("es", "Spanish"),
    ("et", "Estonian"),
    ("eu", "Basque"),
    ("fa", "Persian"),
    ("fi", "Finnish"),
    ("fr", "French"),
    ("ga", "Irish"),
    ("gu", "Gujarati"),
    ("ha", "Hausa"),
    ("he", "Hebrew"),
    ("hi", "Hindi"),
    ("hr", "Croatian"),
    ("ht", "Haitian Creole"),
    ("hu", "Hungarian"),
    ("hy", "Armenian"),
    ("id", "Indonesian"),
    ("is", "Icelandic"),
    ("it", "Italian"),
    ("ja", "Japanese"),
    ("jv", "Javanese"),
    ("ka", "Georgian"),
    ("kk", "Kazakh"),
    ("km", "Khmer"),
    ("kn", "Kannada"),
    ("ko", "Korean"),
    ("ku", "Kurdish"),
    ("lg", "Ganda"),
    ("lt", "Lithuanian"),
    ("lv", "Latvian"),
    ("mi", "Maori"),
    ("mk", "Macedonian"),
    ("ml", "Malayalam"),
    ("mn", "Mongolian"),
    ("mr", "Marathi"),
    ("ms", "Malay"),
    ("my", "Burmese"),
    ("nb", "Norwegian Bokmål"),
    ("ne", "Nepali"),
    ("nl", "Dutch"),
    ("or", "Odia"),
    ("pa", "Punjabi"),
    ("pl", "Polish"),
    ("ps", "Pashto"),
    ("pt", "Portuguese"),
    ("ro", "Romanian"),
    ("ru", "Russian"),
    ("si", "Sinhala"),
    ("sk", "Slovak"),
    ("sl", "Slovene"),
    ("sn", "Shona"),
    ("so", "Somali"),
    ("sq", "Albanian"),
    ("sr", "Serbian"),
    ("st", "Sotho"),
    ("sv", "Swedish"),
    ("sw", "Swahili"),
    ("ta", "Tamil"),
    ("te", "Telugu"),
    ("th", "Thai"),
    ("tl", "Tagalog"),
    ("tr", "Turkish"),
    ("uk", "Ukrainian"),
    ("ur", "Urdu"),
    ("uz", "Uzbek"),
    ("vi", "Vietnamese"),
    ("xh", "Xhosa"),
    ("yo", "Yoruba"),
    ("zh", "Chinese"),
    ("zu", "Zulu"),
];

/// The languages that have fixed phrases and an emergency lexicon.
pub const SPOKEN: &[&str] = &["en", "es", "fr", "de", "it", "pt", "nl", "pl", "tr", "ru", "ar", "zh"];

/// The base code of a language tag that is known: `pt-BR` is `pt`.
#[must_use]
pub fn code(tag: &str) -> Option<&'static str> {
    let base = tag.split(['-', '_']).next().unwrap_or(tag).to_ascii_lowercase();
    LANGUAGES.iter().map(|(code, _)| *code).find(|code| *code == base)
}

/// The commonest words of the languages that are written in Latin letters, in
/// their normalised form.
const COMMON: &[(&str, &[&str])] = &[
    (
        "en",
        &[
            "what", "are", "about", "please", "tell", "she", "it", "does", "been", "had", "from", "or", "this", "that",
            "you", "your", "can", "how", "when", "her", "his", "not", "which", "who", "were", "after", "since", "any",
            "if", "get", "would", "should", "there", "they", "could", "did", "the", "and", "my", "is", "have", "with",
            "of", "to", "in", "has", "for", "was", "pain", "i", "a", "no",
        ],
    ),
    (
        "es",
        &[
            "en", "un", "le", "ha", "mis", "su", "el", "la", "los", "me", "mi", "tengo", "con", "que", "de", "y",
            "desde", "muy", "una", "del", "se", "esta", "por", "no",
        ],
    ),
    (
        "fr",
        &[
            "le", "la", "les", "je", "mon", "ma", "jai", "avec", "des", "et", "une", "du", "depuis", "est", "tres",
            "pas", "au", "il", "elle",
        ],
    ),
    (
        "de",
        &[
            "der", "die", "das", "ich", "habe", "mit", "und", "mein", "meine", "seit", "nicht", "ist", "sehr", "im",
            "hat", "starke", "er", "sie",
        ],
    ),
    (
        "it",
        &[
            "ha", "le", "si", "un", "gli", "sta", "ed", "il", "la", "mi", "ho", "con", "che", "di", "e", "mio", "mia",
            "da", "molto", "non", "del", "una", "al", "sono", "nel",
        ],
    ),
    (
        "pt",
        &[
            "ha", "tive", "em", "um", "ele", "ela", "esta", "na", "os", "me", "o", "a", "estou", "tenho", "com", "que",
            "de", "e", "meu", "minha", "nao", "muito", "uma", "do", "da", "no", "desde", "dor",
        ],
    ),
    (
        "nl",
        &[
            "de", "het", "een", "ik", "heb", "met", "en", "mijn", "niet", "sinds", "erg", "is", "van", "op", "heeft",
            "hij", "zij",
        ],
    ),
    (
        "pl",
        &[
            "mam", "jest", "w", "z", "i", "na", "nie", "od", "bardzo", "sie", "mnie", "moj", "moja", "do", "boli",
            "ma", "po",
        ],
    ),
    (
        "tr",
        &[
            "ve", "bir", "var", "benim", "cok", "icin", "ile", "bu", "yok", "degil", "agrisi", "gogsumde", "ama",
            "beri", "oldu", "basim",
        ],
    ),
];

/// Scripts that tell a language.
const SCRIPTS: [(&str, RangeInclusive<char>); 3] =
    [("ru", '\u{400}'..='\u{4ff}'), ("ar", '\u{600}'..='\u{6ff}'), ("zh", '\u{4e00}'..='\u{9fff}')];

/// What the words of a sentence tell of its language.
#[derive(Debug, Clone, Default)]
pub struct CommonWords {
    /// How many words are common ones of each language of [`COMMON`]; words
    /// of one letter are common in too many.
    common: [usize; COMMON.len()],
    /// How many words begin with a letter of each of [`SCRIPTS`].
    begins: [usize; SCRIPTS.len()],
    /// Whether some word has a letter of each of [`SCRIPTS`].
    has: [bool; SCRIPTS.len()],
    has_latin: bool,
}

impl CommonWords {
    #[must_use]
    pub fn of(sentence: &Sentence) -> Self {
        let mut words = Self::default();
        for token in &sentence.tokens {
            let languages = languages_of(&token.word);
            for (place, count) in words.common.iter_mut().enumerate() {
                *count += usize::from(languages >> place & 1);
            }
            words.has_latin |= token.word.bytes().any(|b| b.is_ascii_alphabetic());
            if !token.word.is_ascii() {
                words.scripts(&token.word);
            }
        }
        words
    }

    fn scripts(&mut self, word: &str) {
        for (((_, script), begins), has) in SCRIPTS.iter().zip(&mut self.begins).zip(&mut self.has) {
            *begins += usize::from(word.starts_with(|c| script.contains(&c)));
            *has |= word.chars().any(|c| script.contains(&c));
        }
    }

    /// How many words tell this language.
    #[must_use]
    pub fn count(&self, code: &str) -> usize {
        let scripts = SCRIPTS.iter().map(|(code, _)| *code).zip(self.begins);
        let common = COMMON.iter().map(|(code, _)| *code).zip(self.common);
        scripts.chain(common).find(|(c, _)| *c == code).map_or(0, |(_, count)| count)
    }

    /// The languages with a lexicon that the sentence may be in, beside
    /// English. A guess too many can only add findings; where no common word
    /// is known ("Brustschmerzen"), all that are written in its letters. Only
    /// the sentence decides, so that no other sentence hides what it says.
    #[must_use]
    pub fn languages(&self) -> Vec<&'static str> {
        let most = self.common.iter().max().copied().unwrap_or_default();
        // A short sentence ("dolor en el pecho") has few common words; one
        // alone is no evidence.
        let likely = |count: usize| self.has_latin && (most < 2 || count * 2 >= most);
        let common = COMMON.iter().map(|(code, _)| *code).zip(self.common.map(likely));
        let scripts = SCRIPTS.iter().map(|(code, _)| *code).zip(self.has);
        let possible = scripts.chain(common).filter(|&(code, likely)| likely && code != "en");
        possible.map(|(code, _)| code).collect()
    }
}

/// The languages of [`COMMON`] of which a word is common, a bit each.
fn languages_of(word: &str) -> u16 {
    static WORDS: OnceLock<HashMap<&'static str, u16>> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        let mut words = HashMap::new();
        for (place, (_, list)) in COMMON.iter().enumerate() {
            for word in list.iter().filter(|word| word.len() > 1) {
                *words.entry(*word).or_default() |= 1 << place;
            }
        }
        words
    });
    words.get(word).copied().unwrap_or_default()
}

/// Whether a fifth of the words are common words of a language with a lexicon.
#[must_use]
pub fn known(text: &str) -> bool {
    let sentences = sentences(text);
    let words: usize = sentences.iter().map(|s| s.tokens.len()).sum();
    let common: Vec<_> = sentences.iter().map(CommonWords::of).collect();
    let most = SPOKEN.iter().map(|code| common.iter().map(|words| words.count(code)).sum::<usize>()).max();
    most.is_some_and(|most| most > 0 && most * 5 >= words)
}

/// The languages with a lexicon that some sentence of the text may be in.
#[must_use]
pub fn guess(text: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for sentence in sentences(text) {
        for code in CommonWords::of(&sentence).languages() {
            if !found.contains(&code) {
                found.push(code);
            }
        }
    }
    found
}
