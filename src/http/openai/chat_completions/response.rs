//! Responses of chat completions in the format of OpenAI.

use muster_gateway::CompletedChat;
use muster_providers::{Choice, FinishReason, ToolCall, Usage};
use serde::Serialize;
use utoipa::ToSchema;

use crate::chat;

#[derive(Debug, Serialize, ToSchema)]
pub struct UsageB {
    pub prompt_tokens: u32,
    pub completion_tokens: u32,
    pub total_tokens: u32,
    /// Whether the provider reported no usage, so that this server counted the tokens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl From<Usage> for UsageB {
    fn from(usage: Usage) -> Self {
        let (prompt_tokens, completion_tokens, total_tokens) = chat::totals(usage);
        Self { prompt_tokens, completion_tokens, total_tokens, estimated: usage.estimated }
    }
}

/// A function call requested by the model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolCallB {
    pub id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub function: FunctionB,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct FunctionB {
    pub name: String,
    /// Arguments as JSON text, unchanged as the model wrote them.
    pub arguments: String,
}

impl From<ToolCall> for ToolCallB {
    fn from(call: ToolCall) -> Self {
        let function = FunctionB { name: call.name, arguments: call.arguments };
        Self { id: call.id, kind: "function", function }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AnswerMessage {
    /// Always `assistant`.
    pub role: &'static str,
    /// Text of the message; null if it contains only tool calls.
    pub content: Option<String>,
    /// Always null: a refusal is content with the `finish_reason` `content_filter`.
    pub refusal: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallB>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ChoiceB {
    pub index: u32,
    pub message: AnswerMessage,
    /// Reason of the end: `stop`, `length`, `tool_calls` or `content_filter`.
    #[schema(value_type = String)]
    pub finish_reason: FinishReason,
}

impl ChoiceB {
    fn new(index: u32, choice: Choice) -> Self {
        let tool_calls: Vec<_> = choice.tool_calls.into_iter().map(ToolCallB::from).collect();
        let content = Some(choice.content).filter(|text| !text.is_empty() || tool_calls.is_empty());
        let message = AnswerMessage { role: "assistant", content, refusal: None, tool_calls };
        Self { index, message, finish_reason: choice.finish }
    }
}

/// A chat completion.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatCompletion {
    pub id: String,
    /// Always `chat.completion`.
    pub object: &'static str,
    /// Unix time, in seconds.
    pub created: u64,
    /// Identifier of the model that responded. It differs from the requested name for an alias, and where the operator
    /// allows another model in its place (`X-Muster-Fallback: model`).
    pub model: String,
    pub choices: Vec<ChoiceB>,
    pub usage: UsageB,
}

impl ChatCompletion {
    pub fn new(id: String, created: u64, answer: CompletedChat) -> Self {
        let usage = UsageB::from(answer.usage);
        let choices = std::iter::once(answer.reply.first).chain(answer.reply.more);
        let choices = (0..).zip(choices).map(|(index, choice)| ChoiceB::new(index, choice)).collect();
        Self { id, object: "chat.completion", created, model: answer.model_id, choices, usage }
    }
}
