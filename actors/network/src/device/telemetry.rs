//! Latest readings of a device. Pure.

use std::collections::BTreeMap;

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use muster_core::{Error, Kind, Millis};

/// Largest number of readings kept for one device.
pub(super) const MAX_READINGS: usize = 64;
const MAX_NAME: usize = 48;
const MAX_TEXT: usize = 128;

/// A reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// A number, a boolean or a string of at most 128 bytes.
    pub value: Value,
    /// When it arrived.
    pub at: Millis,
}

/// The newest reading of each name, at most 64.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Telemetry {
    /// Readings by name.
    pub readings: BTreeMap<String, Reading>,
}

impl Record for Telemetry {
    const TREE: Tree = Tree::Telemetry;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl Telemetry {
    /// Returns the key of a device's readings in the store.
    pub fn key(device: &str) -> Vec<u8> {
        format!("{device}/t").into_bytes()
    }

    /// Merges new readings, all or none; null removes a reading.
    ///
    /// # Errors
    /// `Invalid` with the first reading that violates a bound.
    pub fn merge(&mut self, values: &Map<String, Value>, at: Millis) -> Result<(), Error> {
        for (name, value) in values {
            check(name, value)?;
        }
        let new = values.iter().filter(|(name, value)| !value.is_null() && !self.readings.contains_key(*name)).count();
        let gone = values.iter().filter(|(name, value)| value.is_null() && self.readings.contains_key(*name)).count();
        if self.readings.len() + new - gone > MAX_READINGS {
            let wrong = format!("a device keeps at most {MAX_READINGS} readings: send null to take one away");
            return Err(Error::field(Kind::Invalid, &["body", "values"], wrong, json!(values.len())));
        }
        for (name, value) in values {
            if value.is_null() {
                self.readings.remove(name);
            } else {
                self.readings.insert(name.clone(), Reading { value: value.clone(), at });
            }
        }
        Ok(())
    }
}

fn check(name: &str, value: &Value) -> Result<(), Error> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    let wrong = if !(1..=MAX_NAME).contains(&name.len()) || !name.bytes().all(fits) {
        "a reading's name is 1 to 48 letters, digits, `_`, `.`, `:` or `-`"
    } else {
        match value {
            Value::Array(_) | Value::Object(_) => "must be a number, a text, true, false or null",
            Value::String(text) if text.len() > MAX_TEXT => "a text is at most 128 bytes",
            _ => return Ok(()),
        }
    };
    let name: String = name.chars().take(MAX_NAME).collect();
    Err(Error::field(Kind::Invalid, &["body", "values", &name], wrong, Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn the_newest_reading_of_each_name_is_kept_and_null_removes_it() {
        let mut telemetry = Telemetry::default();
        telemetry.merge(&map(json!({ "water_cm": 3, "pump": true })), Millis(1)).unwrap();
        telemetry.merge(&map(json!({ "water_cm": 4.5, "pump": null, "note": "x" })), Millis(2)).unwrap();
        let readings: Vec<_> = telemetry.readings.iter().map(|(name, r)| (name.as_str(), r.value.clone())).collect();
        assert_eq!(readings, [("note", json!("x")), ("water_cm", json!(4.5))]);
    }

    #[test]
    fn readings_are_bounded_and_a_rejected_message_changes_nothing() {
        let mut telemetry = Telemetry::default();
        for bad in [json!({ "a b": 1 }), json!({ "": 1 }), json!({ "a": [] }), json!({ "a": "x".repeat(129) })] {
            assert_eq!(telemetry.merge(&map(bad), Millis(1)).unwrap_err().kind, Kind::Invalid);
        }
        let many = |n: usize| (0..n).map(|n| (format!("r{n}"), json!(n))).collect::<Map<_, _>>();
        assert!(telemetry.merge(&many(MAX_READINGS + 1), Millis(1)).is_err());
        assert!(telemetry.readings.is_empty());
        telemetry.merge(&many(MAX_READINGS), Millis(1)).unwrap();
        assert!(telemetry.merge(&map(json!({ "one_more": 1 })), Millis(1)).is_err());
        telemetry.merge(&map(json!({ "one_more": 1, "r0": null })), Millis(1)).unwrap();
    }
}
