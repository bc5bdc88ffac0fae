//! A finished span, and its form in OTLP's JSON (opentelemetry-proto, trace/v1): identifiers are hexadecimal, 64-bit
//! numbers are strings.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::context::Context;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Server = 2,
    Client = 3,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Attribute {
    Text(String),
    Number(i64),
    Texts(Vec<String>),
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

impl Span {
    pub(super) fn json(&self) -> Value {
        let Context { trace, span, parent, .. } = self.context;
        let attributes: Vec<_> = self.attributes.iter().map(|(key, value)| attribute(key, value)).collect();
        let started = self.ended.checked_sub(self.took).unwrap_or(UNIX_EPOCH);
        let mut json_value = json!({
            "traceId": format!("{trace:032x}"), "spanId": format!("{span:016x}"), "name": self.name,
            "kind": self.kind as u8, "startTimeUnixNano": nanos(started), "endTimeUnixNano": nanos(self.ended),
            "attributes": attributes,
            "status": if self.failed { json!({ "code": 2 }) } else { json!({}) },
        });
        if let (Some(parent), Some(json_value)) = (parent, json_value.as_object_mut()) {
            json_value.insert("parentSpanId".to_owned(), format!("{parent:016x}").into());
        }
        json_value
    }
}

/// Formats a time for OTLP's JSON.
pub(super) fn nanos(at: SystemTime) -> String {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

pub(super) fn attribute(key: &str, value: &Attribute) -> Value {
    let value = match value {
        Attribute::Text(text) => json!({ "stringValue": text }),
        Attribute::Number(number) => json!({ "intValue": number.to_string() }),
        Attribute::Texts(texts) => {
            let values: Vec<_> = texts.iter().map(|text| json!({ "stringValue": text })).collect();
            json!({ "arrayValue": { "values": values } })
        }
    };
    json!({ "key": key, "value": value })
}
