//! Reference vectors and cases: expected output of an engine for one input.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// Expected output of an engine for an input.
#[derive(Debug, Deserialize)]
pub struct Vector {
    /// Engine id.
    pub(crate) engine: String,
    /// The input.
    pub input: Value,
    /// Part of the output: `null` matches anything, and unnamed members are free.
    pub(crate) expect: Value,
    /// Maximum deviation of a number; for a time in seconds.
    #[serde(default = "exactly")]
    pub(crate) tolerance: f64,
    /// Maximum deviation as a share of the expected number; the wider of both tolerances holds.
    #[serde(default)]
    pub(crate) relative: f64,
    /// Field that identifies the items of a member's array; without it items match by position.
    #[serde(default, rename = "match")]
    pub(crate) keys: HashMap<String, String>,
}

fn exactly() -> f64 {
    1e-9
}

impl Vector {
    /// Returns the deviations of an output; empty if it matches.
    pub fn mismatches(&self, output: &Value) -> Vec<String> {
        let mut compare = Compare { vector: self, wrong: Vec::new() };
        compare.value(&self.engine, &self.expect, output);
        compare.wrong
    }
}

struct Compare<'a> {
    vector: &'a Vector,
    wrong: Vec<String>,
}

impl Compare<'_> {
    fn value(&mut self, at: &str, expect: &Value, found: &Value) {
        match (expect, found) {
            (Value::Null, _) => {}
            (Value::Object(expect), Value::Object(found)) => {
                for (name, value) in expect {
                    let (at, found) = (format!("{at}.{name}"), found.get(name).unwrap_or(&Value::Null));
                    match (value, found, self.vector.keys.get(name)) {
                        (Value::Array(expect), Value::Array(found), Some(key)) => self.keyed(&at, expect, found, key),
                        _ => self.value(&at, value, found),
                    }
                }
            }
            (Value::Array(expect), Value::Array(found)) => {
                for (index, value) in expect.iter().enumerate() {
                    self.value(&format!("{at}[{index}]"), value, found.get(index).unwrap_or(&Value::Null));
                }
            }
            (expect, found) if self.same(expect, found) => {}
            (expect, found) => self.wrong.push(format!("{at}: {found} in place of {expect}")),
        }
    }

    fn keyed(&mut self, at: &str, expect: &[Value], found: &[Value], key: &str) {
        for (index, value) in expect.iter().enumerate() {
            let counterpart = found.iter().find(|item| item.get(key).is_some_and(|name| value.get(key) == Some(name)));
            self.value(&format!("{at}[{index}]"), value, counterpart.unwrap_or(&Value::Null));
        }
    }

    fn same(&self, expect: &Value, found: &Value) -> bool {
        let near = |off: f64| off.abs() <= self.vector.tolerance;
        let relative = |expect: f64| self.vector.relative * expect.abs();
        match (expect, found) {
            (Value::Number(expect), Value::Number(found)) => expect
                .as_f64()
                .zip(found.as_f64())
                .is_some_and(|(expect, found)| near(expect - found) || (expect - found).abs() <= relative(expect)),
            (Value::String(expect), Value::String(found)) if expect != found => {
                let times = expect.parse::<Timestamp>().ok().zip(found.parse::<Timestamp>().ok());
                times.is_some_and(|(expect, found)| near(expect.duration_since(found).as_secs_f64()))
            }
            (expect, found) => expect == found,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mismatches(expect: Value, found: &Value) -> Vec<String> {
        let keys = HashMap::from([("list".to_owned(), "id".to_owned())]);
        Vector { engine: "e".to_owned(), input: Value::Null, expect, tolerance: 0.5, relative: 0.0, keys }
            .mismatches(found)
    }

    #[test]
    fn named_members_must_match_within_the_tolerance() {
        let found = json!({ "row": [1, 2], "a": 1.4, "at": "2026-11-21T03:00:00.4Z", "free": 1, "list": [{ "id": 2, "b": 2 }, { "id": 1, "b": true }] });
        let good = json!({ "a": 1, "at": "2026-11-21T03:00:00Z", "list": [{ "id": 1, "b": true }], "row": [null, 2] });
        assert_eq!(mismatches(good, &found), [""; 0]);
        for (wrong, reported) in [
            (json!({ "a": 2 }), "e.a: 1.4 in place of 2"),
            (json!({ "at": "2026-11-21T03:00:01Z" }), "e.at: \"2026-11-21T03:00:00.4Z\" in place of"),
            (json!({ "list": [{ "id": 1, "b": 2 }] }), "e.list[0].b: true in place of 2"),
            (json!({ "list": [{ "id": 3 }] }), "e.list[0]: null in place of"),
            (json!({ "row": [2] }), "e.row[0]: 1 in place of 2"),
            (json!({ "absent": 0 }), "e.absent: null in place of 0"),
            (json!([]), "in place of []"),
        ] {
            let mismatches = mismatches(wrong, &found).join("; ");
            assert!(mismatches.contains(reported), "{mismatches}");
        }
    }
}
