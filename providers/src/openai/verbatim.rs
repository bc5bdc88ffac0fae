//! A request of OpenAI's form, forwarded as it came with only what must change.
//!
//! The object is taken apart by the JSON parser, not by searching the text: a member is known by its name as any
//! escapes spell it, and what is ours stands in the result exactly once, so that no second `model` gets through.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::dialect::{Dialect, LimitField};
use crate::Call;
use crate::http::Mode;

/// The members that are ours, whatever the client sent.
const OURS: [&str; 5] = ["model", "stream", "stream_options", "max_tokens", "max_completion_tokens"];
/// What a model without sampling parameters refuses.
const SAMPLING: [&str; 5] = ["temperature", "top_p", "presence_penalty", "frequency_penalty", "seed"];

/// The client's body with the model, the stream, the length and, where it gave none, the temperature of this call.
/// `None` where the request did not come in this form or the dialect does not take it: then it is written anew.
pub(super) fn forward(call: &Call, dialect: Dialect, mode: Mode) -> Option<Vec<u8>> {
    let verbatim = call.request.verbatim.as_ref()?;
    if !dialect.takes_verbatim(&call.request) {
        return None;
    }
    let members: Members<'_> = serde_json::from_slice(verbatim).ok()?;
    let mut out = Object::with_capacity(verbatim.len() + call.upstream_model.len() + 96);
    out.put("model", &call.upstream_model)?;
    out.put("stream", &(mode == Mode::Streamed))?;
    if mode == Mode::Streamed && dialect.asks_usage() {
        out.put_raw("\"stream_options\"", &stream_options(&members)?);
    }
    if let Some(limit) = call.request.max_tokens {
        let field = match dialect.limit_field(&call.upstream_model) {
            LimitField::MaxTokens => "max_tokens",
            LimitField::MaxCompletionTokens => "max_completion_tokens",
        };
        out.put(field, &limit)?;
    }
    let client_heats = members.last("temperature").is_some_and(|value| value != "null");
    if let Some(temperature) = call.request.sampling.temperature.filter(|_| call.takes_sampling && !client_heats) {
        out.put("temperature", &temperature)?;
    }
    for Member { name, key, value } in &members.0 {
        let sampling = SAMPLING.contains(&&**name);
        let unheated = name == "temperature" && !client_heats;
        if OURS.contains(&&**name) || (sampling && !call.takes_sampling) || unheated {
            continue;
        }
        out.put_raw(key, value);
    }
    Some(out.close())
}

/// The client's options with usage asked for.
fn stream_options(members: &Members<'_>) -> Option<String> {
    let mut out = Object::with_capacity(32);
    out.put("include_usage", &true)?;
    let given = members.last("stream_options").unwrap_or("null");
    let options: Option<Members<'_>> = serde_json::from_str(given).ok()?;
    for Member { name, key, value } in options.iter().flat_map(|options| &options.0) {
        if name != "include_usage" {
            out.put_raw(key, value);
        }
    }
    String::from_utf8(out.close()).ok()
}

/// A JSON object on its way out.
struct Object {
    text: Vec<u8>,
}

impl Object {
    fn with_capacity(bytes: usize) -> Self {
        let mut text = Vec::with_capacity(bytes);
        text.push(b'{');
        Self { text }
    }

    fn put(&mut self, name: &str, value: &impl Serialize) -> Option<()> {
        self.key(format_args!("\"{name}\""))?;
        serde_json::to_writer(&mut self.text, value).ok()
    }

    /// `key` with its quotes.
    fn put_raw(&mut self, key: &str, value: &str) {
        self.comma();
        self.text.extend_from_slice(key.as_bytes());
        self.text.push(b':');
        self.text.extend_from_slice(value.as_bytes());
    }

    fn key(&mut self, key: fmt::Arguments<'_>) -> Option<()> {
        use std::io::Write;
        self.comma();
        write!(self.text, "{key}:").ok()
    }

    fn comma(&mut self) {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
    }

    fn close(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }
}

/// The members of an object, in their order, duplicates too.
struct Members<'a>(Vec<Member<'a>>);

struct Member<'a> {
    /// As it reads.
    name: Cow<'a, str>,
    /// As it was written, with its quotes.
    key: &'a str,
    value: &'a str,
}

impl Members<'_> {
    /// The value that most parsers take.
    fn last(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|member| member.name == name).map(|member| member.value)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(16);
        while let Some((key, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
            let key = key.get();
            let name = read(key).map_err(serde::de::Error::custom)?;
            members.push(Member { name, key, value: value.get() });
        }
        Ok(Members(members))
    }
}

/// The text of a JSON string.
fn read(quoted: &str) -> serde_json::Result<Cow<'_, str>> {
    match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(quoted).map(Cow::Owned),
    }
}
