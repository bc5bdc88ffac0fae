//! Writers of JSON values.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Map, Value};

use super::shape::Shape;

/// A type that is written as a JSON value. A number that is not finite becomes `null`, which no output's schema allows:
/// [`Shape::not_finite`] finds it.
pub trait ToValue {
    /// Returns the shape, which tests compare with the catalogue.
    fn shape() -> Shape
    where
        Self: Sized;

    /// Writes the value.
    fn to_value(self) -> Value;
}

macro_rules! plain {
    ($($kind:ty: $shape:ident),* $(,)?) => {
        $(impl ToValue for $kind {
            fn shape() -> Shape {
                Shape::$shape
            }

            fn to_value(self) -> Value {
                Value::from(self)
            }
        })*
    };
}

plain! {
    f64: Number, i64: Integer, i32: Integer, u64: Integer, u32: Integer, u16: Integer, u8: Integer, usize: Integer,
    bool: Boolean, String: String, &str: String, Cow<'_, str>: String,
}

macro_rules! displayed {
    ($($kind:ty: $shape:ident),* $(,)?) => {
        $(impl ToValue for $kind {
            fn shape() -> Shape {
                Shape::$shape
            }

            fn to_value(self) -> Value {
                self.to_string().into()
            }
        })*
    };
}

displayed!(Timestamp: Datetime, Date: Date, Arc<str>: String, Rc<str>: String);

impl ToValue for Value {
    fn shape() -> Shape {
        Shape::Any
    }

    fn to_value(self) -> Value {
        self
    }
}

impl ToValue for Map<String, Value> {
    fn shape() -> Shape {
        Shape::Map(Box::new(Shape::Any))
    }

    fn to_value(self) -> Value {
        Value::Object(self)
    }
}

impl<T: ToValue> ToValue for Vec<T> {
    fn shape() -> Shape {
        Shape::Array(Box::new(T::shape()))
    }

    fn to_value(self) -> Value {
        self.into_iter().map(T::to_value).collect()
    }
}

impl<T: ToValue, const N: usize> ToValue for [T; N] {
    fn shape() -> Shape {
        Shape::Array(Box::new(T::shape()))
    }

    fn to_value(self) -> Value {
        self.into_iter().map(T::to_value).collect()
    }
}

impl<K: Into<String>, T: ToValue> ToValue for BTreeMap<K, T> {
    fn shape() -> Shape {
        Shape::Map(Box::new(T::shape()))
    }

    fn to_value(self) -> Value {
        Value::Object(self.into_iter().map(|(name, item)| (name.into(), item.to_value())).collect())
    }
}

impl<T: ToValue + Ord> ToValue for BTreeSet<T> {
    fn shape() -> Shape {
        Shape::Array(Box::new(T::shape()))
    }

    fn to_value(self) -> Value {
        self.into_iter().map(T::to_value).collect()
    }
}

impl<T: ToValue> ToValue for Box<T> {
    fn shape() -> Shape {
        T::shape()
    }

    fn to_value(self) -> Value {
        (*self).to_value()
    }
}
