//! Names of things in 80 languages: CLDR's names of emoji, as pairs of nouns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use unicode_normalization::UnicodeNormalization;

use super::list::by_code;

/// Characters of the longest text that is looked up.
const LONGEST: usize = 100;

/// Why a file of names cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the file of picture names is damaged: {0}")]
pub struct DictionaryError(String);

/// Names of things by language. A language is read at its first use.
pub struct Dictionary {
    languages: HashMap<String, Names>,
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary").field("languages", &self.languages.len()).finish_non_exhaustive()
    }
}

struct Names {
    json: Box<RawValue>,
    read: OnceLock<Entries>,
}

/// The names of one language.
#[derive(Debug, Default)]
struct Entries {
    /// Name of each emoji, as it is written.
    names: HashMap<String, String>,
    /// Emoji by folded name, in the order of their characters.
    emoji: HashMap<String, Vec<String>>,
}

/// The translation of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name in the other language.
    pub translation: String,
    /// Other names, where the first language has one name for several things.
    pub alternatives: Vec<String>,
}

impl Dictionary {
    /// Indexes a file `{language: {emoji: [name, keyword, …]}}`, UTF-8 JSON. Keywords are no names.
    ///
    /// # Errors
    /// The file is no such JSON, or names an unknown language.
    pub fn parse(json: &[u8]) -> Result<Self, DictionaryError> {
        let parsed: HashMap<String, Box<RawValue>> =
            serde_json::from_slice(json).map_err(|error| DictionaryError(error.to_string()))?;
        if let Some(code) = parsed.keys().find(|code| by_code(code).is_none()) {
            return Err(DictionaryError(format!("it names the language {code:?}")));
        }
        let names = |(code, json)| (code, Names { json, read: OnceLock::new() });
        Ok(Self { languages: parsed.into_iter().map(names).collect() })
    }

    /// Returns whether names in this language are known.
    pub fn has(&self, code: &str) -> bool {
        self.languages.contains_key(code)
    }

    /// Translates a text that as a whole is a name in the language `from`, without regard to case and normalisation form;
    /// `None` if it is none, or if the thing has no name in the language `to`.
    pub fn translate(&self, text: &str, from: &str, to: &str) -> Option<Named> {
        let text = text.trim();
        if text.is_empty() || text.chars().nth(LONGEST).is_some() {
            return None;
        }
        let (from, to) = (self.entries(from)?, self.entries(to)?);
        let mut names: Vec<&String> = Vec::new();
        for name in from.emoji.get(&fold(text))?.iter().filter_map(|emoji| to.names.get(emoji)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut names = names.into_iter().map(|name| like(text, name));
        Some(Named { translation: names.next()?, alternatives: names.collect() })
    }

    /// Returns the number of words of the longest name in this language; 0 if there is none.
    pub fn longest_words(&self, code: &str) -> usize {
        let words = |name: &String| name.split_whitespace().count();
        self.entries(code).and_then(|entries| entries.names.values().map(words).max()).unwrap_or(0)
    }

    fn entries(&self, code: &str) -> Option<&Entries> {
        let names = self.languages.get(code)?;
        Some(names.read.get_or_init(|| serde_json::from_str(names.json.get()).unwrap_or_default()))
    }
}

/// Form in which names are compared: lower case, NFC, single spaces.
fn fold(text: &str) -> String {
    let lower: String = text.nfc().flat_map(char::to_lowercase).nfc().collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Begins the name with a capital letter where the text does.
fn like(text: &str, name: &str) -> String {
    let mut letters = name.chars();
    match (text.chars().next(), letters.next()) {
        (Some(first), Some(own)) if first.is_uppercase() => own.to_uppercase().chain(letters).collect(),
        _ => name.to_owned(),
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfEmoji;
        impl<'de> Visitor<'de> for OfEmoji {
            type Value = Entries;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("names by emoji")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Entries::default();
                while let Some((emoji, FirstName(name))) = map.next_entry::<String, FirstName<'de>>()? {
                    let Some(name) = name else { continue };
                    entries.emoji.entry(fold(&name)).or_default().push(emoji.clone());
                    entries.names.insert(emoji, name.into_owned());
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(OfEmoji)
    }
}

/// The first text of a list.
struct FirstName<'de>(Option<Cow<'de, str>>);

impl<'de> Deserialize<'de> for FirstName<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfNames;
        impl<'de> Visitor<'de> for OfNames {
            type Value = FirstName<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of names")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let first = seq.next_element::<Cow<'de, str>>()?;
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(FirstName(first))
            }
        }
        deserializer.deserialize_seq(OfNames)
    }
}
