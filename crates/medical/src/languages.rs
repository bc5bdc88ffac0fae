//! The 84 languages whose codes a request may name, and which of them a text
//! may be in, as far as its script and commonest words tell.

use crate::text::sentences;

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
    ("en", &["the", "and", "my", "is", "have", "with", "of", "to", "in", "has", "for", "was", "pain", "i", "a", "no"]),
    (
        "es",
        &[
            "el", "la", "los", "me", "mi", "tengo", "con", "que", "de", "y", "desde", "muy", "una", "del", "se",
            "esta", "por", "no",
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
            "il", "la", "mi", "ho", "con", "che", "di", "e", "mio", "mia", "da", "molto", "non", "del", "una", "al",
            "sono", "nel",
        ],
    ),
    (
        "pt",
        &[
            "o", "a", "estou", "tenho", "com", "que", "de", "e", "meu", "minha", "nao", "muito", "uma", "do", "da",
            "no", "desde", "dor",
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

/// The languages with a lexicon that the text may be in. A guess too many can
/// only add findings.
#[must_use]
pub fn guess(text: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let any = |range: std::ops::RangeInclusive<char>| text.chars().any(|c| range.contains(&c));
    if any('\u{400}'..='\u{4ff}') {
        found.push("ru");
    }
    if any('\u{600}'..='\u{6ff}') {
        found.push("ar");
    }
    if any('\u{4e00}'..='\u{9fff}') {
        found.push("zh");
    }
    let mut counts = [0usize; COMMON.len()];
    for sentence in sentences(text) {
        for token in &sentence.tokens {
            for (count, (_, words)) in counts.iter_mut().zip(COMMON) {
                *count += usize::from(words.contains(&token.word.as_str()));
            }
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    // A short message ("dolor en el pecho") has few common words.
    for (count, (code, _)) in counts.iter().zip(COMMON) {
        if *count > 0 && *count * 2 >= most && *code != "en" {
            found.push(code);
        }
    }
    found
}
