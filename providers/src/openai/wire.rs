//! The answer's JSON, read leniently: what the standard demands, in the variants that servers send.

use serde::Deserialize;
use serde_json::Value;

use crate::{FinishReason, Usage};

/// A whole completion, or one chunk of a stream: the two differ only in `message` and `delta` (and some servers send
/// both in both, one of them empty).
#[derive(Debug, Default, Deserialize)]
pub(super) struct Completion {
    pub(super) model: Option<String>,
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
    error: Option<Value>,
    object: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    index: Option<u32>,
    message: Option<Text>,
    delta: Option<Text>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Text {
    content: Option<Content>,
    /// The model declines in its own words; for the reader this is the answer.
    refusal: Option<String>,
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

impl Completion {
    /// The server reports an error under a status of success.
    pub(super) fn is_error(&self) -> bool {
        self.error.as_ref().is_some_and(|e| !e.is_null())
            || self.object.as_ref().and_then(Value::as_str) == Some("error")
    }

    /// The first alternative; others are never asked for.
    pub(super) fn take_choice(&mut self) -> Option<Choice> {
        self.choices.take()?.into_iter().find(|choice| choice.index.unwrap_or(0) == 0)
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
}

/// How a choice says that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    Proper(FinishReason),
    /// `finish_reason: "error"`, as OpenRouter and Mistral send it when the model broke.
    Broken,
}

impl Text {
    fn into_string(self) -> String {
        let content = match self.content {
            Some(Content::Plain(text)) => text,
            Some(Content::Parts(parts)) => parts.into_iter().filter_map(|p| p.text).collect(),
            None => String::new(),
        };
        if content.is_empty() {
            return self.refusal.unwrap_or_default();
        }
        content
    }
}

impl Choice {
    /// The text of a whole answer, empty where there is none; `None` where there was no message at all.
    pub(super) fn take_message(&mut self) -> Option<String> {
        self.message.take().map(Text::into_string)
    }

    /// The text of a chunk, empty where there is none.
    pub(super) fn take_delta(&mut self) -> String {
        self.delta.take().map(Text::into_string).unwrap_or_default()
    }

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
}
