//! Validates values against types and reports every problem with its path.

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Map, Value};

use super::{Field, Need, Prim, Range, Type, finding};
use crate::failure::{Problem, ProblemKind};

/// Maximum number of problems per input.
const MAX_PROBLEMS: usize = 50;
/// Maximum size of a value repeated in a problem, in bytes of JSON.
const MAX_REPORTED: usize = 200;

/// Validates an object against fields, rejects unknown ones, and fills in defaults. An optional field may be `null`.
///
/// # Errors
/// All problems, up to 50.
pub fn accept(fields: &[Field], input: Value) -> Result<Map<String, Value>, Vec<Problem>> {
    let mut check = Check::default();
    let Value::Object(mut object) = input else {
        check.wrong(ProblemKind::TypeError, "must be an object", &input);
        return Err(check.problems);
    };
    for field in fields {
        check.path.push(field.name.clone());
        match (object.get(&field.name), &field.need) {
            (None, Need::Required) => check.wrong(ProblemKind::Missing, "is required", &Value::Null),
            (None | Some(Value::Null), Need::Default(default)) => {
                object.insert(field.name.clone(), default.clone());
            }
            (Some(Value::Null), Need::Optional) => {
                object.remove(&field.name);
            }
            (None, Need::Optional) => {}
            (Some(value), _) => check.value(&field.kind, field.range, value),
        }
        check.path.pop();
    }
    for (name, value) in &object {
        if !fields.iter().any(|field| field.name == *name) {
            let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            check.path.push(muster_names::shortened(name));
            check.wrong(ProblemKind::Unknown, muster_names::unknown("field", name, &known), value);
            check.path.pop();
        }
    }
    if check.problems.is_empty() { Ok(object) } else { Err(check.problems) }
}

/// Returns the problems of a value; empty if it matches the type.
pub fn check(kind: &Type, range: Range, value: &Value) -> Vec<Problem> {
    let mut check = Check::default();
    check.value(kind, range, value);
    check.problems
}

#[derive(Default)]
struct Check {
    path: Vec<String>,
    problems: Vec<Problem>,
}

impl Check {
    fn wrong(&mut self, kind: ProblemKind, message: impl Into<String>, input: &Value) {
        if self.problems.len() < MAX_PROBLEMS {
            let reported = if input.to_string().len() <= MAX_REPORTED { input.clone() } else { Value::Null };
            self.problems.push(Problem { loc: self.path.clone(), message: message.into(), kind, input: reported });
        }
    }

    fn mismatch(&mut self, wanted: &str, value: &Value) {
        self.wrong(ProblemKind::TypeError, format!("must be {wanted}"), value);
    }

    fn at(&mut self, step: impl Into<String>, kind: &Type, range: Range, value: &Value) {
        // Further problems are not reported, so validation can stop.
        if self.problems.len() < MAX_PROBLEMS {
            self.path.push(step.into());
            self.value(kind, range, value);
            self.path.pop();
        }
    }

    fn value(&mut self, kind: &Type, range: Range, value: &Value) {
        match (kind, value) {
            (Type::Prim(prim), value) => self.prim(*prim, range, value),
            (Type::Enum(values), Value::String(text)) if values.contains(text) => {}
            (Type::Enum(values), Value::String(_)) => {
                self.wrong(ProblemKind::ValueError, format!("must be one of {}", values.join(", ")), value);
            }
            (Type::Enum(values), other) => self.mismatch(&format!("one of {}", values.join(", ")), other),
            (Type::Array(item), Value::Array(items)) => {
                items.iter().enumerate().for_each(|(at, value)| self.at(at.to_string(), item, range, value));
            }
            (Type::Array(_), other) => self.mismatch("an array", other),
            (Type::Map(item), Value::Object(entries)) => {
                entries.iter().for_each(|(key, value)| self.at(key, item, Range::default(), value));
            }
            (Type::Record(members), Value::Object(object)) => {
                for member in members {
                    match object.get(&member.name) {
                        Some(Value::Null) | None if member.optional => {}
                        Some(value) => self.at(&member.name, &member.kind, Range::default(), value),
                        None => {
                            self.path.push(member.name.clone());
                            self.wrong(ProblemKind::Missing, "is required", &Value::Null);
                            self.path.pop();
                        }
                    }
                }
            }
            (Type::Map(_) | Type::Record(_), other) => self.mismatch("an object", other),
        }
    }

    fn prim(&mut self, prim: Prim, range: Range, value: &Value) {
        match (prim, value) {
            (Prim::Any, _) | (Prim::Boolean, Value::Bool(_)) | (Prim::String, Value::String(_)) => {}
            (Prim::Number, Value::Number(_)) => self.range(range, value),
            // 3.0 is an integer too (JSON Schema 2020-12, 4.2.3).
            (Prim::Integer, Value::Number(number)) => match number.as_f64() {
                Some(float) if float.fract() == 0.0 => self.range(range, value),
                _ => self.mismatch("an integer", value),
            },
            (Prim::Datetime, Value::String(text)) if text.parse::<Timestamp>().is_ok() => {}
            (Prim::Datetime, Value::String(_)) => {
                self.wrong(ProblemKind::ValueError, "must be a time such as 2026-11-21T03:00:00Z", value);
            }
            (Prim::Date, Value::String(text)) if text.len() == 10 && text.parse::<Date>().is_ok() => {}
            (Prim::Date, Value::String(_)) => {
                self.wrong(ProblemKind::ValueError, "must be a date such as 2026-11-21", value);
            }
            (Prim::Bytes, Value::String(text)) => self.base64(text, value),
            (Prim::LatLon, Value::Object(object)) => {
                for (name, most) in [("lat", 90.0), ("lon", 180.0)] {
                    let range = Range { least: Some(-most), most: Some(most) };
                    self.at(name, &Type::Prim(Prim::Number), range, object.get(name).unwrap_or(&Value::Null));
                }
            }
            (Prim::Bbox, Value::Array(corners)) if corners.len() == 4 && corners.iter().all(Value::is_number) => {}
            (Prim::Geometry | Prim::FeatureCollection, Value::Object(object)) => self.geojson(prim, object, value),
            (Prim::Finding, value) => self.value(&finding(), range, value),
            (prim, other) => self.mismatch(wanted(prim), other),
        }
    }

    fn range(&mut self, range: Range, value: &Value) {
        let Some(number) = value.as_f64() else { return };
        if range.least.is_some_and(|least| number < least) || range.most.is_some_and(|most| number > most) {
            let bound = |bound: Option<f64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
            let message = match (range.least, range.most) {
                (Some(_), Some(_)) => format!("must be {} to {}", bound(range.least), bound(range.most)),
                (Some(_), None) => format!("must be at least {}", bound(range.least)),
                _ => format!("must be at most {}", bound(range.most)),
            };
            self.wrong(ProblemKind::ValueError, message, value);
        }
    }

    fn base64(&mut self, text: &str, value: &Value) {
        use base64::Engine as _;
        if base64::engine::general_purpose::STANDARD.decode(text).is_err() {
            self.wrong(ProblemKind::ValueError, "must be base64 (RFC 4648, section 4)", value);
        }
    }

    fn geojson(&mut self, prim: Prim, object: &Map<String, Value>, value: &Value) {
        let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
        let good = match prim {
            Prim::FeatureCollection => {
                kind == "FeatureCollection" && object.get("features").is_some_and(Value::is_array)
            }
            _ => super::schema::GEOMETRIES.contains(&kind),
        };
        if !good {
            self.wrong(ProblemKind::ValueError, format!("must be {}", wanted(prim)), value);
        }
    }
}

fn wanted(prim: Prim) -> &'static str {
    match prim {
        Prim::Number => "a number",
        Prim::Integer => "an integer",
        Prim::Boolean => "true or false",
        Prim::String | Prim::Any => "a string",
        Prim::Datetime => "a time, as a string",
        Prim::Date => "a date, as a string",
        Prim::Bytes => "base64, as a string",
        Prim::LatLon => "an object of lat and lon, in degrees",
        Prim::Bbox => "four numbers: west, south, east, north",
        Prim::Geometry => "a GeoJSON geometry",
        Prim::FeatureCollection => "a GeoJSON FeatureCollection",
        Prim::Finding => "a finding",
    }
}
