//! A finished span, and its form in OTLP's JSON (opentelemetry-proto, trace/v1): identifiers are hexadecimal, 64-bit
//! numbers are strings.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

use super::context::Context;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Server = 2,
    Client = 3,
}

/// The value of an attribute, serialized as OTLP's `AnyValue`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) enum Attribute {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue", serialize_with = "as_text")]
    Number(i64),
    #[serde(rename = "arrayValue", serialize_with = "as_array")]
    Texts(Vec<String>),
}

fn as_text<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

fn as_array<S: Serializer>(texts: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Element<'a> {
        #[serde(rename = "stringValue")]
        text: &'a str,
    }
    #[derive(Serialize)]
    struct Array<'a> {
        values: Vec<Element<'a>>,
    }
    Array { values: texts.iter().map(|text| Element { text }).collect() }.serialize(serializer)
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u32> for Attribute {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

/// A finished span.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) context: Context,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) ended: SystemTime,
    pub(super) took: Duration,
    pub(super) attributes: Vec<(&'static str, Attribute)>,
    pub(super) failed: bool,
}

/// A span in OTLP's JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpanJson<'a> {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: &'a str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<KeyValue<'a>>,
    status: Status,
}

#[derive(Serialize)]
struct Status {
    /// 2 is an error; absent means unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
}

/// An attribute in OTLP's JSON.
#[derive(Serialize)]
pub(super) struct KeyValue<'a> {
    pub(super) key: &'a str,
    pub(super) value: &'a Attribute,
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Context { trace, span, parent, .. } = self.context;
        SpanJson {
            trace_id: format!("{trace:032x}"),
            span_id: format!("{span:016x}"),
            parent_span_id: parent.map(|parent| format!("{parent:016x}")),
            name: &self.name,
            kind: self.kind as u8,
            start_time_unix_nano: nanos(self.ended.checked_sub(self.took).unwrap_or(UNIX_EPOCH)),
            end_time_unix_nano: nanos(self.ended),
            attributes: self.attributes.iter().map(|(key, value)| KeyValue { key, value }).collect(),
            status: Status { code: self.failed.then_some(2) },
        }
        .serialize(serializer)
    }
}

/// Formats a time for OTLP's JSON.
pub(super) fn nanos(at: SystemTime) -> String {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
