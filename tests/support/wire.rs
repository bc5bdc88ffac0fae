//! The formats of each provider family: the same answer and the same errors in three APIs.

use std::net::SocketAddr;

use serde_json::{Value, json};

/// The API that an upstream serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    OpenAi,
    Anthropic,
    Gemini,
}

/// Prompt tokens reported by every answer.
pub const PROMPT_TOKENS: usize = 7;

impl Wire {
    /// A `[[provider]]` table for an upstream at this address, with one model.
    pub fn provider(self, address: SocketAddr, id: &str, model: &str) -> String {
        let (kind, version) = match self {
            Self::OpenAi => ("openai", "v1"),
            Self::Anthropic => ("anthropic", "v1"),
            Self::Gemini => ("gemini", "v1beta"),
        };
        format!(
            "[[provider]]\nid = \"{id}\"\nkind = \"{kind}\"\nbase_url = \"http://{address}/{version}\"\n\
             models = [\"{model}\"]\n"
        )
    }

    /// Whether a request is for a stream.
    pub fn streamed(self, path: &str, body: &Value) -> bool {
        match self {
            Self::OpenAi | Self::Anthropic => body["stream"] == json!(true),
            Self::Gemini => path.contains(":streamGenerateContent"),
        }
    }

    /// A complete answer of these words.
    pub fn whole(self, words: &[&str]) -> String {
        let (text, tokens) = (words.concat(), words.len());
        let body = match self {
            Self::OpenAi => json!({"id": "up-1", "object": "chat.completion", "created": 1, "model": "up-model",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": tokens,
                    "total_tokens": PROMPT_TOKENS + tokens}}),
            Self::Anthropic => json!({"id": "msg_up", "type": "message", "role": "assistant", "model": "up-model",
                "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": PROMPT_TOKENS, "output_tokens": tokens}}),
            Self::Gemini => json!({"candidates": [{"index": 0, "finishReason": "STOP",
                "content": {"role": "model", "parts": [{"text": text}]}}], "modelVersion": "up-model",
                "usageMetadata": {"promptTokenCount": PROMPT_TOKENS, "candidatesTokenCount": tokens,
                    "totalTokenCount": PROMPT_TOKENS + tokens}}),
        };
        body.to_string()
    }

    /// One event of a stream.
    pub fn event(self, data: &str) -> String {
        match self {
            Self::OpenAi | Self::Gemini => format!("data: {data}\n\n"),
            Self::Anthropic => {
                let kind = serde_json::from_str(data).map_or(Value::Null, |data: Value| data["type"].clone());
                format!("event: {}\ndata: {data}\n\n", kind.as_str().unwrap_or("content_block_delta"))
            }
        }
    }

    /// The events before a first delta.
    pub fn opening(self) -> String {
        match self {
            Self::OpenAi | Self::Gemini => String::new(),
            Self::Anthropic => [
                json!({"type": "message_start", "message": {"id": "msg_up", "type": "message", "role": "assistant",
                    "model": "up-model", "content": [], "stop_reason": null, "stop_sequence": null,
                    "usage": {"input_tokens": PROMPT_TOKENS, "output_tokens": 1}}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "ping"}),
            ]
            .map(|event| self.event(&event.to_string()))
            .concat(),
        }
    }

    pub fn delta(self, text: &str) -> String {
        let data = match self {
            Self::OpenAi => chunk(&json!([{"index": 0, "delta": {"content": text}, "finish_reason": null}])),
            Self::Anthropic => {
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
            }
            Self::Gemini => {
                json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]}}],
                "modelVersion": "up-model"})
            }
        };
        self.event(&data.to_string())
    }

    /// A normal end of a stream after this many tokens.
    pub fn ending(self, tokens: usize) -> String {
        let events = match self {
            Self::OpenAi => {
                let mut tail = chunk(&json!([]));
                tail["usage"] = json!({"prompt_tokens": PROMPT_TOKENS, "completion_tokens": tokens,
                    "total_tokens": PROMPT_TOKENS + tokens});
                let end = chunk(&json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]));
                vec![end.to_string(), tail.to_string(), "[DONE]".to_owned()]
            }
            Self::Anthropic => [
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                    "usage": {"output_tokens": tokens}}),
                json!({"type": "message_stop"}),
            ]
            .map(|event| event.to_string())
            .to_vec(),
            Self::Gemini => vec![
                json!({"candidates": [{"index": 0, "finishReason": "STOP"}], "modelVersion": "up-model",
                    "usageMetadata": {"promptTokenCount": PROMPT_TOKENS, "candidatesTokenCount": tokens,
                        "totalTokenCount": PROMPT_TOKENS + tokens}})
                .to_string(),
            ],
        };
        events.iter().map(|event| self.event(event)).collect()
    }

    /// An error without a status, as sent with a success status.
    pub fn exploded(self) -> &'static str {
        match self {
            Self::OpenAi => r#"{"error": {"message": "upstream exploded", "type": "server_error"}}"#,
            Self::Anthropic => {
                r#"{"type": "error", "error": {"type": "api_error", "message": "upstream exploded"}, "request_id": "up"}"#
            }
            Self::Gemini => r#"{"error": {"code": 500, "message": "upstream exploded", "status": "INTERNAL"}}"#,
        }
    }

    /// The same as an event.
    pub fn exploding(self) -> String {
        self.event(self.exploded())
    }

    /// The body of a 401: the provider rejects the operator's key.
    pub fn bad_key(self) -> &'static str {
        match self {
            Self::OpenAi => {
                r#"{"error": {"message": "bad key", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}}"#
            }
            Self::Anthropic => {
                r#"{"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}"#
            }
            Self::Gemini => r#"{"error": {"code": 401, "message": "bad key", "status": "UNAUTHENTICATED"}}"#,
        }
    }

    /// The body of a 429.
    pub fn throttled(self) -> &'static str {
        match self {
            Self::OpenAi => r#"{"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}"#,
            Self::Anthropic => r#"{"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}"#,
            Self::Gemini => r#"{"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}"#,
        }
    }

    /// The body of a 400: the prompt is too long.
    pub fn too_long(self) -> &'static str {
        match self {
            Self::OpenAi => {
                r#"{"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}"#
            }
            Self::Anthropic => {
                r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}}"#
            }
            Self::Gemini => {
                r#"{"error": {"code": 400, "message": "The input token count (9) exceeds the maximum number of tokens allowed (8).", "status": "INVALID_ARGUMENT"}}"#
            }
        }
    }
}

fn chunk(choices: &Value) -> Value {
    json!({"id": "up-1", "object": "chat.completion.chunk", "created": 1, "model": "up-model", "choices": choices})
}
