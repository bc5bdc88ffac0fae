//! Reads requests from JSON bodies and query strings, and describes them: one struct is the only definition.
//!
//! `#[derive(Request)]` generates the reader, which reports every failed check at once, and the OpenAPI schema (of a body)
//! or parameters (of a query). A field of type `T` is required, of type `Option<T>` optional, and of type
//! `Option<Option<T>>` null clears it (RFC 7396); elsewhere null counts as left out. Members that are not named are
//! refused at every depth, with the nearest known name, unless the request is `open`.
//!
//! ```
//! use muster_request::Request;
//!
//! /// A resource that is needed at an incident.
//! #[derive(Request)]
//! #[request(schema = NewResource, example = { "type": "boat", "qty": 2 })]
//! struct ResourceRequest {
//!     /// Such as `ambulance`.
//!     #[request(rename = "type", chars = 1..=64)]
//!     kind: String,
//!     #[request(range = 1..=1_000_000, default = 1)]
//!     qty: u32,
//! }
//!
//! let error = ResourceRequest::from_json(&serde_json::json!({ "qty": 0 })).err().unwrap();
//! let places: Vec<String> = error.fields.iter().map(|field| field.loc.join(".")).collect();
//! assert_eq!(places, ["body.type", "body.qty"]);
//! ```
//!
//! # Attributes of a struct
//! - `query`: read from a query string; `IntoParams` is implemented instead of `ToSchema`, with `body` beside it. `last`: of a repeated parameter
//!   the last value counts, else it is refused. `skip_empty`: an empty parameter counts as left out.
//! - `schema = Name`: the schema's name. `example = {…}`: the whole example; else it is made of the fields' examples.
//! - `may_be_empty`: no body means every default. `takes_images`: the larger limit of body size applies.
//! - `check = f`: `fn(&mut Fields)`, called after the fields were read, for rules across fields; `first = f` before.
//! - `required = a + b`: members of a flattened request that are optional there must be sent here.
//! - `into = T`: `From` is implemented for `T`, which has the same fields.
//! - `open`: members that are not named are ignored, such as those of a wire format that others define.
//!
//! # Attributes of a field
//! - `range = a..=b` of a number, `chars = a..=b` of a text (`no_nul`: without NUL), `items = a..=b` of a list; `message =
//!   "…"` replaces the message of a failed bound.
//! - `check = f`: `fn(&T) -> Result<(), impl Display>`. `with = f`: `fn(&mut Fields, &str) -> Option<T>` reads the field;
//!   `using = a + b` passes it references to fields before it.
//! - `default` or `default = value`; `not_null`: null is refused; `rename = "name"`.
//! - `nested`: an object, `list`: an array of objects, `flatten`: the members of another request. `serde`: read by serde,
//!   as every type is that is not plain.
//! - A field that serde reads is described by what its type reads: names of variants, members of structs; `traced` does
//!   this for a field with a reader of its own. `schema = T`: described as `T`; `hidden`: not described; `described`: only described, as another field's reader
//!   reads it; `example = …`. `#[schema(…)]` is passed on to utoipa.

#![warn(missing_docs)]

pub mod describe;
mod fields;
mod known;
mod rejection;
pub mod traced;

pub use muster_request_derive::Request;
use serde_json::{Map, Value};

pub use crate::fields::Fields;
pub use crate::rejection::{FieldFailure, Rejection};
use crate::rejection::{Problems, failure};

/// How the parameters of a query are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryRules {
    /// Of a repeated parameter the last value counts; else it is refused.
    pub last_counts: bool,
    /// An empty parameter counts as left out.
    pub skip_empty: bool,
}

/// Reads a value by serde. Members that its type does not name are refused at every depth.
///
/// # Errors
/// Every unknown member, or why the value cannot be read, with a `loc` that begins with `place`.
pub fn read_value<T: serde::de::DeserializeOwned>(value: &Value, place: &str) -> Result<T, Rejection> {
    let mut problems = Problems::default();
    let read = problems.read_value(value, &[place.to_owned()]);
    problems.finish(read)
}

/// A request that is read from a JSON body or a query string. Implemented by `#[derive(Request)]`.
pub trait Request: Sized {
    /// Whether its bodies may hold images, and so be large.
    const TAKES_IMAGES: bool = false;
    /// Whether a request without a body means every default.
    const MAY_BE_EMPTY: bool = false;
    /// Whether members that are not named are ignored. Else they are refused.
    const OPEN: bool = false;
    /// How the parameters of its query are taken.
    const QUERY: QueryRules = QueryRules { last_counts: false, skip_empty: false };

    /// Reads the fields. What is wrong is noted in `fields`; `None` only where something was.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;

    /// Adds the names of the members.
    fn names(_names: &mut Vec<&'static str>) {}

    /// An example that is accepted.
    fn example() -> Map<String, Value> {
        Map::new()
    }

    /// Reads a JSON body.
    ///
    /// # Errors
    /// Every failed check, with a `loc` that begins with `body`.
    fn from_json(value: &Value) -> Result<Self, Rejection> {
        let Some(object) = value.as_object() else {
            let message = "the body must be a JSON object".to_owned();
            let fields = vec![failure("type_error", vec!["body".to_owned()], "must be an object", value)];
            return Err(Rejection { message, unsupported: false, fields });
        };
        let mut problems = Problems::default();
        let read = Fields::of_body(object, &mut problems).whole();
        problems.finish(read)
    }

    /// Reads the parameters of a query, in the order in which they were sent.
    ///
    /// # Errors
    /// Every failed check, with a `loc` that begins with `query`.
    fn from_query(pairs: &[(String, String)]) -> Result<Self, Rejection> {
        let mut object = Map::new();
        for (name, text) in pairs {
            if Self::QUERY.skip_empty && text.is_empty() {
                if Self::QUERY.last_counts {
                    object.remove(name);
                }
                continue;
            }
            let text = Value::String(text.clone());
            match object.get_mut(name) {
                Some(Value::Array(values)) if !Self::QUERY.last_counts => values.push(text),
                Some(first) if !Self::QUERY.last_counts => *first = Value::Array(vec![first.take(), text]),
                Some(last) => *last = text,
                None => drop(object.insert(name.clone(), text)),
            }
        }
        let mut problems = Problems::default();
        let read = Fields::of_query(&object, pairs, &mut problems).whole();
        problems.finish(read)
    }
}
