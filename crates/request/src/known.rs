//! Deserializes a type from a JSON value and finds the members that the type does not name, at every depth.
//!
//! The types need no attribute for it: a struct passes the names of its fields to its deserializer. Of types whose content
//! serde buffers (tagged enums), those with `deny_unknown_fields` report an unknown field as an error instead.

use std::cell::RefCell;
use std::fmt::{Display, Formatter};

use muster_names::{nearest, shortened, unknown};
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// Most unknown members that are remembered.
const MAX_FOUND: usize = 50;

/// A member that its type does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownMember {
    /// From the value to the member.
    pub(crate) path: Vec<String>,
    /// What is wrong, with the nearest known name.
    pub(crate) msg: String,
}

/// Why a value could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// A member is not known to a type whose content serde buffers.
    Unknown(UnknownMember),
    /// Any other reason.
    Other(String),
}

/// Reads a value, and returns the members that were not read because they are not known.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> (Result<T, ReadError>, Vec<UnknownMember>) {
    let found = RefCell::new(Vec::new());
    let read = T::deserialize(Known { value, at: &Path::Root, found: &found });
    (read, found.into_inner())
}

impl Display for ReadError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(member) => f.write_str(&member.msg),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: Display>(why: T) -> Self {
        Self::Other(why.to_string())
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::Unknown(UnknownMember { path: vec![shortened(field)], msg: unknown("field", field, expected) })
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let quoted: Vec<String> = expected.iter().map(|name| format!("`{name}`")).collect();
        let one = match quoted.as_slice() {
            [] => "there are none".to_owned(),
            [one] => format!("expected {one}"),
            [one, other] => format!("expected {one} or {other}"),
            several => format!("expected one of {}", several.join(", ")),
        };
        let meant = nearest(variant, expected).map(|name| format!(": did you mean `{name}`?")).unwrap_or_default();
        Self::Other(format!("unknown variant `{}`, {one}{meant}", shortened(variant)))
    }
}

/// Where a value is.
enum Path<'p> {
    Root,
    Member(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl Path<'_> {
    fn names(&self) -> Vec<String> {
        let (before, name) = match self {
            Self::Root => return Vec::new(),
            Self::Member(before, name) => (before, shortened(name)),
            Self::Item(before, index) => (before, index.to_string()),
        };
        let mut names = before.names();
        names.push(name);
        names
    }
}

/// A value as a deserializer.
#[derive(Clone, Copy)]
struct Known<'de, 'p> {
    value: &'de Value,
    at: &'p Path<'p>,
    found: &'p RefCell<Vec<UnknownMember>>,
}

impl<'de> Known<'de, '_> {
    fn members<V: Visitor<'de>>(
        self,
        object: &'de Map<String, Value>,
        known: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_map(Members { of: self, entries: object.iter(), known, next: None })
    }

    fn items<V: Visitor<'de>>(self, items: &'de [Value], visitor: V) -> Result<V::Value, ReadError> {
        let mut access = Items { of: self, items: items.iter().enumerate() };
        let read = visitor.visit_seq(&mut access)?;
        match access.items.len() {
            0 => Ok(read),
            _ => Err(de::Error::invalid_length(items.len(), &"fewer elements in array")),
        }
    }
}

impl<'de> Deserializer<'de> for Known<'de, '_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (None, Some(number), _) => visitor.visit_i64(number),
                (None, None, Some(number)) => visitor.visit_f64(number),
                (None, None, None) => Err(de::Error::custom("a number that cannot be read")),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => self.items(items, visitor),
            Value::Object(object) => self.members(object, None, visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Object(object) => self.members(object, Some(fields), visitor),
            // serde would also accept an array in place of an object.
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor as &dyn Expected)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        // A raw value is a matter between serde_json and its own deserializer.
        if name.starts_with("$serde_json::") {
            return self.value.deserialize_newtype_struct(name, visitor).map_err(de::Error::custom);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.value {
            Value::String(variant) => visitor.visit_enum(BorrowedStrDeserializer::new(variant)),
            Value::Object(object) => {
                let mut entries = object.iter();
                match (entries.next(), entries.next()) {
                    (Some((variant, content)), None) => visitor.visit_enum(Variant { of: self, variant, content }),
                    _ => Err(de::Error::invalid_value(Unexpected::Map, &"an object with a single member")),
                }
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

/// The members of an object; those that are not known are noted and left out.
struct Members<'de, 'p> {
    of: Known<'de, 'p>,
    entries: serde_json::map::Iter<'de>,
    known: Option<&'static [&'static str]>,
    next: Option<(&'de str, &'de Value)>,
}

impl<'de> MapAccess<'de> for Members<'de, '_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        for (name, value) in self.entries.by_ref() {
            if let Some(known) = self.known.filter(|known| !known.contains(&name.as_str())) {
                let mut found = self.of.found.borrow_mut();
                if found.len() < MAX_FOUND {
                    let path = Path::Member(self.of.at, name).names();
                    found.push(UnknownMember { path, msg: unknown("field", name, known) });
                }
                continue;
            }
            self.next = Some((name, value));
            return seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let (name, value) = self.next.take().ok_or_else(|| de::Error::custom("a value without a name"))?;
        seed.deserialize(Known { value, at: &Path::Member(self.of.at, name), found: self.of.found })
    }
}

/// The items of an array.
struct Items<'de, 'p> {
    of: Known<'de, 'p>,
    items: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
}

impl<'de> SeqAccess<'de> for &mut Items<'de, '_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some((index, value)) = self.items.next() else { return Ok(None) };
        seed.deserialize(Known { value, at: &Path::Item(self.of.at, index), found: self.of.found }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// A variant of an enum with its content.
struct Variant<'de, 'p> {
    of: Known<'de, 'p>,
    variant: &'de str,
    content: &'de Value,
}

impl<'de, 'p> EnumAccess<'de> for Variant<'de, 'p> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        Ok((seed.deserialize(self.variant.into_deserializer())?, self))
    }
}

impl<'de> Variant<'de, '_> {
    fn content<R>(self, read: impl FnOnce(Known<'de, '_>) -> Result<R, ReadError>) -> Result<R, ReadError> {
        read(Known { value: self.content, at: &Path::Member(self.of.at, self.variant), found: self.of.found })
    }
}

impl<'de> VariantAccess<'de> for Variant<'de, '_> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        self.content(|content| de::Deserialize::deserialize(content))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        self.content(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.content(|content| content.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.content(|content| content.deserialize_struct("", fields, visitor))
    }
}
