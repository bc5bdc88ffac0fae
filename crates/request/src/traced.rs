//! The JSON Schema of a type, from what its `Deserialize` expects.
//!
//! A tracing deserializer records the requests of the type: names of fields, names of variants, kinds of numbers. It
//! answers with values that fit most types; a type that accepts none of them has no schema here. A field is required if
//! the type cannot be read without it.

mod access;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

use access::{Entry, Fields, Items, Variant};
use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde_json::{Map, Value, json};

/// A text that is also a time, because times are texts.
const TEXT: &str = "2026-01-01T00:00:00.000Z";
/// Most variants of an enum.
const MAX_VARIANTS: usize = 64;
/// Deepest nesting that is followed.
const MAX_DEPTH: usize = 12;

/// Whether the objects of a schema admit further members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// Further members are refused: a request.
    Yes,
    /// Later versions may have more members: a response.
    No,
}

/// Returns the schema of a type; `None` where it cannot be traced.
#[must_use]
pub fn schema<T: DeserializeOwned>(closed: Closed) -> Option<Value> {
    schema_with::<T>(closed, &[])
}

/// A field whose type reads itself: by its name, with an example and the schema.
pub type KnownField = (&'static str, Value, Value);

/// As [`schema`], for a type with fields that cannot be traced.
#[must_use]
pub fn schema_with<T: DeserializeOwned>(closed: Closed, known: &[KnownField]) -> Option<Value> {
    let trace = Trace { known: known.to_vec(), ..Trace::default() };
    // Each pass reads another variant of every enum.
    let mut schema = Value::Null;
    for _ in 0..MAX_VARIANTS {
        let before = trace.progress();
        T::deserialize(Tracer { trace: &trace, depth: 0, out: &mut schema }).ok()?;
        if trace.progress() == before {
            break;
        }
    }
    let fields = trace.fields.borrow().clone();
    for (name, names) in fields {
        let is_required = |field: &&'static str| {
            *trace.left_out.borrow_mut() = Some((name, *field));
            let read = T::deserialize(Tracer { trace: &trace, depth: 0, out: &mut Value::Null });
            matches!(read, Err(TraceError::Missing(missing)) if missing == *field)
        };
        let required: Vec<&str> = names.iter().copied().filter(is_required).collect();
        trace.required.borrow_mut().insert(name, required);
        *trace.left_out.borrow_mut() = None;
        // A text that only a time satisfies is a time.
        let is_time = |field: &&'static str| {
            *trace.odd.borrow_mut() = Some((name, *field));
            T::deserialize(Tracer { trace: &trace, depth: 0, out: &mut Value::Null }).is_err()
        };
        let times: Vec<&str> = names.iter().copied().filter(is_time).collect();
        trace.times.borrow_mut().insert(name, times);
        *trace.odd.borrow_mut() = None;
    }
    trace.text_is_odd.set(true);
    let is_time = T::deserialize(Tracer { trace: &trace, depth: 0, out: &mut Value::Null }).is_err();
    if is_time {
        mark_time(&mut schema);
    }
    Some(trace.resolved(schema, closed))
}

/// The name of a struct and those of its fields.
type StructName = &'static str;

/// What was found so far.
#[derive(Default)]
struct Trace {
    /// The content of each variant of each enum; null of one without content.
    variants: RefCell<BTreeMap<String, Vec<(&'static str, Value)>>>,
    fields: RefCell<BTreeMap<StructName, &'static [&'static str]>>,
    required: RefCell<BTreeMap<StructName, Vec<&'static str>>>,
    times: RefCell<BTreeMap<StructName, Vec<&'static str>>>,
    left_out: RefCell<Option<(StructName, &'static str)>>,
    /// The field whose texts are no times.
    odd: RefCell<Option<(StructName, &'static str)>>,
    text_is_odd: Cell<bool>,
    known: Vec<KnownField>,
}

impl Trace {
    fn progress(&self) -> usize {
        self.variants.borrow().values().map(Vec::len).sum::<usize>() + self.fields.borrow().len()
    }

    /// Puts enums and required fields into a traced schema.
    fn resolved(&self, schema: Value, closed: Closed) -> Value {
        let Value::Object(mut object) = schema else { return schema };
        if let Some(key) = object.remove("$enum").as_ref().and_then(Value::as_str) {
            let variants = self.variants.borrow().get(key).cloned().unwrap_or_default();
            return self.one_of(variants, closed);
        }
        if let Some(name) = object.remove("$struct").as_ref().and_then(Value::as_str) {
            let times = self.times.borrow().get(name).cloned().unwrap_or_default();
            for field in times {
                let property = object.get_mut("properties").and_then(|properties| properties.get_mut(field));
                property.into_iter().for_each(mark_time);
            }
            let required = self.required.borrow().get(name).cloned().unwrap_or_default();
            if !required.is_empty() {
                object.insert("required".to_owned(), json!(required));
            }
            if closed == Closed::Yes {
                object.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        let resolved = object.into_iter().map(|(name, value)| match name.as_str() {
            "properties" => {
                let properties = value.as_object().cloned().unwrap_or_default().into_iter();
                let properties: Map<_, _> =
                    properties.map(|(name, value)| (name, self.resolved(value, closed))).collect();
                (name, Value::Object(properties))
            }
            "items" | "additionalProperties" => (name, self.resolved(value, closed)),
            _ => (name, value),
        });
        let mut object: Map<String, Value> = resolved.collect();
        match object.remove("$null") {
            Some(inner) => nullable(self.resolved(inner, closed)),
            None => Value::Object(object),
        }
    }

    fn one_of(&self, variants: Vec<(&'static str, Value)>, closed: Closed) -> Value {
        let names: Vec<&str> =
            variants.iter().filter(|(_, content)| content.is_null()).map(|(name, _)| *name).collect();
        let plain = (!names.is_empty()).then(|| json!({ "type": "string", "enum": names }));
        let holding = variants.iter().filter(|(_, content)| !content.is_null()).map(|(name, content)| {
            let mut properties = Map::new();
            properties.insert((*name).to_owned(), self.resolved(content.clone(), closed));
            let mut object = json!({ "type": "object", "properties": properties, "required": [name] });
            if let (Closed::Yes, Some(object)) = (closed, object.as_object_mut()) {
                object.insert("additionalProperties".to_owned(), json!(false));
            }
            object
        });
        let mut forms: Vec<Value> = plain.into_iter().chain(holding).collect();
        if forms.len() == 1 { forms.remove(0) } else { json!({ "oneOf": forms }) }
    }
}

/// Marks the texts of a property as times.
fn mark_time(property: &mut Value) {
    let Some(object) = property.as_object_mut() else { return };
    if object.get("type").is_some_and(|kind| kind == "string") {
        object.insert("format".to_owned(), json!("date-time"));
    }
    for below in ["$null", "items", "additionalProperties"] {
        object.get_mut(below).into_iter().for_each(mark_time);
    }
}

/// Returns a schema that also admits null.
pub(crate) fn nullable(mut schema: Value) -> Value {
    let Some(object) = schema.as_object_mut() else { return schema };
    // Any value: null is one.
    if object.is_empty() {
        return schema;
    }
    match object.get("type") {
        Some(Value::String(kind)) if !object.contains_key("oneOf") => {
            let types = json!([kind, "null"]);
            object.insert("type".to_owned(), types);
            if let Some(names) = object.get_mut("enum").and_then(Value::as_array_mut) {
                names.push(Value::Null);
            }
            schema
        }
        _ => json!({ "oneOf": [schema, { "type": "null" }] }),
    }
}

/// Why a type was not read.
#[derive(Debug)]
enum TraceError {
    Missing(&'static str),
    Other,
}

impl Display for TraceError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("the type cannot be traced")
    }
}

impl std::error::Error for TraceError {}

impl de::Error for TraceError {
    fn custom<T: Display>(_: T) -> Self {
        Self::Other
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}

/// Records what a type requests into `out`.
struct Tracer<'t> {
    trace: &'t Trace,
    depth: usize,
    out: &'t mut Value,
}

impl<'t> Tracer<'t> {
    fn below<'s>(trace: &'s Trace, depth: usize, out: &'s mut Value) -> Tracer<'s> {
        Tracer { trace, depth: depth + 1, out }
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $kind:literal $format:literal $least:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
            *self.out = json!({ "type": $kind, "format": $format });
            if let (Some(least), Some(out)) = ($least, self.out.as_object_mut()) {
                out.insert("minimum".to_owned(), Value::from(least as u8));
            }
            visitor.$visit(1 as _)
        }
    )*};
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = TraceError;

    numbers! {
        deserialize_i8 visit_i8 "integer" "int32" None::<u8>;
        deserialize_i16 visit_i16 "integer" "int32" None::<u8>;
        deserialize_i32 visit_i32 "integer" "int32" None::<u8>;
        deserialize_i64 visit_i64 "integer" "int64" None::<u8>;
        deserialize_u8 visit_u8 "integer" "int32" Some(0);
        deserialize_u16 visit_u16 "integer" "int32" Some(0);
        deserialize_u32 visit_u32 "integer" "int32" Some(0);
        deserialize_u64 visit_u64 "integer" "int64" Some(0);
        deserialize_f32 visit_f32 "number" "float" None::<u8>;
        deserialize_f64 visit_f64 "number" "double" None::<u8>;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        // Only a type that takes any value accepts this one.
        *self.out = json!({});
        visitor.visit_unit()
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        *self.out = json!({ "type": "boolean" });
        visitor.visit_bool(true)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        *self.out = json!({ "type": "string" });
        visitor.visit_str(if self.trace.text_is_odd.get() { "x" } else { TEXT })
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, _: V) -> Result<V::Value, TraceError> {
        Err(TraceError::Other)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, _: V) -> Result<V::Value, TraceError> {
        Err(TraceError::Other)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        let mut inner = Value::Null;
        let read = visitor.visit_some(Self::below(self.trace, self.depth, &mut inner));
        *self.out = json!({ "$null": inner });
        read
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        *self.out = json!({ "type": "null" });
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, TraceError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, TraceError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        if self.depth > MAX_DEPTH {
            return Err(TraceError::Other);
        }
        let mut items = Value::Null;
        let read = visitor.visit_seq(Items { trace: self.trace, depth: self.depth, left: 1, out: &mut items });
        *self.out = json!({ "type": "array", "items": items });
        read
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, TraceError> {
        let mut items = Value::Null;
        let read = visitor.visit_seq(Items { trace: self.trace, depth: self.depth, left: len, out: &mut items });
        *self.out = json!({ "type": "array", "items": items, "minItems": len, "maxItems": len });
        read
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        let mut values = Value::Null;
        let read = visitor.visit_map(Entry { trace: self.trace, depth: self.depth, left: 1, out: &mut values });
        let values = if values == json!({}) || values.is_null() { json!(true) } else { values };
        *self.out = json!({ "type": "object", "additionalProperties": values });
        read
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        if self.depth > MAX_DEPTH {
            return Err(TraceError::Other);
        }
        self.trace.fields.borrow_mut().insert(name, fields);
        let left_out = self.trace.left_out.borrow().filter(|(of, _)| *of == name).map(|(_, field)| field);
        let present: Vec<&'static str> = fields.iter().copied().filter(|field| Some(*field) != left_out).collect();
        let found = RefCell::new(Map::new());
        let read =
            visitor.visit_map(Fields { of: name, trace: self.trace, depth: self.depth, left: &present, found: &found });
        *self.out = json!({ "$struct": name, "type": "object", "properties": found.into_inner() });
        read
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        let key = format!("{name}:{}", variants.join(","));
        *self.out = json!({ "$enum": key });
        let read = self.trace.variants.borrow().get(&key).map_or(0, Vec::len);
        let variant = variants.get(read).or_else(|| variants.first()).copied().ok_or(TraceError::Other)?;
        let mut content = Value::Null;
        let done = visitor.visit_enum(Variant { trace: self.trace, depth: self.depth, variant, out: &mut content });
        if read < variants.len() {
            self.trace.variants.borrow_mut().entry(key).or_default().push((variant, content));
        }
        done
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests;
