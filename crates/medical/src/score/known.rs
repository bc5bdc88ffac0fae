//! Inputs of one score after their check.

use super::definition::{Input, InputKind, Need};
use super::inputs::{Inputs, Value};
use std::collections::BTreeMap;

/// Checked inputs of one score, as numbers: a flag is 0 or 1, a word its code.
#[derive(Debug)]
pub(super) struct Known {
    values: BTreeMap<&'static str, f64>,
    declared: &'static [Input],
    /// What was refused, and why.
    pub refused: Vec<String>,
}

impl Known {
    pub fn read(declared: &'static [Input], inputs: &Inputs) -> Self {
        let mut known = Self { values: BTreeMap::new(), declared, refused: Vec::new() };
        for input in declared {
            let own = inputs.get(input.name).map(|value| (input.name, value, 1.0));
            let other = || input.aliases.iter().find_map(|(name, by)| Some((*name, inputs.get(name)?, *by)));
            let Some((name, value, factor)) = own.or_else(other) else { continue };
            match check(input, value, factor) {
                Ok(value) => _ = known.values.insert(input.name, value),
                Err(why) => known.refused.push(format!("{name} {why} and was not used.")),
            }
        }
        known
    }

    /// The number of an input, the code of a word.
    pub fn num(&self, name: &str) -> Option<f64> {
        debug_assert!(self.declared.iter().any(|input| input.name == name), "{name} is not declared");
        self.values.get(name).copied()
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        self.num(name).map(|value| value > 0.5)
    }

    pub fn female(&self) -> Option<bool> {
        self.flag("sex")
    }

    pub fn age(&self) -> Option<f64> {
        self.num("age_years")
    }

    /// Names of the inputs that count.
    pub fn used(&self) -> Vec<String> {
        let counts = |input: &&Input| input.need != Need::Population && self.values.contains_key(input.name);
        self.declared.iter().filter(counts).map(|input| input.name.to_owned()).collect()
    }

    /// Names of the inputs that a value needs.
    pub fn missing(&self) -> Vec<String> {
        let replaced = |name| {
            let stands = |input: &Input| {
                matches!(input.need, Need::InPlaceOf(names) if names.contains(&name))
                    && self.values.contains_key(input.name)
            };
            self.declared.iter().any(stands)
        };
        let lacks = |input: &&Input| {
            input.need == Need::Required && !self.values.contains_key(input.name) && !replaced(input.name)
        };
        self.declared.iter().filter(lacks).map(|input| input.name.to_owned()).collect()
    }
}

fn check(input: &Input, value: &Value, factor: f64) -> Result<f64, String> {
    match (input.kind, value) {
        (InputKind::Number { low, high }, Value::Number(number)) => within(*number, low, high, factor),
        (InputKind::Whole { low, high }, Value::Number(number)) => {
            let whole = within(*number, low, high, factor)?;
            if whole.fract() == 0.0 { Ok(whole) } else { Err(format!("{number} is not a whole number")) }
        }
        (InputKind::Flag, Value::Flag(flag)) => Ok(f64::from(u8::from(*flag))),
        (InputKind::Choice(words), Value::Word(word)) => {
            let said = word.trim().to_lowercase().replace(['-', ' '], "_");
            let found = words.iter().find(|(word, _)| *word == said).map(|(_, code)| *code);
            found.ok_or_else(|| format!("\"{}\" is none of {}", short(word), listed(words)))
        }
        (InputKind::Choice(words), Value::Number(number)) => {
            let found = words.iter().any(|(_, code)| *code >= 0.0 && code == number);
            if found { Ok(*number) } else { Err(format!("{number} is none of {}", listed(words))) }
        }
        (InputKind::Number { .. } | InputKind::Whole { .. }, _) => Err("is not a number".to_owned()),
        (InputKind::Flag, _) => Err("is neither true nor false".to_owned()),
        (InputKind::Choice(words), _) => Err(format!("is none of {}", listed(words))),
    }
}

fn within(number: f64, low: f64, high: f64, factor: f64) -> Result<f64, String> {
    let value = number * factor;
    if !value.is_finite() {
        return Err("is not a finite number".to_owned());
    }
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(format!("{number} is outside {} to {}", low / factor, high / factor))
}

fn short(word: &str) -> String {
    word.chars().take(40).collect()
}

fn listed(words: &[(&str, f64)]) -> String {
    words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
}
