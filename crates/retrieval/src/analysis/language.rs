use serde::{Deserialize, Serialize};

use super::script::Script;

/// Language for stemming: those of Snowball's stemmers, or another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Arabic, `ar`.
    Arabic,
    /// Danish, `da`.
    Danish,
    /// Dutch, `nl`.
    Dutch,
    /// English, `en`.
    #[default]
    English,
    /// Finnish, `fi`.
    Finnish,
    /// French, `fr`.
    French,
    /// German, `de`.
    German,
    /// Greek, `el`.
    Greek,
    /// Hungarian, `hu`.
    Hungarian,
    /// Italian, `it`.
    Italian,
    /// Norwegian, `no` (Bokmål, `nb`, and Nynorsk, `nn`, included).
    Norwegian,
    /// Portuguese, `pt`.
    Portuguese,
    /// Romanian, `ro`.
    Romanian,
    /// Russian, `ru`.
    Russian,
    /// Spanish, `es`.
    Spanish,
    /// Swedish, `sv`.
    Swedish,
    /// Tamil, `ta`.
    Tamil,
    /// Turkish, `tr`.
    Turkish,
    /// Any other language: words are matched as written, scripts without spaces by character bigrams.
    Other,
}

impl Language {
    /// All languages, in the order of `number`.
    pub const ALL: [Self; 19] = [
        Self::Arabic,
        Self::Danish,
        Self::Dutch,
        Self::English,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Greek,
        Self::Hungarian,
        Self::Italian,
        Self::Norwegian,
        Self::Portuguese,
        Self::Romanian,
        Self::Russian,
        Self::Spanish,
        Self::Swedish,
        Self::Tamil,
        Self::Turkish,
        Self::Other,
    ];

    /// Parses a language tag (BCP 47) by its first part: `de`, `pt-BR`. A well-formed tag of another language is
    /// [`Language::Other`]; `None` if it is not a tag.
    #[must_use]
    pub fn from_tag(tag: &str) -> Option<Self> {
        let first = tag.split(['-', '_']).next()?;
        if !(2..=8).contains(&first.len()) || !first.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return None;
        }
        let found =
            Self::ALL.into_iter().find(|language| language.codes().iter().any(|c| first.eq_ignore_ascii_case(c)));
        Some(found.unwrap_or(Self::Other))
    }

    /// Returns its code: ISO 639-1, or `und`.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.codes().first().copied().unwrap_or("und")
    }

    /// ISO 639-1, then 639-3, then further codes that Snowball maps to it.
    fn codes(self) -> &'static [&'static str] {
        match self {
            Self::Arabic => &["ar", "ara"],
            Self::Danish => &["da", "dan"],
            Self::Dutch => &["nl", "nld"],
            Self::English => &["en", "eng"],
            Self::Finnish => &["fi", "fin"],
            Self::French => &["fr", "fra"],
            Self::German => &["de", "deu"],
            Self::Greek => &["el", "ell"],
            Self::Hungarian => &["hu", "hun"],
            Self::Italian => &["it", "ita"],
            Self::Norwegian => &["no", "nor", "nb", "nob", "nn", "nno"],
            Self::Portuguese => &["pt", "por"],
            Self::Romanian => &["ro", "ron"],
            Self::Russian => &["ru", "rus"],
            Self::Spanish => &["es", "spa"],
            Self::Swedish => &["sv", "swe"],
            Self::Tamil => &["ta", "tam"],
            Self::Turkish => &["tr", "tur"],
            Self::Other => &["und"],
        }
    }

    /// Its script; `None` without a stemmer.
    pub(super) const fn script(self) -> Option<Script> {
        match self {
            Self::Other => None,
            Self::Arabic => Some(Script::Arabic),
            Self::Greek => Some(Script::Greek),
            Self::Russian => Some(Script::Cyrillic),
            Self::Tamil => Some(Script::Tamil),
            _ => Some(Script::Latin),
        }
    }

    /// Stemming language of a word in a text of this language. A word in a foreign script uses that script's most
    /// common language, so that it has the same stem in all texts.
    pub(super) fn of_word(self, script: Script) -> Self {
        match (self.script(), script) {
            (None, _) => Self::Other,
            (Some(own), _) if own == script => self,
            (_, Script::Latin) => Self::English,
            (_, Script::Cyrillic) => Self::Russian,
            (_, Script::Greek) => Self::Greek,
            (_, Script::Arabic) => Self::Arabic,
            (_, Script::Tamil) => Self::Tamil,
            (_, Script::Other | Script::Unspaced) => Self::Other,
        }
    }

    /// Returns its index in [`Language::ALL`].
    #[must_use]
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the language with this index in [`Language::ALL`]; `None` beyond its end.
    #[must_use]
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// A set of languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Languages(u32);

impl Languages {
    /// Returns the set with a language added.
    #[must_use]
    pub const fn with(self, language: Language) -> Self {
        Self(self.0 | 1 << language.number())
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether the set contains a language.
    #[must_use]
    pub const fn contains(self, language: Language) -> bool {
        self.0 & (1 << language.number()) != 0
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over its languages, in the order of [`Language::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Language> {
        Language::ALL.into_iter().filter(move |language| self.contains(*language))
    }
}

impl FromIterator<Language> for Languages {
    fn from_iter<I: IntoIterator<Item = Language>>(languages: I) -> Self {
        languages.into_iter().fold(Self::default(), Self::with)
    }
}
