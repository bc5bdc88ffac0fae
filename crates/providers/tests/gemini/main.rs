//! Google's Gemini API against scripted servers. The shapes are those of the published reference
//! (ai.google.dev/api/generate-content, /embeddings, /caching#FunctionDeclaration), written by hand.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

#[path = "../support/mod.rs"]
mod support;

mod embeddings;
mod faults;
mod replies;
mod requests;
mod streams;

use std::net::SocketAddr;
use std::sync::Arc;

use muster_providers::{
    Adapter, Call, ChatReply, ChatRequest, ChatStream, Fault, GeminiAdapter, HttpConfig, Secret, Usage,
};
use serde_json::{Value, json};
use support::{KEY, answering, call, events, http};

pub(crate) const FIGURES: Option<Usage> = Some(Usage { prompt_tokens: 5, completion_tokens: 2, estimated: false });

pub(crate) fn adapter_at(base_url: &str) -> GeminiAdapter {
    GeminiAdapter::new(HttpConfig::new("google", base_url).with_key(Secret::new(KEY))).unwrap()
}

pub(crate) fn adapter(addr: SocketAddr) -> GeminiAdapter {
    adapter_at(&format!("http://{addr}/v1beta"))
}

/// A call for `n` answers.
pub(crate) fn call_for(n: u32) -> Call {
    let usual = call();
    Call { request: Arc::new(ChatRequest { n, ..ChatRequest::clone(&usual.request) }), ..usual }
}

/// A candidate of these parts; no `finishReason` where `reason` is empty.
pub(crate) fn candidate(index: u32, parts: Value, reason: &str) -> Value {
    let mut candidate = json!({"index": index, "content": {"role": "model", "parts": parts}});
    if !reason.is_empty() {
        candidate["finishReason"] = reason.into();
    }
    candidate
}

pub(crate) fn usage() -> Value {
    json!({"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7})
}

/// One event of a stream.
pub(crate) fn event(chunk: &Value) -> String {
    format!("data: {chunk}\r\n\r\n")
}

/// An event with more text of the only answer.
pub(crate) fn delta(text: &str) -> String {
    event(&json!({"candidates": [candidate(0, json!([{"text": text}]), "")], "modelVersion": "m-001"}))
}

/// The event that ends the only answer.
pub(crate) fn last(text: &str, reason: &str) -> String {
    event(&json!({"candidates": [candidate(0, json!([{"text": text}]), reason)], "usageMetadata": usage()}))
}

pub(crate) async fn complete(body: &Value) -> Result<ChatReply, Fault> {
    adapter(answering(http("200 OK", "", &body.to_string())).await).complete(call()).await
}

/// A stream of these events that ends with the connection.
pub(crate) async fn open(body: &str, call: Call) -> Result<ChatStream, Fault> {
    adapter(answering(events(body)).await).stream(call).await
}

/// The fault of a call whose stream must not open.
pub(crate) async fn refused(adapter: &GeminiAdapter, call: Call) -> Fault {
    match adapter.stream(call).await {
        Err(fault) => fault,
        Ok(_) => panic!("the stream opened"),
    }
}
