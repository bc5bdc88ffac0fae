//! What a chat model in this process can be asked, and what it answers.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::tool::{Tool, ToolCall, Toolbox};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// One turn of the conversation, rendered by the model's own chat template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub role: Role,
    pub content: String,
    /// Of an assistant's turn: the calls that it made.
    pub calls: Vec<ToolCall>,
}

impl Turn {
    /// A turn of text.
    pub fn text(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), calls: Vec::new() }
    }
}

/// What the text must look like; anything but `Text` is enforced by a grammar while sampling.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Format {
    #[default]
    Text,
    /// Any JSON object.
    JsonObject,
    /// A document of this JSON Schema.
    JsonSchema(serde_json::Value),
}

/// One request for text.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateRequest {
    pub turns: Vec<Turn>,
    /// Upper bound of generated tokens.
    pub max_tokens: u32,
    /// 0 is greedy.
    pub temperature: f32,
    pub top_p: f32,
    pub presence_penalty: f32,
    pub frequency_penalty: f32,
    /// The same seed, request and model give the same text when run alone.
    pub seed: Option<u32>,
    /// Generation ends before any of these; they are not part of the text.
    pub stop: Vec<String>,
    /// Of the text, where the answer is no call.
    pub format: Format,
    pub tools: Option<Toolbox>,
}

impl GenerateRequest {
    /// The tools that the model is told of.
    pub fn tools(&self) -> &[Tool] {
        self.tools.as_ref().map_or(&[], |toolbox| toolbox.tools.as_slice())
    }
}

/// Exact counts by the model's own tokenizer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TokenUsage {
    pub prompt: u32,
    pub completion: u32,
}

/// Why the text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Stop,
    /// A bound was reached; also where it, or a stop sequence, cut a call.
    Length,
    /// The answer ends with calls, all of them whole.
    ToolCalls,
}

/// What a running generation says, in order: text and calls, then exactly one `Done` or `Failed`.
#[derive(Debug, Clone, PartialEq)]
pub enum GenerateEvent {
    /// More text, always whole UTF-8 characters.
    Delta(String),
    /// A call begins: which of the answer's calls, from 0. Its arguments follow.
    Call {
        index: u32,
        name: String,
    },
    /// More of a call's arguments, a JSON text that is whole before the next call or `Done` with `ToolCalls`.
    Arguments {
        index: u32,
        json: String,
    },
    Done {
        finish: Finish,
        usage: TokenUsage,
    },
    Failed(ModelError),
}

/// A running generation. Dropping it cancels within one token.
#[derive(Debug)]
pub struct Generation {
    pub events: mpsc::Receiver<GenerateEvent>,
    pub(crate) cancel: CancellationToken,
}

impl Generation {
    /// Pairs the reader's end of a bounded channel with the token that the engine watches.
    pub fn new(events: mpsc::Receiver<GenerateEvent>, cancel: CancellationToken) -> Self {
        Self { events, cancel }
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Whether the model can serve now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Status {
    /// The files are not there, or this build has no engine; `mend` is the command or setting that helps.
    Absent {
        mend: String,
    },
    /// Being checked and loaded in the background.
    Loading {
        percent: u8,
    },
    Ready,
    /// Loading or running failed; it is tried again after a back-off unless the files themselves are wrong.
    Failed {
        why: String,
        mend: String,
    },
}

/// What a model is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelInfo {
    /// The manifest's id, such as `standard`.
    pub id: String,
    pub name: String,
    /// Tokens of prompt and answer together, for one request.
    pub context: u32,
    pub max_tokens: u32,
}

/// Figures for status and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ModelStats {
    pub active: usize,
    pub waiting: usize,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    /// Times the engine's thread died and was started again.
    pub restarts: u64,
}

/// Why a model refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("the embedded model is not installed: {mend}")]
    Absent { mend: String },
    #[error("the embedded model is still loading ({percent} %)")]
    Loading { percent: u8 },
    #[error("the embedded model failed: {why}")]
    Failed { why: String },
    /// The waiting line is full.
    #[error("the embedded model is busy")]
    Busy { retry_after: Duration },
    /// A prompt that is far too long is not counted to its end: `tokens` is then what it has at least.
    #[error("the prompt has {tokens} tokens; this model takes {context} with its answer")]
    ContextTooLong { tokens: u32, context: u32 },
    /// The request cannot be served by this model: which field, and why.
    #[error("{field}: {why}")]
    Unsupported { field: Cow<'static, str>, why: String },
}

/// A chat model in this process. Calls return at once; the work happens on the engine's own thread.
pub trait ChatModel: Send + Sync + std::fmt::Debug + 'static {
    fn info(&self) -> ModelInfo;
    fn status(&self) -> Status;
    fn stats(&self) -> ModelStats;

    /// Tokens of the prompt as this model sees it, template included; `None` while it is not ready.
    fn count(&self, turns: &[Turn], tools: &[Tool]) -> Option<u32>;

    /// Tokens of a text; `None` while it is not ready.
    fn count_text(&self, text: &str) -> Option<u32>;

    /// Queues a request.
    fn generate(&self, request: GenerateRequest) -> Result<Generation, ModelError>;
}
