//! The request that stores an entry, and checks of fields that several requests have.

use std::fmt::Display;

use muster_memory as rules;
use muster_memory::{InvalidName, MAX_KEY, MAX_NAME, MAX_TAGS, MAX_TTL, MAX_VALUE, NewEntry};
use muster_request::{Fields, Request};
use serde_json::Value;

/// An entry to store.
#[derive(Debug, Request)]
#[request(into = NewEntry, example = {
    "key": "depot/north/pump", "value": "The pump of the northern depot needs a new seal.", "tags": ["pump"],
    "ttl_seconds": 86400
})]
pub struct StoreBody {
    /// Key: 1 to 512 bytes without control characters. An entry with the same key and namespace is replaced.
    #[request(check = check_key)]
    #[schema(min_length = 1, max_length = 512)]
    key: String,
    /// Value: any text of at most 256 KiB.
    #[request(check = check_value)]
    #[schema(max_length = 262_144)]
    value: String,
    /// Tags: at most 64, each of 1 to 128 bytes without control characters and commas.
    #[request(with = tags, default)]
    #[schema(max_items = 64)]
    tags: Vec<String>,
    /// Time to live in seconds, at most ten years. Without it the entry does not expire.
    #[request(range = 1..=MAX_TTL)]
    ttl_seconds: Option<u64>,
    /// Namespace: 1 to 128 of `A-Z a-z 0-9 . _ : / -`. A namespace that the settings name as shared belongs to all
    /// callers with the scope `memory`; any other is the caller's own.
    #[request(check = check_namespace)]
    #[schema(min_length = 1, max_length = 128, default = "default")]
    namespace: Option<String>,
    /// Thread that the entry is a part of, such as a conversation, whose neighbouring entries help to find it: 1 to 128
    /// bytes. By default the thread is taken from a tag `conversation:…`, `conv:…`, `thread:…` or `session:…`.
    #[request(check = check_name)]
    #[schema(min_length = 1, max_length = 128)]
    thread: Option<String>,
    /// Importance, which raises the rank slightly.
    #[request(range = 0.0..=1.0)]
    importance: Option<f32>,
    /// Language of the value as an ISO 639-1 code, such as `de`; detected from the value by default.
    #[request(check = check_language)]
    #[schema(pattern = "^[a-z]{2}$")]
    language: Option<String>,
}

/// Checks a key, tag, thread or owner of at most `most` bytes.
fn check_bytes(text: &str, most: usize) -> Result<(), String> {
    match rules::invalid_name(text, most) {
        None => Ok(()),
        Some(InvalidName::Length) => Err(format!("must be 1 to {most} bytes")),
        Some(InvalidName::Control) => Err("must have no control characters".to_owned()),
    }
}

/// Checks a key or a prefix of keys.
pub(super) fn check_key(text: &str) -> Result<(), String> {
    check_bytes(text, MAX_KEY)
}

/// Checks a thread or an owner.
pub(super) fn check_name(text: &str) -> Result<(), String> {
    check_bytes(text, MAX_NAME)
}

fn check_tag(text: &str) -> Result<(), String> {
    check_bytes(text, MAX_NAME)?;
    if text.contains(',') { Err("must have no comma: filters put it between tags".to_owned()) } else { Ok(()) }
}

/// Checks the name of a namespace.
pub(super) fn check_namespace(text: &str) -> Result<(), String> {
    if rules::is_namespace(text) { Ok(()) } else { Err(format!("must be {}", rules::NAMESPACE)) }
}

fn check_value(text: &str) -> Result<(), String> {
    if text.len() > MAX_VALUE { Err(format!("must be at most {MAX_VALUE} bytes")) } else { Ok(()) }
}

fn check_language(code: &str) -> Result<(), &'static str> {
    let fits = code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase());
    if fits { Ok(()) } else { Err("must be an ISO 639-1 code, such as `de`") }
}

/// Reads tags: of a body an array; of a query repeated or separated by commas, without duplicates.
pub(super) fn tags(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    if fields.is_query() { query_tags(fields, name) } else { body_tags(fields, name) }
}

fn body_tags(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    let Some(items) = fields.value(name)?.as_array() else {
        fields.fail(name, "must be an array of strings");
        return None;
    };
    if items.len() > MAX_TAGS {
        fields.fail(name, format!("must be at most {MAX_TAGS}"));
        return None;
    }
    let mut tags = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let mut fail = |why: &dyn Display| fields.fail(&format!("{name}.{at}"), why.to_string());
        match item {
            Value::String(tag) => match check_tag(tag) {
                Ok(()) => tags.push(tag.clone()),
                Err(why) => fail(&why),
            },
            _ => fail(&"must be a string"),
        }
    }
    Some(tags)
}

fn query_tags(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    let mut tags: Vec<String> = Vec::new();
    for tag in fields.texts(name).flat_map(|text| text.split(',')).map(str::trim).filter(|tag| !tag.is_empty()) {
        if let Err(why) = check_tag(tag) {
            fields.fail(name, why);
            return None;
        }
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
        if tags.len() > MAX_TAGS {
            fields.fail(name, format!("must be at most {MAX_TAGS}"));
            return None;
        }
    }
    Some(tags)
}
