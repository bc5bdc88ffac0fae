//! Bindings of a step's inputs.

use muster_kernel_words::quantities::{Unit, convert};
use serde_json::{Map, Value};

use super::file_table::{FileReference, WHOLE};
use super::reference::{Reference, Scope, is_empty};

/// What separates alternatives.
const OR: &str = " ?? ";

/// A value that may contain references.
#[derive(Debug, Clone, PartialEq)]
pub enum Binding {
    /// The referenced value.
    Reference(Reference),
    /// The first of the referenced values that is not empty.
    First(Vec<Reference>),
    /// The referenced number, or each of an array, in another unit.
    Converted {
        /// Where the number is.
        reference: Reference,
        /// Its unit there.
        from: &'static Unit,
        /// Its unit here.
        to: &'static Unit,
    },
    /// A value without references.
    Literal(Value),
    /// An array with at least one reference.
    Array(Vec<Self>),
    /// An object with at least one reference, in the order of its keys.
    Object(Vec<(String, Self)>),
}

impl Binding {
    /// Parses a binding, in which every string that begins with `$` is a reference.
    ///
    /// # Errors
    ///
    /// Returns the first invalid reference.
    pub(super) fn parse(value: &Value) -> Result<Self, String> {
        let parsed = match value {
            Value::String(text) if text.starts_with('$') && text.contains(OR) => {
                Self::First(text.split(OR).map(|part| Reference::parse(part.trim())).collect::<Result<_, _>>()?)
            }
            Value::String(text) if text.starts_with('$') => Self::Reference(Reference::parse(text)?),
            Value::Array(items) => Self::Array(items.iter().map(Self::parse).collect::<Result<_, _>>()?),
            Value::Object(entries) => {
                let entry = |(key, value): (&String, &Value)| Ok((key.clone(), Self::parse(value)?));
                Self::Object(entries.iter().map(entry).collect::<Result<_, String>>()?)
            }
            literal => Self::Literal(literal.clone()),
        };
        Ok(if parsed.references().is_empty() { Self::Literal(value.clone()) } else { parsed })
    }

    pub(super) fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Reference(reference) | Self::Converted { reference, .. } => vec![reference],
            Self::First(references) => references.iter().collect(),
            Self::Literal(_) => Vec::new(),
            Self::Array(items) => items.iter().flat_map(Self::references).collect(),
            Self::Object(entries) => entries.iter().flat_map(|(_, value)| value.references()).collect(),
        }
    }

    pub(super) fn value(&self, scope: &Scope<'_>) -> Value {
        match self {
            Self::Reference(reference) => reference.value(scope),
            Self::First(references) => {
                let mut values = references.iter().map(|reference| reference.value(scope));
                values.find(|value| !is_empty(value)).unwrap_or_default()
            }
            Self::Converted { reference, from, to } => converted(reference.value(scope), from, to),
            Self::Literal(value) => value.clone(),
            Self::Array(items) => items.iter().map(|item| marked(item.value(scope))).collect(),
            Self::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| (key.clone(), value.value(scope)));
                let object: Map<_, _> = entries.collect();
                // A record of params that nobody gave is absent.
                if object.values().all(Value::is_null) { Value::Null } else { Value::Object(object) }
            }
        }
    }
}

/// Marks a file that is a whole param, to tell it from an object in data that has a member `file`.
fn marked(value: Value) -> Value {
    let is_file = FileReference::of(&value).is_some();
    match value {
        Value::Object(mut object) if is_file => {
            object.insert(WHOLE.to_owned(), true.into());
            Value::Object(object)
        }
        other => other,
    }
}

fn converted(value: Value, from: &Unit, to: &Unit) -> Value {
    match value {
        Value::Number(number) => number.as_f64().and_then(|number| convert(number, from, to)).into(),
        Value::Array(items) => items.into_iter().map(|item| converted(item, from, to)).collect(),
        other => other,
    }
}
