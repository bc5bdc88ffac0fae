//! Settings of translation.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// How a text can be translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TranslationEngine {
    /// CLDR's names of things.
    Dictionary,
    /// Models in this process.
    Neural,
    /// Chat models of providers.
    Model,
    /// Apertium.
    Rules,
}

impl TranslationEngine {
    /// Returns the name in settings and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dictionary => "dictionary",
            Self::Neural => "neural",
            Self::Model => "model",
            Self::Rules => "rules",
        }
    }
}

/// Translation.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Translate {
    /// Engines in the order in which they are tried.
    pub order: Vec<TranslationEngine>,
    /// Program of Apertium; empty: not used.
    pub apertium: PathBuf,
}

impl Default for Translate {
    fn default() -> Self {
        use TranslationEngine::{Dictionary, Model, Neural, Rules};
        Self { order: vec![Dictionary, Neural, Model, Rules], apertium: PathBuf::from("apertium") }
    }
}

impl Translate {
    /// # Errors
    /// An engine is named twice.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let twice =
            self.order.iter().enumerate().find(|(at, engine)| self.order.iter().take(*at).any(|it| it == *engine));
        twice.map_or(Ok(()), |(_, engine)| {
            let why = format!("names {} twice", engine.name());
            Err(ConfigError::Bad { setting: "translate.order".to_owned(), why })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_named_once() {
        assert!(Translate::default().check().is_ok());
        let twice = Translate { order: vec![TranslationEngine::Rules; 2], ..Translate::default() };
        assert_eq!(twice.check().unwrap_err().to_string(), "translate.order: names rules twice");
    }
}
