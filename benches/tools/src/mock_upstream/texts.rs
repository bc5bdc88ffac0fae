//! The responses, built once: shaped and sized as those of the provider.

use bytes::Bytes;
use serde_json::{Value, json};

const ID: &str = "chatcmpl-mock0123456789abcdefghijkl";
const MODEL: &str = "gpt-4o-mini-2024-07-18";
const CREATED: u64 = 1_760_000_000;
const PROMPT_TOKENS: usize = 19;

pub const HEALTH: Bytes = Bytes::from_static(br#"{"status":"ok"}"#);
pub const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");
pub const UNKNOWN_URL: Bytes = Bytes::from_static(
    br#"{"error":{"message":"Unknown request URL","type":"invalid_request_error","param":null,"code":"unknown_url"}}"#,
);

pub struct Texts {
    pub completion: Bytes,
    pub first: Bytes,
    pub token: Bytes,
    pub last: Bytes,
    pub usage: Bytes,
    pub models: Bytes,
    pub embedding: Bytes,
}

impl Texts {
    pub fn new(words: usize, tokens: usize) -> Self {
        let lorem = ["lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit"];
        let content = lorem.into_iter().cycle().take(words).collect::<Vec<_>>().join(" ");
        Self {
            completion: completion(&content, words),
            first: chunk(&json!({ "role": "assistant", "content": "", "refusal": null }), &Value::Null),
            token: chunk(&json!({ "content": " lorem" }), &Value::Null),
            last: chunk(&json!({}), &json!("stop")),
            usage: event(&json!({
                "id": ID, "object": "chat.completion.chunk", "created": CREATED, "model": MODEL,
                "service_tier": "default", "system_fingerprint": "fp_mock", "choices": [],
                "usage": { "prompt_tokens": PROMPT_TOKENS, "completion_tokens": tokens,
                    "total_tokens": PROMPT_TOKENS + tokens },
            })),
            models: text(&json!({ "object": "list", "data": [
                { "id": "gpt-4o-mini", "object": "model", "created": 1_721_172_741, "owned_by": "system" },
            ] })),
            embedding: text(&json!({
                "object": "list", "model": "text-embedding-3-small",
                "data": [{ "object": "embedding", "index": 0, "embedding": vec![0.012_345_6; 256] }],
                "usage": { "prompt_tokens": 8, "total_tokens": 8 },
            })),
        }
    }
}

/// Returns the body of an error with this status.
pub fn failure(status: u16) -> Bytes {
    let message = format!("mock failure {status}");
    text(&json!({ "error": { "message": message, "type": "server_error", "param": null, "code": "mock_failure" } }))
}

fn completion(content: &str, words: usize) -> Bytes {
    text(&json!({
        "id": ID, "object": "chat.completion", "created": CREATED, "model": MODEL,
        "choices": [{
            "index": 0, "logprobs": null, "finish_reason": "stop",
            "message": { "role": "assistant", "content": content, "refusal": null, "annotations": [] },
        }],
        "usage": {
            "prompt_tokens": PROMPT_TOKENS, "completion_tokens": words, "total_tokens": PROMPT_TOKENS + words,
            "prompt_tokens_details": { "cached_tokens": 0, "audio_tokens": 0 },
            "completion_tokens_details": { "reasoning_tokens": 0, "audio_tokens": 0,
                "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0 },
        },
        "service_tier": "default", "system_fingerprint": "fp_mock",
    }))
}

fn chunk(delta: &Value, finish_reason: &Value) -> Bytes {
    event(&json!({
        "id": ID, "object": "chat.completion.chunk", "created": CREATED, "model": MODEL, "service_tier": "default",
        "system_fingerprint": "fp_mock", "usage": null,
        "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason }],
    }))
}

fn event(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

fn text(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}
