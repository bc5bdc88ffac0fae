//! Published scores, each as an interval over what is not known.

use serde::Serialize;
use std::collections::BTreeMap;

/// The value of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Number(f64),
    Flag(bool),
    Word(String),
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Word(value)
    }
}

/// The known inputs of a score, by name. What is not there is unknown.
#[derive(Debug, Clone, Default)]
pub struct Inputs(BTreeMap<String, Value>);

impl Inputs {
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.0.get(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// Where a score was published.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Source {
    pub id: &'static str,
    pub title: &'static str,
    pub year: u16,
    pub url: &'static str,
}

/// A score over its known inputs.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    pub id: &'static str,
    pub name: &'static str,
    pub engine: Option<&'static str>,
    pub value: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub unit: &'static str,
    pub band: Option<String>,
    pub possible_bands: Vec<String>,
    pub status: &'static str,
    pub reason: Option<String>,
    pub used: Vec<String>,
    pub missing: Vec<String>,
    pub source: Source,
    pub cite: Vec<usize>,
    pub caveat: Option<String>,
}

/// Computes a score; nothing where there is none of that id.
#[must_use]
pub fn evaluate(_id: &str, _inputs: &Inputs) -> Option<Score> {
    None
}

/// The ids of all scores.
#[must_use]
pub fn all() -> &'static [&'static str] {
    &[]
}
