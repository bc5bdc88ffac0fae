//! Requests, events and errors of an in-process chat model.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::tool::{Tool, ToolCall, Toolbox};

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Instructions of the application.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// One message of the conversation, rendered by the model's own chat template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatTurn {
    /// Author of the message.
    pub role: Role,
    /// Text of the message.
    pub content: String,
    /// Tool calls made by an assistant message.
    pub calls: Vec<ToolCall>,
}

impl ChatTurn {
    /// Creates a message that holds only text.
    pub fn text(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), calls: Vec::new() }
    }
}

/// Required form of the answer. Everything but `Text` is enforced by a grammar during sampling.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Format {
    /// Free text.
    #[default]
    Text,
    /// Any JSON object.
    JsonObject,
    /// A JSON document that conforms to this JSON Schema.
    JsonSchema(serde_json::Value),
}

/// A text generation request.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateRequest {
    /// The conversation, oldest message first.
    pub turns: Vec<ChatTurn>,
    /// Maximum number of generated tokens.
    pub max_tokens: u32,
    /// Sampling temperature; 0 is greedy.
    pub temperature: f32,
    /// Nucleus sampling threshold, 0 to 1.
    pub top_p: f32,
    /// Penalty for tokens that have already occurred.
    pub presence_penalty: f32,
    /// Penalty for tokens by how often they have occurred.
    pub frequency_penalty: f32,
    /// Random seed. The same seed, request and model give the same text when no other request runs.
    pub seed: Option<u32>,
    /// Stop sequences: generation ends before any of them, and they are not part of the text.
    pub stop: Vec<String>,
    /// Form of the text, when the answer is not a tool call.
    pub format: Format,
    /// Tools that the model may call.
    pub tools: Option<Toolbox>,
}

impl GenerateRequest {
    /// Returns the tools offered to the model.
    pub fn tools(&self) -> &[Tool] {
        self.tools.as_ref().map_or(&[], |toolbox| toolbox.tools.as_slice())
    }
}

/// Token counts by the model's own tokenizer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TokenUsage {
    /// Tokens of the prompt.
    pub prompt: u32,
    /// Tokens of the answer.
    pub completion: u32,
}

/// Why generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model ended its answer, or a stop sequence was reached.
    Stop,
    /// A limit was reached, or a tool call was cut off by a limit or a stop sequence.
    Length,
    /// The answer ends with complete tool calls.
    ToolCalls,
}

/// Event of a running generation: text and tool calls in order, then exactly one `Done` or `Failed`.
#[derive(Debug, Clone, PartialEq)]
pub enum GenerateEvent {
    /// More text; always whole UTF-8 characters.
    Delta(String),
    /// A tool call begins. Its arguments follow.
    Call {
        /// Index of the call within the answer, from 0.
        index: u32,
        /// Name of the tool.
        name: String,
    },
    /// More of a call's arguments: JSON text that is complete before the next call or before `Done` with `ToolCalls`.
    Arguments {
        /// Index of the call within the answer.
        index: u32,
        /// Fragment of the JSON text.
        json: String,
    },
    /// Generation is complete.
    Done {
        /// Why it ended.
        finish: Finish,
        /// Tokens used.
        usage: TokenUsage,
    },
    /// Generation failed.
    Failed(ModelError),
}

/// A running generation. Dropping it cancels the work within one token.
#[derive(Debug)]
pub struct Generation {
    /// Events of this generation.
    pub events: mpsc::Receiver<GenerateEvent>,
    pub(crate) cancel: CancellationToken,
}

impl Generation {
    /// Combines the receiver of a bounded channel with the cancellation token that the engine watches.
    pub fn new(events: mpsc::Receiver<GenerateEvent>, cancel: CancellationToken) -> Self {
        Self { events, cancel }
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Whether the model can serve requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ModelStatus {
    /// The files are missing or this build has no inference engine.
    Absent {
        /// Command or setting that fixes it.
        mend: String,
    },
    /// The files are being verified and loaded in the background.
    Loading {
        /// Progress, 0 to 100.
        percent: u8,
    },
    /// Requests are served.
    Ready,
    /// Loading or running failed. It is retried after a back-off, unless the files themselves are wrong.
    Failed {
        /// What failed.
        why: String,
        /// Command or setting that fixes it.
        mend: String,
    },
}

/// Description of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelInfo {
    /// Id in the manifest, such as `standard`.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Maximum number of prompt and answer tokens of one request.
    pub context: u32,
    /// Maximum number of answer tokens.
    pub max_tokens: u32,
}

/// Counters and gauges for status and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ModelStats {
    /// Requests being computed.
    pub active: usize,
    /// Requests waiting for a slot.
    pub waiting: usize,
    /// Prompt tokens computed since the start.
    pub prompt_tokens: u64,
    /// Answer tokens generated since the start.
    pub completion_tokens: u64,
    /// Number of times the engine's thread died and was restarted.
    pub restarts: u64,
}

/// Why a model rejects or fails a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The files are missing, or this build has no inference engine.
    #[error("the embedded model is not installed: {mend}")]
    Absent {
        /// Command or setting that fixes it.
        mend: String,
    },
    /// The files are still being verified or loaded.
    #[error("the embedded model is still loading ({percent} %)")]
    Loading {
        /// Progress, 0 to 100.
        percent: u8,
    },
    /// Loading or running failed.
    #[error("the embedded model failed: {why}")]
    Failed {
        /// What failed.
        why: String,
    },
    /// The queue is full.
    #[error("the embedded model is busy")]
    Busy {
        /// When to try again.
        retry_after: Duration,
    },
    /// The prompt does not fit the context.
    #[error("the prompt has {tokens} tokens; this model takes {context} with its answer")]
    ContextTooLong {
        /// Tokens of the prompt. An extremely long prompt is not counted to its end; this is then a lower bound.
        tokens: u32,
        /// Maximum number of prompt and answer tokens.
        context: u32,
    },
    /// This model cannot serve the request.
    #[error("{field}: {why}")]
    Unsupported {
        /// Path of the field in the request.
        field: Cow<'static, str>,
        /// Why its value is not supported.
        why: String,
    },
}

/// A chat model running in this process. Methods return immediately; the work is done on the engine's own thread.
pub trait ChatModel: Send + Sync + std::fmt::Debug + 'static {
    /// Returns the description of the model.
    fn info(&self) -> ModelInfo;
    /// Returns whether the model can serve now.
    fn status(&self) -> ModelStatus;
    /// Returns the current counters and gauges.
    fn stats(&self) -> ModelStats;

    /// Counts the prompt's tokens as this model sees it, chat template included; `None` while the model is not ready.
    fn count(&self, turns: &[ChatTurn], tools: &[Tool]) -> Option<u32>;

    /// Counts the tokens of a text; `None` while the model is not ready.
    fn count_text(&self, text: &str) -> Option<u32>;

    /// Queues a request.
    ///
    /// # Errors
    /// [`ModelError`] when the model is not ready, the queue is full or the request cannot be served.
    fn generate(&self, request: GenerateRequest) -> Result<Generation, ModelError>;
}
