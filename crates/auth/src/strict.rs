//! Strict JSON for tokens: a single object without duplicate names and of bounded depth.
//!
//! For duplicate names, serde keeps the last value of an unknown member and fails for a known one, so two readers could
//! interpret the same token differently.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Maximum depth of claims and headers; `cnf.jkt` needs two.
pub const FLAT: u8 = 4;

/// Parses an object. Returns `None` if the input is anything else, contains duplicate names, or is nested deeper than
/// `depth`.
pub fn object(bytes: &[u8], depth: u8) -> Option<Map<String, Value>> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Node { depth }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

#[derive(Clone, Copy)]
struct Node {
    depth: u8,
}

impl Node {
    fn nested<E: Error>(self) -> Result<Self, E> {
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
        f.write_str("unambiguous JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Value, E> {
        Number::from_f64(v).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Value, E> {
        Ok(Value::String(v.to_owned()))
    }

    fn visit_string<E: Error>(self, v: String) -> Result<Value, E> {
        Ok(Value::String(v))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let nested = self.nested()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(nested)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let nested = self.nested()?;
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom("duplicate name"));
            }
            let value = members.next_value_seed(nested)?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_object_is_parsed_like_serde_json_does() {
        let text = br#"{"a":1,"b":-2,"c":1.5,"d":"x","e":null,"f":true,"g":[1,{"h":"\u00e9"}]}"#;
        let expected: Value = serde_json::from_slice(text).unwrap();
        assert_eq!(object(text, FLAT).map(Value::Object), Some(expected));
    }

    #[test]
    fn ambiguous_deep_and_non_object_input_is_rejected() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"a":{"b":1,"b":2}}"#,
            r#"{"a":[[[[1]]]]}"#,
            "[1]",
            "1",
            "{} {}",
            "{",
            "",
        ] {
            assert_eq!(object(text.as_bytes(), FLAT), None, "{text}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(object(deep.as_bytes(), FLAT), None);
    }
}
