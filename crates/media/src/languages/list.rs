//! The languages that requests may name.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

const DATA: &str = include_str!("../../data/languages.toml");

/// A language that requests may name.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Language {
    /// ISO 639-1 code.
    pub code: String,
    /// ISO 639-3 code.
    pub iso639_3: String,
    /// English name.
    pub english: String,
    /// Name in the language itself.
    pub native: String,
    /// ISO 15924 code of the script in which it is mostly written.
    pub script: String,
    /// Whether that script runs from right to left.
    pub rtl: bool,
}

#[derive(Deserialize)]
struct File {
    language: Vec<Language>,
}

// A test parses the embedded file.
static LANGUAGES: LazyLock<Vec<Language>> =
    LazyLock::new(|| toml::from_str::<File>(DATA).map(|file| file.language).unwrap_or_default());
static BY_CODE: LazyLock<HashMap<&'static str, &'static Language>> =
    LazyLock::new(|| LANGUAGES.iter().map(|language| (language.code.as_str(), language)).collect());

/// Returns the 84 languages, sorted by code.
pub fn languages() -> &'static [Language] {
    &LANGUAGES
}

/// Returns the language with this ISO 639-1 code, which is written in lower case.
pub fn by_code(code: &str) -> Option<&'static Language> {
    BY_CODE.get(code).copied()
}
