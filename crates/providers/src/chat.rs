//! Provider-independent form of chats: every client dialect is parsed into it, and every adapter encodes from it.

use std::borrow::Cow;
use std::pin::Pin;

use bytes::Bytes;
use futures::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Fault;

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of the application.
    System,
    /// Instructions of the developer; `system` where a provider does not know it.
    Developer,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Author of the message.
    pub role: Role,
    /// Content; empty for an assistant message that only calls tools.
    pub content: Content,
    /// Name of the author, if known.
    pub name: Option<String>,
    /// Tool calls made by an assistant message.
    pub tool_calls: Vec<ToolCall>,
    /// For a tool message: id of the call that it answers.
    pub tool_call_id: Option<String>,
}

impl Message {
    /// Creates a text message.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        let content = Content::Text(text.into());
        Self { role, content, name: None, tool_calls: Vec::new(), tool_call_id: None }
    }
}

/// Content of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Parts in order; at least one.
    Parts(Vec<ContentPart>),
}

impl Content {
    /// Returns the text, with parts concatenated and images omitted.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(_) => self.texts().collect::<Vec<_>>().concat().into(),
        }
    }

    /// Iterates over the text parts without copying.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (whole, parts) = match self {
            Self::Text(text) => (Some(text.as_str()), [].as_slice()),
            Self::Parts(parts) => (None, parts.as_slice()),
        };
        whole.into_iter().chain(parts.iter().filter_map(|part| match part {
            ContentPart::Text(text) => Some(text.as_str()),
            ContentPart::Image(_) => None,
        }))
    }

    /// Iterates over the images.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        let parts = match self {
            Self::Text(_) => [].as_slice(),
            Self::Parts(parts) => parts.as_slice(),
        };
        parts.iter().filter_map(|part| match part {
            ContentPart::Image(image) => Some(image),
            ContentPart::Text(_) => None,
        })
    }

    /// Returns whether there is neither text nor image.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.is_empty(),
        }
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentPart {
    /// Text.
    Text(String),
    /// An image.
    Image(Image),
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Where the image is.
    pub source: ImageSource,
    /// `auto`, `low` or `high`, if set.
    pub detail: Option<String>,
}

/// Location of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// `http` or `https` URL that the provider fetches.
    Url(String),
    /// Inline data.
    Data {
        /// Media type such as `image/png`.
        media_type: String,
        /// Standard base64 with padding; validated by the HTTP layer.
        base64: String,
    },
}

/// A function that the model may request its caller to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Function name.
    pub name: String,
    /// Description for the model.
    pub description: Option<String>,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
    /// Whether the arguments must follow the schema strictly.
    pub strict: Option<bool>,
}

/// Whether and which tools must be called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool.
    None,
    /// At least one call of any tool.
    Required,
    /// This tool.
    Named(String),
}

/// A tool call made by the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Id that links the tool's result to this call; unique within the conversation.
    pub id: String,
    /// Function name.
    pub name: String,
    /// Arguments as JSON text from the model, which may be invalid.
    pub arguments: String,
}

/// A fragment of a tool call in a streamed answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolDelta {
    /// Index of the call within the answer, from 0.
    pub index: u32,
    /// Id of the call, in its first fragment.
    pub id: Option<String>,
    /// Function name, in its first fragment.
    pub name: Option<String>,
    /// More of the arguments' JSON text.
    pub arguments: String,
}

/// Required form of the answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ResponseFormat {
    /// Free text.
    #[default]
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that conforms to a schema.
    JsonSchema {
        /// Name of the schema.
        name: String,
        /// The JSON Schema.
        schema: Value,
        /// Whether the answer must follow the schema strictly.
        strict: Option<bool>,
    },
}

impl ResponseFormat {
    /// Creates the format of an answer that must follow a schema strictly.
    pub fn answer(schema: Value) -> Self {
        Self::JsonSchema { name: "answer".to_owned(), schema, strict: Some(true) }
    }
}

/// Sampling parameters. `None` leaves them to the provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    /// Temperature, 0 to 2.
    pub temperature: Option<f32>,
    /// Nucleus sampling threshold, 0 to 1.
    pub top_p: Option<f32>,
    /// Penalty for tokens that have already occurred.
    pub presence_penalty: Option<f32>,
    /// Penalty for tokens by how often they have occurred.
    pub frequency_penalty: Option<f32>,
    /// Number of the most probable tokens that are considered.
    pub top_k: Option<u32>,
    /// Random seed.
    pub seed: Option<i64>,
    /// Stop sequences, at most four.
    pub stop: Vec<String>,
}

/// Values of this server for what the client left open. They are sent only to models for which they are suitable.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ChatDefaults {
    /// Maximum number of answer tokens.
    pub max_tokens: Option<u32>,
    /// Temperature, 0 to 2.
    pub temperature: Option<f32>,
}

/// A chat request, without its model: the gateway chooses the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatRequest {
    /// The conversation, oldest message first.
    pub messages: Vec<Message>,
    /// Sampling parameters.
    pub sampling: Sampling,
    /// Maximum number of answer tokens as requested; `None` leaves it to `defaults`, then to the provider.
    pub max_tokens: Option<u32>,
    /// What applies where the client left it open.
    pub defaults: ChatDefaults,
    /// How much a model that thinks should think, such as `low`; of no effect on others.
    pub effort: Option<String>,
    /// Required form of the answer.
    pub format: ResponseFormat,
    /// Id of the caller's end user, forwarded where a provider accepts it.
    pub user: Option<String>,
    /// Tools that the model may call.
    pub tools: Vec<Tool>,
    /// Whether and which tools must be called.
    pub tool_choice: ToolChoice,
    /// Whether one answer may contain several tool calls; `None` leaves it to the provider.
    pub parallel_tool_calls: Option<bool>,
    /// Number of answers, 1 to 4; 0 counts as 1.
    pub n: u32,
    /// The request as its client sent it, a JSON object in OpenAI's form. A provider with that wire protocol forwards
    /// it with only the necessary changes, so that fields unknown to us arrive too. Set only by the HTTP route that
    /// reads that form; answers may then be verbatim too.
    pub verbatim: Option<Bytes>,
    /// A field of the request that this form cannot represent: only a provider that gets the request verbatim honours
    /// it; any other would answer a different request.
    pub unsupported_field: Option<Cow<'static, str>>,
    /// Names of members that are in no standard list: forwarded only to a provider whose settings name them.
    pub extensions: Vec<String>,
    /// Bytes of the members that are forwarded and that this form cannot represent, for counting.
    pub unparsed_bytes: usize,
}

impl ChatRequest {
    /// Returns the number of answers, at least one.
    pub fn choices(&self) -> u32 {
        self.n.max(1)
    }

    /// Returns how many tools one answer may call.
    pub fn max_calls(&self) -> usize {
        if self.parallel_tool_calls == Some(false) { 1 } else { usize::MAX }
    }

    /// Returns the maximum number of tokens of one answer that is requested of a model which `reasons` or does not;
    /// `None` if that is left to the provider.
    pub fn max_tokens_at(&self, reasons: bool) -> Option<u32> {
        self.max_tokens.or(self.defaults.max_tokens.filter(|_| !reasons))
    }

    /// Returns the first sampling parameter that the client sent and that changes the answer of a model that takes it.
    pub fn sampling_field(&self) -> Option<&'static str> {
        let Sampling { temperature, top_p, presence_penalty, frequency_penalty, .. } = self.sampling;
        let fields = [
            ("temperature", temperature, 1.0),
            ("top_p", top_p, 1.0),
            ("presence_penalty", presence_penalty, 0.0),
            ("frequency_penalty", frequency_penalty, 0.0),
        ];
        let changes = |(_, value, neutral): &(_, Option<f32>, f32)| value.is_some_and(|value| value != *neutral);
        fields.into_iter().find(changes).map(|(name, ..)| name)
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// Natural end or stop sequence.
    Stop,
    /// Token limit.
    Length,
    /// Tool calls.
    ToolCalls,
    /// Content filter.
    ContentFilter,
}

/// Token counts of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of the answers.
    pub completion_tokens: u32,
    /// Counted here, because the provider reported no usage.
    pub estimated: bool,
}

impl Usage {
    /// Returns prompt and completion tokens together; saturates.
    pub fn total(self) -> u32 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }

    /// Returns the usage of two calls together; saturates.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            prompt_tokens: self.prompt_tokens.saturating_add(other.prompt_tokens),
            completion_tokens: self.completion_tokens.saturating_add(other.completion_tokens),
            estimated: self.estimated || other.estimated,
        }
    }
}

/// One of the requested answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Text of the answer.
    pub content: String,
    /// Tool calls of the answer.
    pub tool_calls: Vec<ToolCall>,
    /// Why the answer ended.
    pub finish: FinishReason,
}

impl Choice {
    /// Creates a text answer.
    pub fn text(content: impl Into<String>, finish: FinishReason) -> Self {
        Self { content: content.into(), tool_calls: Vec::new(), finish }
    }
}

/// A complete reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    /// The first answer.
    pub first: Choice,
    /// Further answers, in order, if several were requested.
    pub more: Vec<Choice>,
    /// Usage as reported by the provider, if it was.
    pub usage: Option<Usage>,
    /// Model name reported by the provider.
    pub model: String,
    /// The reply as the provider sent it, a JSON object in OpenAI's form; only if the request was verbatim.
    pub verbatim: Option<Bytes>,
}

impl ChatReply {
    /// Creates a reply with a single text answer.
    pub fn text(content: impl Into<String>, finish: FinishReason, usage: Option<Usage>, model: String) -> Self {
        Self { first: Choice::text(content, finish), more: Vec::new(), usage, model, verbatim: None }
    }

    /// Iterates over all answers, in order.
    pub fn choices(&self) -> impl Iterator<Item = &Choice> {
        std::iter::once(&self.first).chain(&self.more)
    }
}

/// Event of a streamed answer: deltas, then exactly one `Done`.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEvent {
    /// More content.
    Delta(Delta),
    /// End of all answers.
    Done {
        /// Why the first answer ended.
        finish: FinishReason,
        /// Usage as reported by the provider, if it was.
        usage: Option<Usage>,
    },
}

impl ChatEvent {
    /// Creates a text delta of the first answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Delta(Delta::Text { choice: 0, text: text.into() })
    }
}

/// More content of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// More text; never empty.
    Text {
        /// Index of the answer, from 0.
        choice: u32,
        /// The text.
        text: String,
    },
    /// A fragment of a tool call.
    Tool {
        /// Index of the answer, from 0.
        choice: u32,
        /// The fragment.
        call: ToolDelta,
    },
    /// End of a further answer; the first one ends with `Done`.
    Finish {
        /// Index of the answer.
        choice: u32,
        /// Why it ended.
        finish: FinishReason,
    },
    /// More text as the provider sent it; only if the request was verbatim.
    Verbatim(Verbatim),
}

impl Delta {
    /// Returns the text of the delta, if any.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text { text, .. } => Some(Cow::Borrowed(text)),
            Self::Verbatim(chunk) => Some(Cow::Owned(chunk.text())),
            Self::Tool { .. } | Self::Finish { .. } => None,
        }
    }
}

/// A chunk of a streamed answer in OpenAI's form that contains only text: no end, no usage, no tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verbatim {
    /// The value of its `choices`, a JSON array.
    pub choices: Bytes,
    /// Its text, JSON-escaped without the quotes, for counting.
    pub escaped: Bytes,
}

impl Verbatim {
    /// Returns the decoded text.
    pub fn text(&self) -> String {
        let mut quoted = Vec::with_capacity(self.escaped.len() + 2);
        quoted.push(b'"');
        quoted.extend_from_slice(&self.escaped);
        quoted.push(b'"');
        // The parser has already read it as a JSON string.
        serde_json::from_slice(&quoted).unwrap_or_default()
    }
}

/// A streamed answer. Ends after `Done` or after the first `Err`; dropping it cancels the provider's call immediately.
pub type ChatStream = Pin<Box<dyn Stream<Item = Result<ChatEvent, Fault>> + Send>>;
