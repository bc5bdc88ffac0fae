//! Inputs of the risk models by name, from JSON or from a request.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One input.
#[derive(Debug, Clone, PartialEq)]
pub enum Feature {
    Number(f64),
    Flag(bool),
    Word(String),
}

/// The known inputs of a model. What is not there is unknown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Features(BTreeMap<String, Feature>);

impl Features {
    /// Reads a JSON object; `null` is unknown. Other values than numbers,
    /// booleans and strings are left out.
    #[must_use]
    pub fn from_json(map: &Map<String, Value>) -> Self {
        let mut features = Self::default();
        for (name, value) in map {
            match value {
                Value::Number(n) => features.number(name, n.as_f64()),
                Value::Bool(b) => features.flag(name, Some(*b)),
                Value::String(s) => features.word(name, Some(s)),
                _ => {}
            }
        }
        features
    }

    /// Sets a number, if it is known and finite.
    pub fn number(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            self.0.insert(name.to_owned(), Feature::Number(value));
        }
    }

    /// Sets a yes or no, if it is known.
    pub fn flag(&mut self, name: &str, value: Option<bool>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), Feature::Flag(value));
        }
    }

    /// Sets a word, if it is known.
    pub fn word(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), Feature::Word(value.trim().to_lowercase()));
        }
    }

    /// The first of these names that is known.
    #[must_use]
    pub fn any(&self, names: &[&str]) -> Option<&Feature> {
        names.iter().find_map(|n| self.0.get(*n))
    }
}

/// Takes inputs and notes those that are missing or of the wrong kind.
#[derive(Debug)]
pub struct Taker<'a> {
    features: &'a Features,
    pub missing: Vec<String>,
    pub invalid: Vec<String>,
}

impl<'a> Taker<'a> {
    #[must_use]
    pub fn new(features: &'a Features) -> Self {
        Self { features, missing: Vec::new(), invalid: Vec::new() }
    }

    fn find(&mut self, names: &[&str]) -> Option<&'a Feature> {
        let found = self.features.any(names);
        if found.is_none()
            && let Some(name) = names.first()
        {
            self.missing.push((*name).to_owned());
        }
        found
    }

    fn refuse(&mut self, names: &[&str], want: &str) {
        if let Some(name) = names.first() {
            self.invalid.push(format!("{name} must be {want}"));
        }
    }

    /// A number between two bounds, both included.
    pub fn number(&mut self, names: &[&str], least: f64, most: f64) -> Option<f64> {
        match self.find(names)? {
            Feature::Number(n) if (least..=most).contains(n) => Some(*n),
            _ => {
                self.refuse(names, &format!("a number from {least} to {most}"));
                None
            }
        }
    }

    /// Yes or no; the numbers 1 and 0 count as such.
    pub fn flag(&mut self, names: &[&str]) -> Option<bool> {
        match self.find(names)? {
            Feature::Flag(b) => Some(*b),
            Feature::Number(n) if *n == 0.0 || *n == 1.0 => Some(*n == 1.0),
            _ => {
                self.refuse(names, "true or false");
                None
            }
        }
    }

    /// One of some words, by its place in the list.
    pub fn choice(&mut self, names: &[&str], choices: &[&str]) -> Option<usize> {
        let at = match self.find(names)? {
            Feature::Word(w) => choices.iter().position(|c| c == w),
            _ => None,
        };
        if at.is_none() {
            self.refuse(names, &format!("one of {}", choices.join(", ")));
        }
        at
    }
}
