//! Responses in the format of Anthropic.

use muster_core::ids::{IdKind, new_id};
use muster_gateway::CompletedChat;
use muster_providers::{Choice, FinishReason, ToolCall, Usage};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// A message of the assistant.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessagesAnswer {
    /// Identifier, `msg_…`.
    pub id: String,
    /// Always `message`.
    pub r#type: &'static str,
    /// Always `assistant`.
    pub role: &'static str,
    /// Identifier of the model that responded. It differs from the requested name for an alias, and where the operator
    /// allows another model in its place (`X-Muster-Fallback: model`).
    pub model: String,
    pub content: Vec<ContentBlock>,
    /// Reason of the end: `end_turn`, `max_tokens`, `tool_use` or `refusal`. Providers do not distinguish a stop
    /// sequence from a regular end, so it is `end_turn` too.
    pub stop_reason: Option<&'static str>,
    /// Always null.
    pub stop_sequence: Option<String>,
    pub usage: UsageMessages,
}

/// A block of content.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    Text {
        text: String,
    },
    ToolUse {
        /// Identifier of the call, sent back as `tool_use_id`.
        id: String,
        name: String,
        /// Arguments of the call. If the model wrote something else than a JSON object, `{"_raw": text}`.
        #[schema(value_type = Object)]
        input: Map<String, Value>,
    },
}

/// Number of tokens of a call. There is no prompt cache.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct UsageMessages {
    pub input_tokens: u32,
    pub output_tokens: u32,
    pub cache_creation_input_tokens: u32,
    pub cache_read_input_tokens: u32,
    /// Whether the provider reported no usage, so that this server counted the tokens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl From<Usage> for UsageMessages {
    fn from(usage: Usage) -> Self {
        let (input_tokens, output_tokens) = (usage.prompt_tokens, usage.completion_tokens);
        Self { input_tokens, output_tokens, estimated: usage.estimated, ..Self::default() }
    }
}

/// The number of tokens of a prompt.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenCount {
    pub input_tokens: u32,
}

/// Returns the stop reason. Some providers report a regular end for a response that contains tool calls.
pub fn stop_reason(finish: FinishReason, asks_for_tools: AsksForTools) -> &'static str {
    match (finish, asks_for_tools) {
        (FinishReason::Stop, AsksForTools::Yes) | (FinishReason::ToolCalls, _) => "tool_use",
        (FinishReason::Stop, AsksForTools::No) => "end_turn",
        (FinishReason::Length, _) => "max_tokens",
        (FinishReason::ContentFilter, _) => "refusal",
    }
}

/// Whether a response contains a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsksForTools {
    Yes,
    No,
}

impl MessagesAnswer {
    pub fn new(answer: CompletedChat) -> Self {
        Self::of(new_id(IdKind::Message), answer.model_id, answer.reply.first, answer.usage)
    }

    fn of(id: String, model: String, choice: Choice, usage: Usage) -> Self {
        let tools = if choice.tool_calls.is_empty() { AsksForTools::No } else { AsksForTools::Yes };
        let text = Some(choice.content).filter(|text| !text.is_empty()).map(|text| ContentBlock::Text { text });
        Self {
            id,
            r#type: "message",
            role: "assistant",
            model,
            content: text.into_iter().chain(choice.tool_calls.into_iter().map(tool_use)).collect(),
            stop_reason: Some(stop_reason(choice.finish, tools)),
            stop_sequence: None,
            usage: usage.into(),
        }
    }
}

fn tool_use(call: ToolCall) -> ContentBlock {
    let input = match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(input)) => input,
        // Some models write nothing at all for a tool without arguments.
        _ if call.arguments.trim().is_empty() => Map::new(),
        // Nothing is discarded: the caller sees what the model wrote and can report it to the model.
        _ => Map::from_iter([("_raw".to_owned(), json!(call.arguments))]),
    };
    ContentBlock::ToolUse { id: call.id, name: call.name, input }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(choice: Choice) -> Value {
        let usage = Usage { prompt_tokens: 7, completion_tokens: 2, estimated: false };
        serde_json::to_value(MessagesAnswer::of("msg_1".to_owned(), "m".to_owned(), choice, usage)).unwrap()
    }

    fn call(arguments: &str) -> Choice {
        let call = ToolCall { id: "call_1".to_owned(), name: "f".to_owned(), arguments: arguments.to_owned() };
        Choice { tool_calls: vec![call], ..Choice::text("", FinishReason::ToolCalls) }
    }

    #[test]
    fn a_text_is_one_block() {
        let usage = json!({ "input_tokens": 7, "output_tokens": 2, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0 });
        let whole = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{ "type": "text", "text": "hi" }], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": usage });
        assert_eq!(written(Choice::text("hi", FinishReason::Stop)), whole);
        assert_eq!(written(Choice::text("", FinishReason::Stop))["content"], json!([]));
    }

    #[test]
    fn arguments_become_an_object_and_are_not_lost() {
        for (arguments, input) in [
            ("{\"a\": [1]}", json!({ "a": [1] })),
            ("", json!({})),
            (" ", json!({})),
            ("{\"a\": ", json!({ "_raw": "{\"a\": " })),
            ("[1]", json!({ "_raw": "[1]" })),
        ] {
            let message = written(call(arguments));
            assert_eq!(
                message["content"],
                json!([{ "type": "tool_use", "id": "call_1", "name": "f", "input": input }])
            );
            assert_eq!(message["stop_reason"], "tool_use");
        }
    }

    #[test]
    fn each_finish_reason_has_its_stop_reason() {
        for (finish, reason) in [
            (FinishReason::Stop, "end_turn"),
            (FinishReason::Length, "max_tokens"),
            (FinishReason::ToolCalls, "tool_use"),
            (FinishReason::ContentFilter, "refusal"),
        ] {
            assert_eq!(written(Choice::text("x", finish))["stop_reason"], reason);
        }
        let stopped = Choice { finish: FinishReason::Stop, ..call("{}") };
        assert_eq!(written(stopped)["stop_reason"], "tool_use", "the client still has to return the result");
    }
}
