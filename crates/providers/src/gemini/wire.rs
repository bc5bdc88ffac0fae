//! JSON of the answer, parsed leniently: a complete answer and a stream event are the same object.

use serde::Deserialize;
use serde_json::Value;
use ulid::Ulid;

use crate::http::Broken;
use crate::{FinishReason, ToolCall, Usage};

/// `GenerateContentResponse`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Generated {
    pub(super) candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<UsageMetadata>,
    pub(super) model_version: Option<String>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    index: Option<u32>,
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Content {
    parts: Option<Vec<Part>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    /// The text is the model's thinking, not the answer.
    thought: Option<bool>,
    function_call: Option<FunctionCall>,
}

#[derive(Debug, Deserialize)]
struct FunctionCall {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

/// `UsageMetadata`; zero counts are omitted.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageMetadata {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

/// Parses an answer or an error: an object, or a list that contains one.
pub(super) fn read(json: &[u8]) -> Result<Generated, Broken> {
    let why = match serde_json::from_slice::<Generated>(json) {
        Ok(generated) if generated.error.as_ref().is_none_or(Value::is_null) => return Ok(generated),
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let value: Value = serde_json::from_slice(json).map_err(|error| Broken::Malformed(error.to_string()))?;
    let inner = value.as_array().and_then(|list| list.first()).unwrap_or(&value);
    match inner.get("error") {
        Some(error) if !error.is_null() => Err(Broken::Reported(value)),
        _ => Err(Broken::Malformed(why)),
    }
}

impl Generated {
    /// Whether the prompt was blocked, so that there is no answer.
    pub(super) fn is_blocked(&self) -> bool {
        let reason = self.prompt_feedback.as_ref().and_then(|feedback| feedback.block_reason.as_deref());
        reason.is_some_and(|reason| !reason.is_empty() && reason != "BLOCK_REASON_UNSPECIFIED")
    }

    /// Thinking tokens are billed as part of the answer, tool-use tokens as part of the prompt.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage_metadata.as_ref()?.usage()
    }
}

impl UsageMetadata {
    /// Returns the usage; `None` without a count of the prompt.
    pub(super) fn usage(&self) -> Option<Usage> {
        let figures = self;
        let sum = |one: Option<u64>, other: Option<u64>| {
            u32::try_from(one.unwrap_or(0).saturating_add(other.unwrap_or(0))).unwrap_or(u32::MAX)
        };
        figures.prompt_token_count?;
        Some(Usage {
            prompt_tokens: sum(figures.prompt_token_count, figures.tool_use_prompt_token_count),
            completion_tokens: sum(figures.candidates_token_count, figures.thoughts_token_count),
            estimated: false,
        })
    }
}

/// A fragment of an answer.
#[derive(Debug)]
pub(super) enum AnswerPart {
    /// Never empty.
    Text(String),
    Call(ToolCall),
}

/// What an answer has contained so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AnswerContent {
    #[default]
    Nothing,
    Text,
    Calls,
}

impl AnswerContent {
    pub(super) fn and(self, part_or_error: &AnswerPart) -> Self {
        match part_or_error {
            AnswerPart::Call(_) => Self::Calls,
            AnswerPart::Text(_) if self == Self::Nothing => Self::Text,
            AnswerPart::Text(_) => self,
        }
    }

    /// Finish reason of an answer that ended without one.
    pub(super) fn plain_end(self) -> FinishReason {
        if self == Self::Calls { FinishReason::ToolCalls } else { FinishReason::Stop }
    }
}

impl Candidate {
    pub(super) fn index(&self) -> u32 {
        self.index.unwrap_or(0)
    }

    /// Takes the fragments in order, without thinking.
    pub(super) fn take_parts(&mut self) -> impl Iterator<Item = AnswerPart> + use<> {
        let parts = self.content.take().and_then(|content| content.parts).unwrap_or_default();
        parts.into_iter().filter_map(Part::part_or_error)
    }

    /// Returns the finish reason, if the answer ended.
    pub(super) fn finish_reason(&self) -> Option<&str> {
        self.finish_reason.as_deref().filter(|reason| !matches!(*reason, "" | "FINISH_REASON_UNSPECIFIED"))
    }
}

impl Part {
    fn part_or_error(self) -> Option<AnswerPart> {
        if let Some(call) = self.function_call {
            return Some(AnswerPart::Call(call.into()));
        }
        self.text.filter(|text| !text.is_empty() && self.thought != Some(true)).map(AnswerPart::Text)
    }
}

impl From<FunctionCall> for ToolCall {
    /// Models before Gemini 3 give their calls no id.
    fn from(call: FunctionCall) -> Self {
        let id = call.id.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call_{}", Ulid::generate()));
        let arguments = call.args.map_or_else(|| "{}".to_owned(), |args| args.to_string());
        Self { id, name: call.name, arguments }
    }
}

/// Maps a `finishReason`, which depends on the content of the answer so far; an error if the model failed.
///
/// A failed function call is lost, so such an answer is broken even after some text. A reason that does not concern a
/// call (`OTHER`, and future ones) breaks only an empty answer.
pub(super) fn ending(reason: &str, content_so_far: AnswerContent) -> Result<FinishReason, Broken> {
    match reason {
        "STOP" => Ok(content_so_far.plain_end()),
        "MAX_TOKENS" => Ok(FinishReason::Length),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Ok(FinishReason::ContentFilter),
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "MALFORMED_RESPONSE" => Err(failed(reason)),
        _ if content_so_far == AnswerContent::Nothing => Err(failed(reason)),
        _ => Ok(content_so_far.plain_end()),
    }
}

fn failed(reason: &str) -> Broken {
    Broken::Reported(serde_json::json!({"error": {"message": format!("the model ended with {reason}")}}))
}
