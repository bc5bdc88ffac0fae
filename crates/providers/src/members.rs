//! Replaces single members of JSON objects and keeps everything else byte for byte.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Returns the object with these members replaced or added; `None` if the text is not a JSON object.
pub fn with_members(object: &[u8], ours: &[(&str, Value)]) -> Option<Vec<u8>> {
    let members: Members<'_> = serde_json::from_slice(object).ok()?;
    let mut out = Object::with_capacity(object.len() + 64);
    for (name, value) in ours {
        out.put(name, value)?;
    }
    for Member { name, key, value } in &members.0 {
        if !ours.iter().any(|(ours, _)| ours == name) {
            out.put_raw(key, value);
        }
    }
    Some(out.close())
}

/// Returns the text with one member for each name, the last, in every object: readers of JSON differ in which of two
/// they use, and what is decided here must be what a provider reads. A text without duplicates is returned as it is.
pub fn collapse_duplicates(json: Bytes) -> Bytes {
    let mut reader = serde_json::Deserializer::from_slice(&json);
    if NoDuplicates.deserialize(&mut reader).is_ok() {
        return json;
    }
    let collapsed = serde_json::from_slice::<Value>(&json).and_then(|value| serde_json::to_vec(&value));
    collapsed.map_or(json, Bytes::from)
}

/// Reads a value and fails if an object in it has two members of one name.
struct NoDuplicates;

/// Number of members up to which a list is searched; more of them are kept in a set.
const FEW_MEMBERS: usize = 16;

impl<'de> DeserializeSeed<'de> for NoDuplicates {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NoDuplicates {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
        let (mut few, mut many) = (Vec::new(), HashSet::new());
        while let Some(Name(name)) = map.next_key()? {
            let seen = few.contains(&name) || many.contains(&name);
            if seen {
                return Err(A::Error::custom("a second member of one name"));
            }
            if few.len() < FEW_MEMBERS {
                few.push(name);
            } else {
                many.insert(name);
            }
            map.next_value_seed(Self)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Writer of a JSON object.
pub(crate) struct Object {
    text: Vec<u8>,
}

impl Object {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut text = Vec::with_capacity(bytes);
        text.push(b'{');
        Self { text }
    }

    pub(crate) fn put(&mut self, name: &str, value: &impl Serialize) -> Option<()> {
        self.key(format_args!("\"{name}\""))?;
        serde_json::to_writer(&mut self.text, value).ok()
    }

    /// Writes a member; `key` includes its quotes.
    pub(crate) fn put_raw(&mut self, key: &str, value: &str) {
        self.comma();
        self.text.extend_from_slice(key.as_bytes());
        self.text.push(b':');
        self.text.extend_from_slice(value.as_bytes());
    }

    fn key(&mut self, key: fmt::Arguments<'_>) -> Option<()> {
        use std::io::Write;
        self.comma();
        write!(self.text, "{key}:").ok()
    }

    fn comma(&mut self) {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
    }

    pub(crate) fn close(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }
}

/// The members of an object, in order, including duplicates.
pub(crate) struct Members<'a>(pub(crate) Vec<Member<'a>>);

pub(crate) struct Member<'a> {
    /// Decoded name.
    pub(crate) name: Cow<'a, str>,
    /// Name as written, with its quotes.
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
}

impl Members<'_> {
    /// Returns the last value of this name, which is the one most parsers use.
    pub(crate) fn last(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|member| member.name == name).map(|member| member.value)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(16);
        while let Some((key, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
            let key = key.get();
            let name = read(key).map_err(serde::de::Error::custom)?;
            members.push(Member { name, key, value: value.get() });
        }
        Ok(Members(members))
    }
}

/// Decodes a JSON string.
fn read(quoted: &str) -> serde_json::Result<Cow<'_, str>> {
    match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(quoted).map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_two_members_of_one_name_the_last_remains_at_any_depth() {
        let collapsed = |text: &str| String::from_utf8(collapse_duplicates(text.to_owned().into()).to_vec()).unwrap();
        for unchanged in [r#"{ "a": [1, {"b": null}], "c": {"b": 1.50} }"#, "[]", r#""a""#, "not json"] {
            assert_eq!(collapsed(unchanged), unchanged);
        }
        assert_eq!(collapsed(r#"{"n": 4, "n": 1}"#), r#"{"n":1}"#);
        assert_eq!(collapsed(r#"{"n": 1, "\u006e": 4}"#), r#"{"n":4}"#);
        assert_eq!(collapsed(r#"[{"m": [{"c": "long", "c": ""}]}]"#), r#"[{"m":[{"c":""}]}]"#);
        let many: Vec<String> = (0..40).map(|n| format!("\"k{n}\":{n}")).collect();
        let many = format!("{{{},\"k30\":0}}", many.join(","));
        let read: Value = serde_json::from_str(&collapsed(&many)).unwrap();
        assert_eq!((read.as_object().unwrap().len(), &read["k30"]), (40, &json!(0)));
    }

    #[test]
    fn only_the_named_members_change() {
        let object = br#"{"a": 1.50, "m\u006fdel": "x", "model": "y", "z": [ 1 ]}"#;
        let changed = with_members(object, &[("model", json!("ours"))]).unwrap();
        assert_eq!(String::from_utf8(changed).unwrap(), r#"{"model":"ours","a":1.50,"z":[ 1 ]}"#);
        assert_eq!(with_members(b"{}", &[("n", json!(1))]).unwrap(), br#"{"n":1}"#);
        assert!(with_members(b"[1]", &[]).is_none());
    }
}
