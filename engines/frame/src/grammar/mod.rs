//! The type grammar of engines and of agents' parameters.
//!
//! An input is `name:type:unit:required|optional|=default`, an output `name:type:unit`. A unit is a word, `-` for none,
//! and may end in a range, such as `deg[-90..90]`. A type is one of `number integer boolean string any datetime date
//! bytes latlon bbox geometry featurecollection finding`, `enum(a|b)`, `array<T>`, `map<T>` or
//! `{field=T[unit],optional?=T}`.

mod accept;
mod assign;
mod parse;
mod schema;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use accept::{accept, check};
pub use assign::assignable;
pub use parse::{Malformed, parse_input, parse_output, parse_type};
pub use schema::{input_schema, output_schema, type_schema};

/// Primitive types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prim {
    /// Any number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A text.
    String,
    /// Any JSON value.
    Any,
    /// RFC 3339.
    Datetime,
    /// RFC 3339 `full-date`.
    Date,
    /// Base64.
    Bytes,
    /// `{lat, lon}` in degrees.
    LatLon,
    /// West, south, east, north.
    Bbox,
    /// A GeoJSON geometry.
    Geometry,
    /// A GeoJSON FeatureCollection.
    FeatureCollection,
    /// `{rule, severity, message, location?, evidence?}`.
    Finding,
}

impl Prim {
    /// All primitive types with their names.
    pub const ALL: [(Self, &'static str); 13] = [
        (Self::Number, "number"),
        (Self::Integer, "integer"),
        (Self::Boolean, "boolean"),
        (Self::String, "string"),
        (Self::Any, "any"),
        (Self::Datetime, "datetime"),
        (Self::Date, "date"),
        (Self::Bytes, "bytes"),
        (Self::LatLon, "latlon"),
        (Self::Bbox, "bbox"),
        (Self::Geometry, "geometry"),
        (Self::FeatureCollection, "featurecollection"),
        (Self::Finding, "finding"),
    ];

    /// Returns the name in the grammar.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(prim, _)| *prim == self).map_or("any", |(_, name)| name)
    }
}

/// A type of the grammar.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A primitive type.
    Prim(Prim),
    /// One of these texts.
    Enum(Vec<String>),
    /// A list of one element type.
    Array(Box<Self>),
    /// A map from texts to one type.
    Map(Box<Self>),
    /// An object with these members.
    Record(Vec<Member>),
}

/// A member of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Member name.
    pub name: String,
    /// Member type.
    pub kind: Type,
    /// Whether it may be absent.
    pub optional: bool,
    /// Unit; empty for none.
    pub unit: String,
}

/// Bounds of a number, or of the numbers of an array.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Range {
    /// Lower bound, inclusive.
    pub least: Option<f64>,
    /// Upper bound, inclusive.
    pub most: Option<f64>,
}

/// Whether an input is required.
#[derive(Debug, Clone, PartialEq)]
pub enum Need {
    /// It is required.
    Required,
    /// It may be absent.
    Optional,
    /// Value used if it is absent.
    Default(Value),
}

/// An input or output field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Field name.
    pub name: String,
    /// Field type.
    pub kind: Type,
    /// Unit; empty for none.
    pub unit: String,
    /// Bounds of the value.
    pub range: Range,
    /// For an output always `Optional`.
    pub need: Need,
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Prim(prim) => f.write_str(prim.name()),
            Self::Enum(values) => write!(f, "enum({})", values.join("|")),
            Self::Array(item) => write!(f, "array<{item}>"),
            Self::Map(item) => write!(f, "map<{item}>"),
            Self::Record(members) => {
                f.write_str("{")?;
                for (at, member) in members.iter().enumerate() {
                    let (comma, optional) = (if at > 0 { "," } else { "" }, if member.optional { "?" } else { "" });
                    write!(f, "{comma}{}{optional}={}", member.name, member.kind)?;
                    if !member.unit.is_empty() {
                        write!(f, "[{}]", member.unit)?;
                    }
                }
                f.write_str("}")
            }
        }
    }
}

/// Members of a finding, as a record type.
pub(crate) fn finding() -> Type {
    let string = || Type::Prim(Prim::String);
    let severities = ["info", "low", "medium", "high", "critical"].map(str::to_owned).to_vec();
    let member =
        |name: &str, kind: Type, optional: bool| Member { name: name.to_owned(), kind, optional, unit: String::new() };
    Type::Record(vec![
        member("rule", string(), false),
        member("severity", Type::Enum(severities), false),
        member("message", string(), false),
        member("location", string(), true),
        member("evidence", string(), true),
    ])
}

/// Members of a place, as a record type.
pub(crate) fn latlon() -> Type {
    let member = |name: &str| Member {
        name: name.to_owned(),
        kind: Type::Prim(Prim::Number),
        optional: false,
        unit: "deg".to_owned(),
    };
    Type::Record(vec![member("lat"), member("lon")])
}
