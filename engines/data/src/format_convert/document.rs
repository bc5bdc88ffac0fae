//! A document as a JSON value, with notes on what JSON cannot represent.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What was lost in reading; each kind is reported once.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Notes(u16);

impl Notes {
    pub const KEYS: Self = Self(1);
    pub const DOUBLE: Self = Self(2);
    pub const BYTES: Self = Self(4);
    pub const FLOATS: Self = Self(8);
    pub const GREAT: Self = Self(16);
    pub const TIMES: Self = Self(32);
    pub const TAGS: Self = Self(64);
    pub const SEVERAL: Self = Self(128);
    pub const REMARKS: Self = Self(256);
    pub const MIXED: Self = Self(512);
    pub const EMPTY: Self = Self(1024);

    const ALL: [(Self, &'static str); 11] = [
        (Self::KEYS, "keys that are not text were converted to text"),
        (Self::DOUBLE, "keys are there more than once: the last value of each was kept"),
        (Self::BYTES, "bytes became base64 text"),
        (Self::FLOATS, "numbers that are infinite or none became null"),
        (Self::GREAT, "integers past 64 bits became floating point and may have lost digits"),
        (Self::TIMES, "dates and times became text"),
        (Self::TAGS, "tags and extension types were dropped, their values kept"),
        (Self::SEVERAL, "several documents became one array"),
        (Self::REMARKS, "comments, instructions and the document type were dropped"),
        (Self::MIXED, "text between elements was joined: its place among them is lost"),
        (Self::EMPTY, "empty fields became null"),
    ];

    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub fn warnings(self) -> Vec<String> {
        Self::ALL.iter().filter(|(note, _)| self.0 & note.0 != 0).map(|(_, text)| (*text).to_owned()).collect()
    }
}

#[derive(Debug, Default)]
pub struct Document {
    pub value: Value,
    pub notes: Notes,
}

impl Document {
    fn plain(value: impl Into<Value>) -> Self {
        Self { value: value.into(), notes: Notes::default() }
    }

    pub fn float(number: f64) -> Self {
        let mut document = Self::plain(Number::from_f64(number).map_or(Value::Null, Value::Number));
        if !number.is_finite() {
            document.notes.add(Notes::FLOATS);
        } else if number.fract() == 0.0 && number.abs() >= 2_f64.powi(64) {
            document.notes.add(Notes::GREAT);
        }
        document
    }

    pub fn bytes(bytes: &[u8]) -> Self {
        Self { value: STANDARD.encode(bytes).into(), notes: Notes::BYTES }
    }
}

/// Name of the only member of a date or time in TOML's parser.
const TOML_TIME: &str = "$__toml_private_datetime";

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Document, E> {
        Ok(Document::plain(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Document, E> {
        Ok(Document::plain(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Document, E> {
        Ok(Document::plain(value))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Document, E> {
        Ok(i64::try_from(value).map_or_else(|_| Document::float(value as f64), Document::plain))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Document, E> {
        Ok(u64::try_from(value).map_or_else(|_| Document::float(value as f64), Document::plain))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Document, E> {
        Ok(Document::float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Document, E> {
        Ok(Document::plain(value))
    }

    fn visit_bytes<E: Error>(self, value: &[u8]) -> Result<Document, E> {
        Ok(Document::bytes(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Document, E> {
        Ok(Document::default())
    }

    fn visit_none<E: Error>(self) -> Result<Document, E> {
        Ok(Document::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Document, D::Error> {
        Document::deserialize(deserializer)
    }

    /// MessagePack's extension types.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Document, D::Error> {
        let mut document = Document::deserialize(deserializer)?;
        document.notes.add(Notes::TAGS);
        Ok(document)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Document, A::Error> {
        let (mut values, mut notes) = (Vec::new(), Notes::default());
        while let Some(item) = items.next_element::<Document>()? {
            notes.add(item.notes);
            values.push(item.value);
        }
        Ok(Document { value: values.into(), notes })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Document, A::Error> {
        let (mut map, mut notes) = (Map::new(), Notes::default());
        while let Some((key, item)) = entries.next_entry::<Document, Document>()? {
            notes.add(item.notes);
            insert(&mut map, key, item.value, &mut notes);
        }
        match map.get(TOML_TIME) {
            Some(time) if map.len() == 1 => Ok(Document { value: time.clone(), notes: Notes::TIMES }),
            _ => Ok(Document { value: Value::Object(map), notes }),
        }
    }
}

/// Inserts an entry with a key of any type.
pub fn insert(map: &mut Map<String, Value>, key: Document, value: Value, notes: &mut Notes) {
    notes.add(key.notes);
    let key = match key.value {
        Value::String(key) => key,
        other => {
            notes.add(Notes::KEYS);
            other.to_string()
        }
    };
    if map.insert(key, value).is_some() {
        notes.add(Notes::DOUBLE);
    }
}
