//! Canonical JSON (RFC 8785), restricted to values that every reader understands alike (I-JSON, RFC 7493).
//!
//! The serialization is that of `serde_json_canonicalizer`. What this module adds is which values have one: a text with a
//! name twice, with an integer beyond 2^53 − 1, with half of a surrogate pair, or deeper than [`MAX_DEPTH`] has none.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Maximum depth of a value.
pub const MAX_DEPTH: u8 = 32;
/// Maximum length of a text that is parsed, in bytes.
pub const MAX_TEXT: usize = 1 << 20;
/// Below the depth at which the parser itself ends.
const MAX_PARSED_DEPTH: u8 = 100;
/// The largest integer that is exact as a double together with its neighbours (RFC 7493, section 2.2).
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// A value or text that has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// The text is no JSON, or ambiguous.
    #[error("it is not unambiguous JSON: {0}")]
    Text(String),
    /// An integer is not exact in every reader.
    #[error("the integer {0} is beyond 2^53 - 1: write it as a string")]
    Integer(String),
    /// The value is nested too deeply.
    #[error("it is nested deeper than {MAX_DEPTH} levels")]
    Depth,
}

/// Serializes a value in its canonical form.
///
/// # Errors
/// [`CanonicalError::Integer`] or [`CanonicalError::Depth`].
pub fn to_canonical(value: &Value) -> Result<String, CanonicalError> {
    check(value, MAX_DEPTH)?;
    serde_json_canonicalizer::to_string(value).map_err(|error| CanonicalError::Text(error.to_string()))
}

/// Parses a JSON text in which no name is repeated.
///
/// # Errors
/// [`CanonicalError`].
pub fn parse_unambiguous(text: &[u8]) -> Result<Value, CanonicalError> {
    parse_within(text, MAX_TEXT, MAX_DEPTH)
}

/// Parses a JSON text of at most `most` bytes and `depth` levels, up to 100, in which no name is repeated.
///
/// # Errors
/// [`CanonicalError`].
pub fn parse_within(text: &[u8], most: usize, depth: u8) -> Result<Value, CanonicalError> {
    if text.len() > most {
        return Err(CanonicalError::Text(format!("it is longer than {most} bytes")));
    }
    let depth = depth.min(MAX_PARSED_DEPTH);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Node { depth }.deserialize(&mut reader);
    let value = value.and_then(|value| reader.end().map(|()| value));
    let value = value.map_err(|error| CanonicalError::Text(error.to_string()))?;
    check(&value, depth)?;
    Ok(value)
}

fn check(value: &Value, depth: u8) -> Result<(), CanonicalError> {
    let deeper = || depth.checked_sub(1).ok_or(CanonicalError::Depth);
    match value {
        Value::Number(number) => {
            let magnitude = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
            if magnitude.is_some_and(|magnitude| magnitude > MAX_INTEGER) {
                return Err(CanonicalError::Integer(number.to_string()));
            }
            Ok(())
        }
        Value::Array(items) => {
            let depth = deeper()?;
            items.iter().try_for_each(|item| check(item, depth))
        }
        Value::Object(members) => {
            let depth = deeper()?;
            members.values().try_for_each(|member| check(member, depth))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

#[derive(Clone, Copy)]
struct Node {
    depth: u8,
}

impl Node {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom("too deep"))?;
        Ok(Self { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Node {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let node = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(node)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let node = self.deeper()?;
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom("a name is repeated"));
            }
            let value = members.next_value_seed(node)?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}
