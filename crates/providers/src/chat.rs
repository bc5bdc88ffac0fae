//! The one internal form of a chat: every client dialect is parsed into it, every provider is spoken to from it.

use std::borrow::Cow;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// Empty where an assistant's turn has only tool calls.
    pub content: Content,
    pub name: Option<String>,
    /// Of an assistant's turn: the tools that it asked for.
    pub tool_calls: Vec<ToolCall>,
    /// Of a tool's turn: the call that this answers.
    pub tool_call_id: Option<String>,
}

impl Message {
    /// A turn of plain text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        let content = Content::Text(text.into());
        Self { role, content, name: None, tool_calls: Vec::new(), tool_call_id: None }
    }
}

/// What a turn says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Text(String),
    /// In the order given; at least one.
    Parts(Vec<Part>),
}

impl Content {
    /// Its text, the parts joined; images are left out.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(_) => self.texts().collect::<Vec<_>>().concat().into(),
        }
    }

    /// The pieces of its text, without copying.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (whole, parts) = match self {
            Self::Text(text) => (Some(text.as_str()), [].as_slice()),
            Self::Parts(parts) => (None, parts.as_slice()),
        };
        whole.into_iter().chain(parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Image(_) => None,
        }))
    }

    pub fn images(&self) -> impl Iterator<Item = &Image> {
        let parts = match self {
            Self::Text(_) => [].as_slice(),
            Self::Parts(parts) => parts.as_slice(),
        };
        parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image),
            Part::Text(_) => None,
        })
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.is_empty(),
        }
    }
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Image(Image),
}

/// A picture to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub source: ImageSource,
    /// `auto`, `low` or `high`, where the caller said so.
    pub detail: Option<String>,
}

/// Where a picture is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// To be fetched by the provider: `http` or `https`.
    Url(String),
    Data {
        /// Such as `image/png`.
        media_type: String,
        /// Standard base64 with padding; checked by the edge.
        base64: String,
    },
}

/// A function that the model may ask the caller to call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: Option<String>,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
    pub strict: Option<bool>,
}

/// Whether and which tools are to be asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As the model sees fit.
    #[default]
    Auto,
    None,
    /// At least one, whichever.
    Required,
    Named(String),
}

/// A tool that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Ties the tool's answer to this call; unique within the conversation.
    pub id: String,
    pub name: String,
    /// JSON text, as the model wrote it: it may be no valid JSON.
    pub arguments: String,
}

/// A piece of a tool call of a streamed answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolDelta {
    /// Which of the answer's calls, from 0.
    pub index: u32,
    /// In the first piece of a call.
    pub id: Option<String>,
    /// In the first piece of a call.
    pub name: Option<String>,
    /// More of the arguments' JSON text.
    pub arguments: String,
}

/// What the answer must look like.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ResponseFormat {
    #[default]
    Text,
    JsonObject,
    JsonSchema {
        name: String,
        schema: Value,
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
    pub tools: Vec<Tool>,
    pub tool_choice: ToolChoice,
    /// Whether one answer may ask for several tools; `None` leaves it to the provider.
    pub parallel_tool_calls: Option<bool>,
    /// Answers wanted: 1 to 4; 0 is taken as 1.
    pub n: u32,
    /// The request as its client sent it, in OpenAI's form, a JSON object: a provider of that wire forwards it with
    /// only what must change, so that fields unknown to us arrive too. Set only by the edge that reads that form, and
    /// then answers may come verbatim too.
    pub verbatim: Option<Bytes>,
    /// A field that was set and has no place in this form: only a provider that gets the request verbatim honours it,
    /// any other would answer something else than what was asked for.
    pub beyond: Option<&'static str>,
}

impl ChatRequest {
    /// Answers wanted, at least one.
    pub fn choices(&self) -> u32 {
        self.n.max(1)
    }
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

/// One answer of those that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub content: String,
    pub tool_calls: Vec<ToolCall>,
    pub finish: FinishReason,
}

impl Choice {
    /// An answer of plain text.
    pub fn text(content: impl Into<String>, finish: FinishReason) -> Self {
        Self { content: content.into(), tool_calls: Vec::new(), finish }
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    pub first: Choice,
    /// The further ones where several were asked for, in order.
    pub more: Vec<Choice>,
    /// `None` where the provider gave no figures.
    pub usage: Option<Usage>,
    /// The name under which the provider says it answered.
    pub model: String,
    /// The answer as the provider sent it, in OpenAI's form, a whole JSON object; only where the request was verbatim.
    pub verbatim: Option<Bytes>,
}

impl ChatReply {
    /// A single answer of plain text.
    pub fn text(content: impl Into<String>, finish: FinishReason, usage: Option<Usage>, model: String) -> Self {
        Self { first: Choice::text(content, finish), more: Vec::new(), usage, model, verbatim: None }
    }

    /// All answers, in order.
    pub fn choices(&self) -> impl Iterator<Item = &Choice> {
        std::iter::once(&self.first).chain(&self.more)
    }
}

/// A part of a streamed answer: deltas, then exactly one `Done`.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEvent {
    Delta(Delta),
    /// The end of all answers.
    Done {
        /// Of the first answer.
        finish: FinishReason,
        usage: Option<Usage>,
    },
}

impl ChatEvent {
    /// More text of the first answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Delta(Delta::Text { choice: 0, text: text.into() })
    }
}

/// More of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Never empty.
    Text {
        /// Which answer, from 0.
        choice: u32,
        text: String,
    },
    Tool {
        choice: u32,
        call: ToolDelta,
    },
    /// One of the further answers has ended; the first one ends with `Done`.
    Finish {
        choice: u32,
        finish: FinishReason,
    },
    /// More text as the provider sent it; only where the request was verbatim.
    Verbatim(Verbatim),
}

impl Delta {
    /// The text that it brings, where it brings any.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text { text, .. } => Some(Cow::Borrowed(text)),
            Self::Verbatim(chunk) => Some(Cow::Owned(chunk.text())),
            Self::Tool { .. } | Self::Finish { .. } => None,
        }
    }
}

/// A chunk of a streamed answer in OpenAI's form that holds nothing but more text: no end, no usage, no tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verbatim {
    /// The value of its `choices`, a JSON array.
    pub choices: Bytes,
    /// Its text, still escaped as in JSON, without the quotes: for counting.
    pub escaped: Bytes,
}

impl Verbatim {
    /// Its text.
    pub fn text(&self) -> String {
        let mut quoted = Vec::with_capacity(self.escaped.len() + 2);
        quoted.push(b'"');
        quoted.extend_from_slice(&self.escaped);
        quoted.push(b'"');
        // It was read as a JSON string before.
        serde_json::from_slice(&quoted).unwrap_or_default()
    }
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

/// Texts to be turned into vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbedRequest {
    /// 1 to 2,048.
    pub inputs: Vec<EmbedInput>,
    /// The length wanted of each vector, where the model can be cut.
    pub dimensions: Option<u32>,
    pub user: Option<String>,
}

/// A text to be turned into a vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbedInput {
    Text(String),
    /// Already in the tokens of the provider's model.
    Tokens(Vec<u32>),
}

/// The vectors, in the order of the inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbedReply {
    pub vectors: Vec<Vec<f32>>,
    /// `None` where the provider gave no figures. An embedding has no completion tokens.
    pub usage: Option<Usage>,
    /// The name under which the provider says it answered.
    pub model: String,
}

/// One call of one provider for vectors.
#[derive(Debug, Clone)]
pub struct EmbedCall {
    /// The provider's own name of the model.
    pub upstream_model: String,
    pub request: std::sync::Arc<EmbedRequest>,
    pub timeouts: Timeouts,
    /// Passed on as `X-Request-Id` and `traceparent`.
    pub request_id: String,
    pub traceparent: Option<String>,
}
