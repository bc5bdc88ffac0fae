//! Readers of JSON values.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Map, Value};

use super::shape::Shape;

/// A type that is read from a JSON value. The frame has checked the value against the catalogue before; what a Rust type
/// cannot hold, such as a negative `u32`, is a [`Mismatch`].
pub trait FromValue: Sized {
    /// Returns the shape, which tests compare with the catalogue.
    fn shape() -> Shape;

    /// Reads the value.
    ///
    /// # Errors
    /// [`Mismatch`] with the path and what is wrong.
    fn from_value(value: Value) -> Result<Self, Mismatch>;
}

/// A value that a type cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Path to the value, innermost step first.
    steps: Vec<String>,
    message: String,
}

impl Mismatch {
    /// Creates a mismatch of the value itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { steps: Vec::new(), message: message.into() }
    }

    /// Creates the mismatch of a word outside of its list.
    pub fn words(words: &[&str]) -> Self {
        Self::new(format!("must be one of {}", words.join(", ")))
    }

    /// Adds the step that leads to the value.
    #[must_use]
    pub fn within(mut self, step: impl Into<String>) -> Self {
        self.steps.push(step.into());
        self
    }

    /// Returns the path from the root, and what is wrong.
    pub fn into_parts(mut self) -> (Vec<String>, String) {
        self.steps.reverse();
        (self.steps, self.message)
    }
}

/// Members of an object that is read.
#[derive(Debug)]
pub struct Members(Map<String, Value>);

impl Members {
    /// Takes the members of an object.
    ///
    /// # Errors
    /// [`Mismatch`] if the value is no object.
    pub fn of(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::Object(members) => Ok(Self(members)),
            _ => Err(Mismatch::new("must be an object")),
        }
    }

    /// Reads a member.
    ///
    /// # Errors
    /// [`Mismatch`] if it is absent or does not fit.
    pub fn required<T: FromValue>(&mut self, name: &str) -> Result<T, Mismatch> {
        let value = self.0.remove(name).ok_or_else(|| Mismatch::new("is required").within(name))?;
        T::from_value(value).map_err(|mismatch| mismatch.within(name))
    }

    /// Reads a member that may be absent or `null`.
    ///
    /// # Errors
    /// [`Mismatch`] if it does not fit.
    pub fn optional<T: FromValue>(&mut self, name: &str) -> Result<Option<T>, Mismatch> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => T::from_value(value).map(Some).map_err(|mismatch| mismatch.within(name)),
        }
    }
}

impl FromValue for f64 {
    fn shape() -> Shape {
        Shape::Number
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        value.as_f64().ok_or_else(|| Mismatch::new("must be a number"))
    }
}

/// Integers may be written as `3.0` (JSON Schema 2020-12, 4.2.3).
macro_rules! integers {
    ($($kind:ty),*) => {
        $(impl FromValue for $kind {
            fn shape() -> Shape {
                Shape::Integer
            }

            fn from_value(value: Value) -> Result<Self, Mismatch> {
                whole(&value).and_then(|whole| <$kind>::try_from(whole).ok()).ok_or_else(|| {
                    Mismatch::new(format!("must be an integer from {} to {}", <$kind>::MIN, <$kind>::MAX))
                })
            }
        })*
    };
}

integers!(i64, i32, u64, u32, u16, u8, usize);

fn whole(value: &Value) -> Option<i128> {
    if let Some(whole) = value.as_i64() {
        return Some(whole.into());
    }
    if let Some(whole) = value.as_u64() {
        return Some(whole.into());
    }
    // Beyond 2^64 no integer type holds it, and the cast is exact below.
    value.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1.9e19).map(|float| float as i128)
}

impl FromValue for bool {
    fn shape() -> Shape {
        Shape::Boolean
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        value.as_bool().ok_or_else(|| Mismatch::new("must be true or false"))
    }
}

impl FromValue for String {
    fn shape() -> Shape {
        Shape::String
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(Mismatch::new("must be a string")),
        }
    }
}

impl FromValue for Timestamp {
    fn shape() -> Shape {
        Shape::Datetime
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        let time = value.as_str().and_then(|text| text.parse().ok());
        time.ok_or_else(|| Mismatch::new("must be a time such as 2026-11-21T03:00:00Z"))
    }
}

impl FromValue for Date {
    fn shape() -> Shape {
        Shape::Date
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        let date = value.as_str().and_then(|text| text.parse().ok());
        date.ok_or_else(|| Mismatch::new("must be a date such as 2026-11-21"))
    }
}

impl FromValue for Value {
    fn shape() -> Shape {
        Shape::Any
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        Ok(value)
    }
}

impl FromValue for Map<String, Value> {
    fn shape() -> Shape {
        Shape::Map(Box::new(Shape::Any))
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::Object(members) => Ok(members),
            _ => Err(Mismatch::new("must be an object")),
        }
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn shape() -> Shape {
        Shape::Array(Box::new(T::shape()))
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        let Value::Array(items) = value else { return Err(Mismatch::new("must be an array")) };
        let read = |(at, item)| T::from_value(item).map_err(|mismatch| mismatch.within(usize::to_string(&at)));
        items.into_iter().enumerate().map(read).collect()
    }
}

impl<T: FromValue, const N: usize> FromValue for [T; N] {
    fn shape() -> Shape {
        Shape::Array(Box::new(T::shape()))
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        let items = Vec::from_value(value)?;
        items.try_into().map_err(|items: Vec<T>| Mismatch::new(format!("has {} items; it needs {N}", items.len())))
    }
}

impl<T: FromValue> FromValue for BTreeMap<String, T> {
    fn shape() -> Shape {
        Shape::Map(Box::new(T::shape()))
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        let Value::Object(members) = value else { return Err(Mismatch::new("must be an object")) };
        let read = |(name, item)| match T::from_value(item) {
            Ok(item) => Ok((name, item)),
            Err(mismatch) => Err(mismatch.within(name)),
        };
        members.into_iter().map(read).collect()
    }
}

/// For what is looked up only: an output must not follow the order of hashes.
impl<T: FromValue> FromValue for HashMap<String, T> {
    fn shape() -> Shape {
        Shape::Map(Box::new(T::shape()))
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        BTreeMap::from_value(value).map(Self::from_iter)
    }
}

impl<T: FromValue + Ord> FromValue for BTreeSet<T> {
    fn shape() -> Shape {
        Shape::Array(Box::new(T::shape()))
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        Vec::from_value(value).map(Self::from_iter)
    }
}

impl<T: FromValue> FromValue for Box<T> {
    fn shape() -> Shape {
        T::shape()
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        T::from_value(value).map(Self::new)
    }
}
