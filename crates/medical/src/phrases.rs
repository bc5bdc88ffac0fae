//! Fixed sentences in twelve languages. They are never machine translated.

use crate::triage::{Basis, Level};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    language: String,
    #[serde(rename = "review")]
    _review: toml::Value,
    limits: String,
    translated_by_machine: String,
    signs: Vec<String>,
    level: BTreeMap<String, String>,
    call: BTreeMap<String, String>,
    heading: BTreeMap<String, String>,
    safety_net: BTreeMap<String, String>,
    script: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default)]
pub struct Phrases {
    files: Vec<File>,
}

/// A script that replaces advice of our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    SelfHarm,
    Poisoning,
    Abuse,
}

const HEADINGS: &[&str] =
    &["understood", "considerations", "do", "changes", "questions", "limits", "self_care", "safety_net"];

/// The phrases of one language.
#[derive(Debug, Clone, Copy)]
pub struct Spoken<'a>(&'a File);

impl Phrases {
    pub fn load() -> Result<Self, String> {
        let mut files = Vec::new();
        for (code, text) in crate::data::PHRASES {
            let file: File = toml::from_str(text).map_err(|e| format!("{code}: {e}"))?;
            if file.language != *code {
                return Err(format!("{code}: the language is {}", file.language));
            }
            let levels = Level::ALL.iter().map(|l| l.id());
            let calls = levels.clone().chain(["not_assessed", "not_medical"]);
            let lacking = levels
                .filter(|l| !file.level.contains_key(*l))
                .chain(calls.filter(|c| !file.call.contains_key(*c)))
                .chain(HEADINGS.iter().copied().filter(|h| !file.heading.contains_key(*h)))
                .chain(["self_harm", "poisoning", "abuse"].into_iter().filter(|s| !file.script.contains_key(*s)))
                .chain(["general"].into_iter().filter(|s| !file.safety_net.contains_key(*s)))
                .next();
            if let Some(key) = lacking {
                return Err(format!("{code}: {key} is missing"));
            }
            files.push(file);
        }
        if !files.iter().any(|f| f.language == "en") {
            return Err("en is missing".to_owned());
        }
        Ok(Self { files })
    }

    /// The phrases of a language; English where there are none.
    #[must_use]
    pub fn of(&self, code: &str) -> Option<Spoken<'_>> {
        let find = |code: &str| self.files.iter().find(|f| f.language == code);
        find(code).or_else(|| find("en")).map(Spoken)
    }

    #[must_use]
    pub fn has(&self, code: &str) -> bool {
        self.files.iter().any(|f| f.language == code)
    }
}

impl<'a> Spoken<'a> {
    #[must_use]
    pub fn language(&self) -> &'a str {
        &self.0.language
    }

    #[must_use]
    pub fn label(&self, level: Level) -> &'a str {
        self.0.level.get(level.id()).map_or("", String::as_str)
    }

    #[must_use]
    pub fn call(&self, level: Option<Level>, basis: Basis, number: &str) -> String {
        let key = match (level, basis) {
            (Some(level), _) => level.id(),
            (None, Basis::NotMedical) => "not_medical",
            (None, _) => "not_assessed",
        };
        self.0.call.get(key).map_or("", String::as_str).replace("{number}", number)
    }

    #[must_use]
    pub fn heading(&self, key: &str) -> &'a str {
        self.0.heading.get(key).map_or("", String::as_str)
    }

    #[must_use]
    pub fn safety_net(&self, number: &str) -> String {
        self.0.safety_net.get("general").map_or("", String::as_str).replace("{number}", number)
    }

    #[must_use]
    pub fn signs(&self) -> &'a [String] {
        &self.0.signs
    }

    #[must_use]
    pub fn limits(&self) -> &'a str {
        &self.0.limits
    }

    #[must_use]
    pub fn translated_by_machine(&self) -> &'a str {
        &self.0.translated_by_machine
    }

    #[must_use]
    pub fn script(&self, script: Script, number: &str) -> String {
        let key = match script {
            Script::SelfHarm => "self_harm",
            Script::Poisoning => "poisoning",
            Script::Abuse => "abuse",
        };
        self.0.script.get(key).map_or("", String::as_str).replace("{number}", number)
    }
}
