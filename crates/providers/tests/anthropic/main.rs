//! Anthropic's Messages API over real sockets: requests, answers and failures.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod answers;
mod faults;
mod requests;
mod streams;
#[path = "../support/mod.rs"]
mod support;

use std::net::SocketAddr;
use std::sync::Arc;

use muster_providers::{
    AnthropicAdapter, Call, ChatDefaults, ChatRequest, ChatStream, Fault, HttpConfig, Message, Role, Secret,
};
use serde_json::{Value, json};
use support::{KEY, LONG, call_within};

fn adapter_at(base_url: &str) -> AnthropicAdapter {
    AnthropicAdapter::new(HttpConfig::new("mock", base_url).with_key(Secret::new(KEY))).unwrap()
}

fn adapter(addr: SocketAddr) -> AnthropicAdapter {
    adapter_at(&format!("http://{addr}/v1"))
}

fn asking(request: ChatRequest) -> Call {
    Call { upstream_model: "claude-sonnet-4-5".to_owned(), request: Arc::new(request), ..support::call() }
}

fn hello() -> ChatRequest {
    ChatRequest { messages: vec![Message::text(Role::User, "Hello")], ..ChatRequest::default() }
}

/// A call where one phase is short.
fn within(change: impl Fn(&mut muster_providers::Timeouts)) -> Call {
    let mut timeouts = support::call().timeouts;
    assert_eq!(timeouts.headers, LONG);
    change(&mut timeouts);
    call_within(timeouts)
}

fn refused(opened: Result<ChatStream, Fault>) -> Fault {
    match opened {
        Err(fault) => fault,
        Ok(_) => panic!("the stream opened"),
    }
}

/// An event as the provider frames it: named, and with its name in the data too.
fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

/// The beginning of a stream, as documented.
fn start() -> String {
    event(&json!({"type": "message_start", "message": {
        "id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY", "type": "message", "role": "assistant", "content": [],
        "model": "claude-sonnet-4-5-20250929", "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 25, "output_tokens": 1}}}))
}

fn text_block(index: u32) -> String {
    event(&json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}))
}

fn delta(index: u32, text: &str) -> String {
    event(&json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}))
}

fn tool_block(index: u32, id: &str, name: &str) -> String {
    event(&json!({"type": "content_block_start", "index": index,
        "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}}))
}

fn json_delta(index: u32, json: &str) -> String {
    event(&json!({"type": "content_block_delta", "index": index,
        "delta": {"type": "input_json_delta", "partial_json": json}}))
}

fn stop_block(index: u32) -> String {
    event(&json!({"type": "content_block_stop", "index": index}))
}

fn ending(reason: &str) -> String {
    event(&json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": 15}}))
}

const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
const STOP: &str = "event: message_stop\ndata: {\"type\": \"message_stop\"}\n\n";

fn error_body(kind: &str, message: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"})
        .to_string()
}
