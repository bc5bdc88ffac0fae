//! Request bodies: read within a bound, parsed once, checked field by field, every failure told.

use actix_web::http::header;
use actix_web::{HttpRequest, dev::Payload, web};
use bytes::Bytes;
use futures::StreamExt;
use muster_core::{Error, FieldError, Kind};
use serde_json::{Map, Value};

/// Whether a request was sent without a body.
pub fn is_empty(request: &HttpRequest) -> bool {
    let headers = request.headers();
    let length = headers.get(header::CONTENT_LENGTH).map(|value| value.as_bytes());
    !headers.contains_key(header::TRANSFER_ENCODING) && matches!(length, None | Some(b"0"))
}

/// Reads a JSON body of at most `limit` bytes.
///
/// # Errors
/// `UnsupportedMediaType`, `TooLarge`, `InvalidJson` (with line and column).
pub async fn read_json(request: &HttpRequest, payload: &mut Payload, limit: usize) -> Result<(Value, Bytes), Error> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence != "application/json" && !(essence.starts_with("application/") && essence.ends_with("+json")) {
        let message = format!("the body must be sent with Content-Type: application/json, not `{kind}`");
        return Err(Error::new(Kind::UnsupportedMediaType, message));
    }
    let bytes = read(request, payload, limit).await?.freeze();
    let value = serde_json::from_slice(&bytes)
        .map_err(|error| Error::new(Kind::InvalidJson, format!("the body is not JSON: {error}")))?;
    Ok((value, bytes))
}

/// Reads a body of at most `limit` bytes.
///
/// # Errors
/// `TooLarge`; `InvalidJson` where it broke off.
pub async fn read(request: &HttpRequest, payload: &mut Payload, limit: usize) -> Result<web::BytesMut, Error> {
    let too_large =
        || Error::new(Kind::TooLarge, format!("the body is larger than {limit} bytes, the most taken here"));
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let mut bytes = web::BytesMut::with_capacity(length.unwrap_or(0));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| Error::new(Kind::InvalidJson, format!("the body broke off: {error}")))?;
        if bytes.len() + chunk.len() > limit {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// A request body that can be read out of JSON, with every failed check told at once.
pub trait FromJson: Sized {
    /// Its bodies may hold pictures, and so be large.
    const TAKES_IMAGES: bool = false;
    /// A request without a body means every default.
    const MAY_BE_EMPTY: bool = false;

    /// Reads what is there; what is wrong goes into `fields`. The value counts only where nothing went there.
    fn read(fields: &mut Fields<'_>) -> Self;

    /// # Errors
    /// `Invalid` with every failed check.
    fn from_json(value: &Value) -> Result<Self, Error> {
        let Some(object) = value.as_object() else {
            let mut error = Error::new(Kind::Invalid, "the body must be a JSON object");
            error.fields.push(failure("type_error", &["body"], "must be an object", value));
            return Err(error);
        };
        let mut problems = Problems::default();
        let read = Self::read(&mut Fields { object, path: vec!["body".to_owned()], problems: &mut problems });
        problems.finish().map(|()| read)
    }
}

fn failure(kind: &'static str, loc: &[&str], msg: &str, input: &Value) -> FieldError {
    let loc = loc.iter().map(|&part| part.to_owned()).collect();
    FieldError { kind, loc, msg: msg.to_owned(), input: bounded(input) }
}

/// What was sent is sent back, but not a megabyte of it.
fn bounded(input: &Value) -> Value {
    match input {
        Value::String(text) if text.len() > 200 => Value::String(text.chars().take(200).collect::<String>() + "…"),
        Value::Array(_) | Value::Object(_) if input.to_string().len() > 200 => Value::Null,
        _ => input.clone(),
    }
}

/// At most this many failures are told.
const MAX_PROBLEMS: usize = 50;

/// What is wrong with a body.
#[derive(Debug, Default)]
pub struct Problems {
    fields: Vec<FieldError>,
    /// A known field that is not supported makes the whole refusal one of that kind.
    unsupported: bool,
}

impl Problems {
    fn push(&mut self, field: FieldError) {
        if self.fields.len() < MAX_PROBLEMS {
            self.fields.push(field);
        }
    }

    fn finish(self) -> Result<(), Error> {
        let Some(first) = self.fields.first() else { return Ok(()) };
        let kind = if self.unsupported { Kind::UnsupportedValue } else { Kind::Invalid };
        let name = first.loc.get(1..).unwrap_or_default().join(".");
        let mut error = Error::new(kind, format!("{name}: {}", first.msg));
        error.fields = self.fields;
        Err(error)
    }
}

/// The fields of one JSON object of a body.
#[derive(Debug)]
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    path: Vec<String>,
    problems: &'a mut Problems,
}

impl<'a> Fields<'a> {
    /// Notes a failed check of a field.
    pub fn fail(&mut self, name: &str, msg: impl AsRef<str>) {
        self.note("value_error", name, msg.as_ref());
    }

    fn note(&mut self, kind: &'static str, name: &str, msg: &str) {
        let input = self.object.get(name).unwrap_or(&Value::Null);
        let mut loc = self.path.clone();
        loc.extend(name.split('.').map(str::to_owned));
        self.problems.push(FieldError { kind, loc, msg: msg.to_owned(), input: bounded(input) });
    }

    /// Notes that a known field is not supported.
    pub fn unsupported(&mut self, name: &str, msg: impl AsRef<str>) {
        self.problems.unsupported |= self.problems.fields.is_empty();
        self.note("unsupported_value", name, msg.as_ref());
    }

    /// Whether a field was sent as null: in a patch that empties it.
    pub fn is_null(&self, name: &str) -> bool {
        self.object.get(name).is_some_and(Value::is_null)
    }

    /// The value of a field; null counts as left out.
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn typed<T>(&mut self, name: &str, expected: &str, read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.value(name)?;
        let read = read(value);
        if read.is_none() {
            self.note("type_error", name, &format!("must be {expected}"));
        }
        read
    }

    /// Notes a required field that was left out.
    pub fn require<T>(&mut self, name: &str, value: Option<T>) -> Option<T> {
        if value.is_none() && self.value(name).is_none() {
            self.note("missing", name, "is required");
        }
        value
    }

    pub fn string(&mut self, name: &str) -> Option<String> {
        self.typed(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub fn bool(&mut self, name: &str) -> Option<bool> {
        self.typed(name, "true or false", Value::as_bool)
    }

    /// A whole number of `range`.
    pub fn integer(&mut self, name: &str, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let whole = |value: &Value| {
            value.as_i64().or_else(|| {
                value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15).map(|number| number as i64)
            })
        };
        let number = self.typed(name, "a whole number", whole)?;
        if range.contains(&number) {
            return Some(number);
        }
        self.fail(name, format!("must be {} to {}", range.start(), range.end()));
        None
    }

    /// A number of `range`.
    pub fn number(&mut self, name: &str, range: std::ops::RangeInclusive<f64>) -> Option<f64> {
        let number = self.typed(name, "a number", Value::as_f64)?;
        if range.contains(&number) {
            return Some(number);
        }
        self.fail(name, format!("must be {} to {}", range.start(), range.end()));
        None
    }

    /// One of the names of a serde enum.
    pub fn choice<T: serde::de::DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let value = self.value(name)?;
        match T::deserialize(value) {
            Ok(choice) => Some(choice),
            Err(error) => {
                self.fail(name, error.to_string());
                None
            }
        }
    }

    /// Each object of an array, read by `each`.
    pub fn objects<T>(&mut self, name: &str, each: impl Fn(&mut Fields<'_>) -> T) -> Option<Vec<T>> {
        let items = self.typed(name, "an array", Value::as_array)?;
        let mut read = Vec::with_capacity(items.len().min(1024));
        for (index, item) in items.iter().enumerate() {
            let mut path = self.path.clone();
            path.extend([name.to_owned(), index.to_string()]);
            match item.as_object() {
                Some(object) => read.push(each(&mut Fields { object, path, problems: self.problems })),
                None => {
                    let input = bounded(item);
                    self.problems.push(FieldError {
                        kind: "type_error",
                        loc: path,
                        msg: "must be an object".to_owned(),
                        input,
                    });
                }
            }
        }
        Some(read)
    }

    /// One object, read by `read`.
    pub fn object<T>(&mut self, name: &str, read: impl FnOnce(&mut Fields<'_>) -> T) -> Option<T> {
        let object = self.typed(name, "an object", Value::as_object)?;
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Some(read(&mut Fields { object, path, problems: self.problems }))
    }
}
