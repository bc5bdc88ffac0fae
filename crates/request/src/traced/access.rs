//! Access to the parts of arrays, structs, maps and enums.

use std::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_json::{Map, Value};

use super::{StructName, Trace, TraceError, Tracer};

/// The items of an array.
pub(super) struct Items<'t> {
    pub(super) trace: &'t Trace,
    pub(super) depth: usize,
    pub(super) left: usize,
    pub(super) out: &'t mut Value,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = TraceError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, TraceError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(Tracer::below(self.trace, self.depth, self.out)).map(Some)
    }
}

/// The fields of a struct.
pub(super) struct Fields<'t> {
    pub(super) of: StructName,
    pub(super) trace: &'t Trace,
    pub(super) depth: usize,
    pub(super) left: &'t [&'static str],
    pub(super) found: &'t RefCell<Map<String, Value>>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = TraceError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, TraceError> {
        let Some(name) = self.left.first() else { return Ok(None) };
        let key: StrDeserializer<'_, TraceError> = (*name).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, TraceError> {
        let (name, left) = self.left.split_first().ok_or(TraceError::Other)?;
        self.left = left;
        if let Some((_, example, schema)) = self.trace.known.iter().find(|(known, _, _)| known == name) {
            self.found.borrow_mut().insert((*name).to_owned(), schema.clone());
            return seed.deserialize(example.clone()).map_err(de::Error::custom);
        }
        let mut value = Value::Null;
        let is_odd = self.trace.odd.borrow().is_some_and(|odd| odd == (self.of, *name));
        let before = self.trace.text_is_odd.replace(is_odd);
        let read = seed.deserialize(Tracer::below(self.trace, self.depth, &mut value));
        self.trace.text_is_odd.set(before);
        self.found.borrow_mut().insert((*name).to_owned(), value);
        read
    }
}

/// One entry of a map.
pub(super) struct Entry<'t> {
    pub(super) trace: &'t Trace,
    pub(super) depth: usize,
    pub(super) left: usize,
    pub(super) out: &'t mut Value,
}

impl<'de> MapAccess<'de> for Entry<'_> {
    type Error = TraceError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, TraceError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(Tracer::below(self.trace, self.depth, &mut Value::Null)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, TraceError> {
        seed.deserialize(Tracer::below(self.trace, self.depth, self.out))
    }
}

/// A variant of an enum, and the schema of its content.
pub(super) struct Variant<'t> {
    pub(super) trace: &'t Trace,
    pub(super) depth: usize,
    pub(super) variant: &'static str,
    pub(super) out: &'t mut Value,
}

impl<'de, 't> EnumAccess<'de> for Variant<'t> {
    type Error = TraceError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), TraceError> {
        let name: StrDeserializer<'_, TraceError> = self.variant.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = TraceError;

    fn unit_variant(self) -> Result<(), TraceError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, TraceError> {
        seed.deserialize(Tracer::below(self.trace, self.depth, self.out))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, TraceError> {
        Tracer::below(self.trace, self.depth, self.out).deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        Tracer::below(self.trace, self.depth, self.out).deserialize_struct(self.variant, fields, visitor)
    }
}
