//! Values that are known to a score.

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

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Word(value.to_owned())
    }
}

/// The known inputs of a score, by name. What is not there is unknown.
#[derive(Debug, Clone, Default)]
pub struct Inputs(BTreeMap<String, Value>);

impl Inputs {
    /// Makes an input known, in place of an earlier value.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// The value of an input.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The value of an input that is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.0.get(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// Every known input, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}
