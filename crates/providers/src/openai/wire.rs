//! JSON of the answer, parsed leniently: the specification, and the variants that servers send.

use serde::Deserialize;
use serde_json::Value;

use crate::{FinishReason, Usage};

/// A complete completion, or one stream chunk: they differ only in `message` and `delta` (some servers send both, one
/// of them empty).
#[derive(Debug, Default, Deserialize)]
pub(super) struct Completion {
    pub(super) model: Option<String>,
    #[serde(default)]
    choices: Option<Vec<WireChoice>>,
    usage: Option<Value>,
    error: Option<Value>,
    object: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireChoice {
    #[serde(default)]
    pub(super) index: Option<u32>,
    pub(super) message: Option<MessageContent>,
    pub(super) delta: Option<MessageContent>,
    finish_reason: Option<String>,
}

/// Content of a message or a delta.
#[derive(Debug, Default, Deserialize)]
pub(super) struct MessageContent {
    content: Option<Content>,
    /// The model's refusal; for the reader this is the answer.
    refusal: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
    /// The older form of a single call.
    function_call: Option<Function>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Plain(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    /// Parts without it, such as a model's thinking, are not the answer.
    text: Option<String>,
}

/// A tool call, or a fragment of one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WireCall {
    pub(super) index: Option<u32>,
    pub(super) id: Option<String>,
    pub(super) function: Option<Function>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Function {
    pub(super) name: Option<String>,
    arguments: Option<Arguments>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Arguments {
    Text(String),
    /// Some servers send the arguments as JSON instead of text.
    Json(Value),
}

impl Completion {
    /// Whether the server reports an error with a status of success.
    pub(super) fn is_error(&self) -> bool {
        self.error.as_ref().is_some_and(|e| !e.is_null())
            || self.object.as_ref().and_then(Value::as_str) == Some("error")
    }

    /// Takes the first `requested` choices by index; one without an index counts by position.
    pub(super) fn take_choices(&mut self, requested: u32) -> impl Iterator<Item = (u32, WireChoice)> + use<> {
        let choices = self.choices.take().unwrap_or_default();
        (0..)
            .zip(choices)
            .map(|(place, choice)| (choice.index.unwrap_or(place), choice))
            .filter(move |(n, _)| *n < requested)
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        let usage = self.usage.as_ref()?;
        let count = |key| {
            let tokens = usage.get(key)?.as_u64()?;
            Some(u32::try_from(tokens).unwrap_or(u32::MAX))
        };
        Some(Usage {
            prompt_tokens: count("prompt_tokens")?,
            completion_tokens: count("completion_tokens")?,
            estimated: false,
        })
    }

    /// Whether a client that follows only the specification reads the same as this parser.
    pub(super) fn is_standard(&self) -> bool {
        let choices = self.choices.as_deref().unwrap_or_default();
        (0..).zip(choices).all(|(place, choice)| choice.index == Some(place) && choice.is_standard())
    }
}

/// How a choice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    Proper(FinishReason),
    /// `finish_reason: "error"`, sent by OpenRouter and Mistral when the model failed.
    Broken,
}

impl MessageContent {
    /// Takes the text; empty if there is none.
    pub(super) fn take_text(&mut self) -> String {
        let content = match self.content.take() {
            Some(Content::Plain(text)) => text,
            Some(Content::Parts(parts)) => parts.into_iter().filter_map(|p| p.text).collect(),
            None => String::new(),
        };
        if content.is_empty() {
            return self.refusal.take().unwrap_or_default();
        }
        content
    }

    /// Takes the tool calls or fragments; the older form is a single call.
    pub(super) fn take_calls(&mut self) -> impl Iterator<Item = WireCall> + use<> {
        let older =
            self.function_call.take().map(|function| WireCall { index: Some(0), id: None, function: Some(function) });
        self.tool_calls.take().unwrap_or_default().into_iter().chain(older)
    }

    fn is_standard(&self) -> bool {
        !matches!(self.content, Some(Content::Parts(_)))
            && self.tool_calls.iter().flatten().all(|call| {
                call.id.as_ref().is_some_and(|id| !id.is_empty())
                    && !matches!(call.function, Some(Function { arguments: Some(Arguments::Json(_)), .. }))
            })
    }
}

impl Function {
    pub(super) fn take_arguments(&mut self) -> String {
        match self.arguments.take() {
            Some(Arguments::Text(text)) => text,
            Some(Arguments::Json(Value::Null)) | None => String::new(),
            Some(Arguments::Json(value)) => value.to_string(),
        }
    }
}

impl WireChoice {
    pub(super) fn finish(&self) -> Option<Finish> {
        let reason = self.finish_reason.as_deref().filter(|r| !r.is_empty())?;
        Some(match reason {
            "length" | "max_tokens" | "model_length" => Finish::Proper(FinishReason::Length),
            "tool_calls" | "function_call" => Finish::Proper(FinishReason::ToolCalls),
            "content_filter" => Finish::Proper(FinishReason::ContentFilter),
            "error" => Finish::Broken,
            // `stop`, and the names of some servers for it: `eos`, `end_turn`, `stop_sequence`.
            _ => Finish::Proper(FinishReason::Stop),
        })
    }

    fn is_standard(&self) -> bool {
        let calls = self
            .message
            .as_ref()
            .is_some_and(|message_content| message_content.tool_calls.as_ref().is_some_and(|c| !c.is_empty()));
        let ends_so = match self.finish_reason.as_deref() {
            Some("stop") => !calls,
            Some(reason) => ["length", "tool_calls", "content_filter", "function_call"].contains(&reason),
            None => false,
        };
        ends_so && self.message.as_ref().is_some_and(MessageContent::is_standard)
    }
}

/// A stop with tool calls counts as `tool_calls`, whatever the server reports.
pub(super) fn reason(message_content: FinishReason, calls: bool) -> FinishReason {
    match message_content {
        FinishReason::Stop if calls => FinishReason::ToolCalls,
        other => other,
    }
}
