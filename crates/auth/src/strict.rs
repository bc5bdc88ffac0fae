//! JSON as a token may hold it: one object, no name twice, not deep.
//!
//! serde takes the last of two equal names for what it does not know and the first error for what it does; two readers
//! of one token could so see two tokens.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How deep claims and headers may be: `cnf.jkt` needs two.
pub const FLAT: u8 = 4;

/// The object that `bytes` are; nothing if they are anything else, are ambiguous or are deeper than `depth` objects and
/// arrays.
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
    fn below<E: Error>(self) -> Result<Self, E> {
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
        let below = self.below()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(below)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom("a name stands twice"));
            }
            let value = members.next_value_seed(below)?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flat_object_is_read_as_serde_json_reads_it() {
        let text = br#"{"a":1,"b":-2,"c":1.5,"d":"x","e":null,"f":true,"g":[1,{"h":"\u00e9"}]}"#;
        let expected: Value = serde_json::from_slice(text).unwrap();
        assert_eq!(object(text, FLAT).map(Value::Object), Some(expected));
    }

    #[test]
    fn ambiguity_depth_and_other_kinds_are_refused() {
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
