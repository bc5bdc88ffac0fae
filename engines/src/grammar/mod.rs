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

/// The types that are one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prim {
    Number,
    Integer,
    Boolean,
    String,
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

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(prim, _)| *prim == self).map_or("any", |(_, name)| name)
    }
}

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    Prim(Prim),
    Enum(Vec<String>),
    Array(Box<Self>),
    /// From any text to one type.
    Map(Box<Self>),
    Record(Vec<Member>),
}

/// One field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub name: String,
    pub kind: Type,
    pub optional: bool,
    /// Empty for none.
    pub unit: String,
}

/// Bounds of a number, or of the numbers of an array.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Range {
    pub least: Option<f64>,
    pub most: Option<f64>,
}

/// Whether an input has to be given.
#[derive(Debug, Clone, PartialEq)]
pub enum Need {
    Required,
    Optional,
    Default(Value),
}

/// One input or output.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    pub kind: Type,
    /// Empty for none.
    pub unit: String,
    pub range: Range,
    /// An output's is `Optional`.
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

/// The members of a finding, as of a record.
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
