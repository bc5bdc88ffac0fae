//! The one internal form of a chat: every client dialect is parsed into it, every provider is spoken to from it.

use std::pin::Pin;
use std::time::Duration;

use futures::Stream;
use serde::{Deserialize, Serialize};

use crate::Fault;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    pub content: String,
    pub name: Option<String>,
}

/// What the answer must look like.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ResponseFormat {
    #[default]
    Text,
    JsonObject,
    JsonSchema {
        name: String,
        schema: serde_json::Value,
        strict: Option<bool>,
    },
}

/// How tokens are chosen. `None` leaves it to the provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    pub presence_penalty: Option<f32>,
    pub frequency_penalty: Option<f32>,
    pub seed: Option<i64>,
    /// At most four.
    pub stop: Vec<String>,
}

/// A chat request as the chain carries it; the model is chosen by the chain, not by this.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatRequest {
    pub messages: Vec<Message>,
    pub sampling: Sampling,
    pub max_tokens: Option<u32>,
    pub format: ResponseFormat,
    /// The caller's end user, passed on where a provider takes it.
    pub user: Option<String>,
}

/// Why the answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
}

/// Tokens of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub prompt_tokens: u32,
    pub completion_tokens: u32,
    /// The provider gave no figures: these were counted here.
    pub estimated: bool,
}

impl Usage {
    pub fn total(self) -> u32 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    pub content: String,
    pub finish: FinishReason,
    /// `None` where the provider gave no figures.
    pub usage: Option<Usage>,
    /// The name under which the provider says it answered.
    pub model: String,
}

/// A part of a streamed answer: deltas, then exactly one `Done`.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEvent {
    /// More text, never empty.
    Delta(String),
    Done {
        finish: FinishReason,
        usage: Option<Usage>,
    },
}

/// A streamed answer. Ends after `Done` or after the first `Err`; dropping it cancels the provider's work at once.
pub type ChatStream = Pin<Box<dyn Stream<Item = Result<ChatEvent, Fault>> + Send>>;

/// Bounds of each phase of one call. Keep-alives and empty deltas do not count as progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request written to the response's headers.
    pub headers: Duration,
    /// From the headers to the first content delta (or to the whole body, when not streamed).
    pub first_delta: Duration,
    pub between_deltas: Duration,
}

/// One call of one provider.
#[derive(Debug, Clone)]
pub struct Call {
    /// The provider's own name of the model.
    pub upstream_model: String,
    /// Whether the model takes sampling parameters at all; they are dropped where it does not.
    pub takes_sampling: bool,
    pub request: std::sync::Arc<ChatRequest>,
    pub timeouts: Timeouts,
    /// Passed on as `X-Request-Id` and `traceparent`.
    pub request_id: String,
    pub traceparent: Option<String>,
}
