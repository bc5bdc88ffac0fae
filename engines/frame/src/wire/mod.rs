//! Rust types as JSON values: what the derives implement.
//!
//! | grammar | Rust |
//! |---|---|
//! | `number` | `f64` |
//! | `integer` | `i64 i32 u64 u32 u16 u8 usize` |
//! | `boolean`, `string` | `bool`, `String` (outputs also `&str`, `Cow<str>`) |
//! | `datetime`, `date` | `jiff::Timestamp`, `jiff::civil::Date`, or `String` |
//! | `bytes` | [`Bytes`], or `String` |
//! | `latlon`, `bbox`, `finding` | [`LatLon`], [`Bbox`], [`Finding`](crate::Finding) |
//! | `any`, `geometry`, `featurecollection` | `serde_json::Value` or `Map` |
//! | `enum(a\|b)` | an enum that derives `Words` |
//! | `array<T>` | `Vec<T>`, `[T; N]` |
//! | `map<T>` | `BTreeMap<String, T>` (outputs also with `&str` keys) |
//! | `{a=T,b?=T}` | a struct that derives `Input` or `Output`; `b` is an `Option` |
//!
//! # Units
//! A member's Rust name may end in its unit; the derive takes it off. The spelling is the unit in lower case with `_` for
//! `/` and `.`: `km_h`, `m3_s`, `mg_dl`, `mj_m2_d`, `n_m`, `ml_min_1_73m2`, `hpa`, `mmhg`, `mw`. Others: `%` is `percent`,
//! `%/yr` `percent_yr`, `degC` `deg_c`, `1/min` `per_min` (`per_s`, `per_h`, `per_yr`, `per_m2`), `/100py` `per_100py`,
//! `1e9/L` `1e9_l`, `month` `months`. Names that end like a unit in the catalogue itself (`max_tokens`, `t_min`) stay
//! whole. The family's tests report a unit that is not the catalogue's.

mod read;
mod shape;
mod write;

pub use serde_json::{Map, Value};

pub use read::{FromValue, Members, Mismatch};
pub use shape::{MemberShape, Shape, input_differences, output_differences};
pub use write::ToValue;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A closed list of words; derived for enums.
pub trait Words: Sized + 'static {
    /// All values with their words, in the order of declaration.
    const ALL: &'static [(Self, &'static str)];

    /// Returns the word.
    fn word(&self) -> &'static str;
}

/// Bytes, which are base64 on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

/// A place in degrees (WGS 84).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LatLon {
    /// Latitude, -90 to 90.
    pub lat: f64,
    /// Longitude, -180 to 180.
    pub lon: f64,
}

/// A box of degrees.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bbox {
    /// Least longitude.
    pub west: f64,
    /// Least latitude.
    pub south: f64,
    /// Greatest longitude.
    pub east: f64,
    /// Greatest latitude.
    pub north: f64,
}

impl FromValue for Bytes {
    fn shape() -> Shape {
        Shape::Bytes
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
        bytes.map(Self).ok_or_else(|| Mismatch::new("must be base64 (RFC 4648, section 4)"))
    }
}

impl ToValue for Bytes {
    fn shape() -> Shape {
        Shape::Bytes
    }

    fn to_value(self) -> Value {
        STANDARD.encode(self.0).into()
    }
}

impl FromValue for LatLon {
    fn shape() -> Shape {
        Shape::LatLon
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        let mut members = Members::of(value)?;
        Ok(Self { lat: members.required("lat")?, lon: members.required("lon")? })
    }
}

impl ToValue for LatLon {
    fn shape() -> Shape {
        Shape::LatLon
    }

    fn to_value(self) -> Value {
        serde_json::json!({ "lat": self.lat, "lon": self.lon })
    }
}

impl FromValue for Bbox {
    fn shape() -> Shape {
        Shape::Bbox
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        let [west, south, east, north] = <[f64; 4]>::from_value(value)?;
        Ok(Self { west, south, east, north })
    }
}

impl ToValue for Bbox {
    fn shape() -> Shape {
        Shape::Bbox
    }

    fn to_value(self) -> Value {
        [self.west, self.south, self.east, self.north].to_value()
    }
}
