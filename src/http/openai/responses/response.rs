//! Responses of the Responses API; a streamed response is filled step by step.

use muster_core::Millis;
use muster_core::ids::{IdKind, new_id};
use muster_providers::{Choice, FinishReason, ToolCall, Usage};
use serde::Serialize;
use utoipa::ToSchema;

use super::request::RepeatedFields;

/// The status of a response or of one of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    InProgress,
    Completed,
    Incomplete,
    Failed,
}

/// A response.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ResponseObject {
    /// Identifier, `resp_…`. The response is not stored.
    pub id: String,
    /// Always `response`.
    pub object: &'static str,
    /// Time of creation, Unix time in seconds.
    pub created_at: u64,
    /// Time of completion, Unix time in seconds.
    pub completed_at: Option<u64>,
    pub status: Status,
    pub error: Option<Failure>,
    pub incomplete_details: Option<Incomplete>,
    /// Identifier of the model that responded. It differs from the requested name for an alias, and where the operator
    /// allows another model in its place (`X-Muster-Fallback: model`).
    pub model: String,
    pub output: Vec<OutputItem>,
    /// Usage; null until the end.
    pub usage: Option<UsageResponses>,
    /// Always false.
    pub background: bool,
    /// Always false, whatever was requested: responses are not stored.
    pub store: bool,
    /// Always null.
    pub previous_response_id: Option<String>,
    #[serde(flatten)]
    pub repeated: RepeatedFields,
}

/// The reason for which a response failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Failure {
    pub code: String,
    pub message: String,
}

/// The reason for which a response is incomplete.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Incomplete {
    /// `max_output_tokens` or `content_filter`.
    pub reason: &'static str,
}

/// An item of the output.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputItem {
    Message(OutputMessage),
    FunctionCall(FunctionCallItem),
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OutputMessage {
    pub id: String,
    pub status: Status,
    /// Always `assistant`.
    pub role: &'static str,
    pub content: Vec<OutputText>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OutputText {
    /// Always `output_text`.
    pub r#type: &'static str,
    pub text: String,
    /// Always empty.
    #[schema(value_type = Vec<Object>)]
    pub annotations: [u8; 0],
    /// Always empty.
    #[schema(value_type = Vec<Object>)]
    pub logprobs: [u8; 0],
}

/// A function call requested by the model.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FunctionCallItem {
    pub id: String,
    /// Identifier of the call, sent back with the `function_call_output`.
    pub call_id: String,
    pub name: String,
    /// Arguments as JSON text, unchanged as the model wrote them.
    pub arguments: String,
    pub status: Status,
}

impl OutputText {
    pub fn new(text: String) -> Self {
        Self { r#type: "output_text", text, annotations: [], logprobs: [] }
    }
}

impl OutputItem {
    /// Returns a message in progress.
    pub fn message(content: Vec<OutputText>) -> Self {
        let id = new_id(IdKind::Message);
        Self::Message(OutputMessage { id, status: Status::InProgress, role: "assistant", content })
    }

    pub fn call(call: ToolCall) -> Self {
        let ToolCall { id: call_id, name, arguments } = call;
        let (id, status) = (new_id(IdKind::FunctionCall), Status::InProgress);
        Self::FunctionCall(FunctionCallItem { id, call_id, name, arguments, status })
    }

    pub fn id(&self) -> &str {
        match self {
            Self::Message(item) => &item.id,
            Self::FunctionCall(item) => &item.id,
        }
    }

    pub fn status(&mut self) -> &mut Status {
        match self {
            Self::Message(item) => &mut item.status,
            Self::FunctionCall(item) => &mut item.status,
        }
    }
}

/// Number of tokens of a call. There is no prompt cache.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UsageResponses {
    pub input_tokens: u32,
    pub input_tokens_details: InputTokensDetails,
    pub output_tokens: u32,
    pub output_tokens_details: OutputTokensDetails,
    pub total_tokens: u32,
    /// Whether the provider reported no usage, so that this server counted the tokens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct InputTokensDetails {
    pub cached_tokens: u32,
    pub cache_write_tokens: u32,
}

#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct OutputTokensDetails {
    /// Always 0: reasoning tokens are not counted separately.
    pub reasoning_tokens: u32,
}

impl From<Usage> for UsageResponses {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.prompt_tokens,
            input_tokens_details: InputTokensDetails::default(),
            output_tokens: usage.completion_tokens,
            output_tokens_details: OutputTokensDetails::default(),
            total_tokens: usage.total(),
            estimated: usage.estimated,
        }
    }
}

/// Returns the status of a response for the reason of its end.
pub fn outcome(finish: FinishReason) -> (Status, Option<Incomplete>) {
    let incomplete = |reason| (Status::Incomplete, Some(Incomplete { reason }));
    match finish {
        FinishReason::Stop | FinishReason::ToolCalls => (Status::Completed, None),
        FinishReason::Length => incomplete("max_output_tokens"),
        FinishReason::ContentFilter => incomplete("content_filter"),
    }
}

impl ResponseObject {
    /// Returns a response in progress.
    pub fn in_progress(model: String, repeated: RepeatedFields, now: Millis) -> Self {
        Self {
            id: new_id(IdKind::Response),
            object: "response",
            created_at: now.seconds(),
            completed_at: None,
            status: Status::InProgress,
            error: None,
            incomplete_details: None,
            model,
            output: Vec::new(),
            usage: None,
            background: false,
            store: false,
            previous_response_id: None,
            repeated,
        }
    }

    /// Adds a complete choice to the output.
    pub fn fill(&mut self, choice: Choice) {
        let text = Some(choice.content).filter(|text| !text.is_empty());
        self.output.extend(text.map(|text| OutputItem::message(vec![OutputText::new(text)])));
        self.output.extend(choice.tool_calls.into_iter().map(OutputItem::call));
    }

    /// Completes the response. Items in progress, of which the last may be cut off, are completed with it.
    pub fn end(&mut self, finish: FinishReason, usage: Usage, now: Millis) {
        let (status, details) = outcome(finish);
        let last = self.output.len().saturating_sub(1);
        for (at, item) in self.output.iter_mut().enumerate() {
            let item = item.status();
            if *item == Status::InProgress {
                *item = if at == last { status } else { Status::Completed };
            }
        }
        self.completed_at = (status == Status::Completed).then(|| now.seconds());
        (self.status, self.incomplete_details) = (status, details);
        self.usage = Some(usage.into());
    }

    /// Marks the response as failed; its output is kept.
    pub fn fail(&mut self, code: String, message: String) {
        for item in &mut self.output {
            let item = item.status();
            if *item == Status::InProgress {
                *item = Status::Incomplete;
            }
        }
        self.status = Status::Failed;
        self.error = Some(Failure { code, message });
    }
}
