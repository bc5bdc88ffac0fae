//! Renders a conversation with tools as plain messages.
//!
//! Source: `tokenizer.chat_template` of Qwen2.5-Coder-0.5B-Instruct, verbatim, except for the system text of a
//! conversation that has none.

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value, json};

use super::{AFTER_NAME, BEFORE_NAME, CLOSE, OPEN};
use crate::chat::{ChatTurn, Role};
use crate::tool::{Tool, ToolCall};

/// System message of a conversation without one: the template's default names the model Qwen.
const DEFAULT_SYSTEM: &str = "You are a helpful assistant.";

const BEFORE_TOOLS: &str = "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are \
                            provided with function signatures within <tools></tools> XML tags:\n<tools>";
const AFTER_TOOLS: &str = "\n</tools>\n\nFor each function call, return a json object with function name and arguments \
                           within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \
                           \"arguments\": <args-json-object>}\n</tool_call>";

/// Returns system, user and assistant messages without calls, which every chat template can render.
pub(crate) fn turns_with_tools(turns: &[ChatTurn], tools: &[Tool]) -> Vec<ChatTurn> {
    let mut plain: Vec<ChatTurn> = Vec::with_capacity(turns.len() + 1);
    let mut after_result = false;
    for turn in turns {
        let is_result = turn.role == Role::Tool;
        match plain.last_mut().filter(|_| is_result && after_result) {
            // Consecutive results share a message.
            Some(last) => last.content.push_str(&format!("\n{}", result(turn))),
            None if is_result => plain.push(ChatTurn::text(Role::User, result(turn))),
            None => plain.push(ChatTurn::text(turn.role, content(turn))),
        }
        after_result = is_result;
    }
    if !tools.is_empty() && !turns.is_empty() {
        if plain.first().is_none_or(|first| first.role != Role::System) {
            plain.insert(0, ChatTurn::text(Role::System, DEFAULT_SYSTEM));
        }
        if let Some(system) = plain.first_mut() {
            system.content.push_str(&listing(tools));
        }
    }
    plain
}

fn listing(tools: &[Tool]) -> String {
    let lines: Vec<String> = tools.iter().map(|tool| format!("\n{}", signature(tool))).collect();
    format!("{BEFORE_TOOLS}{}{AFTER_TOOLS}", lines.concat())
}

/// Assembled by hand: the order of keys is that of the tools on which the models were trained.
fn signature(tool: &Tool) -> String {
    let name = spaced(&json!(tool.name));
    let description = tool.description.as_ref().map(|words| format!("\"description\": {}, ", spaced(&json!(words))));
    let parameters = spaced(&tool.parameters);
    format!(
        "{{\"type\": \"function\", \"function\": {{\"name\": {name}, {}\"parameters\": {parameters}}}}}",
        description.unwrap_or_default()
    )
}

fn content(turn: &ChatTurn) -> String {
    let text = Some(turn.content.clone()).filter(|text| !text.is_empty());
    let parts: Vec<String> = text.into_iter().chain(turn.calls.iter().map(call)).collect();
    parts.join("\n")
}

fn call(call: &ToolCall) -> String {
    // Invalid JSON, which a client may send, is rendered as a string.
    let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::from(call.arguments.as_str()));
    format!("{OPEN}{BEFORE_NAME}{}{AFTER_NAME}{}}}\n{CLOSE}", call.name, spaced(&arguments))
}

fn result(turn: &ChatTurn) -> String {
    format!("<tool_response>\n{}\n</tool_response>", turn.content)
}

/// JSON with a space after each colon and comma, as the template's `tojson` writes it.
fn spaced(value: &Value) -> String {
    let mut out = Vec::new();
    match value.serialize(&mut Serializer::with_formatter(&mut out, Spaced)) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => value.to_string(),
    }
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weather() -> Tool {
        Tool {
            name: "get_weather".to_owned(),
            description: Some("Weather now".to_owned()),
            parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        }
    }

    /// Rendered by hand from the template in the model's file.
    #[test]
    fn tools_are_rendered_in_the_system_turn_as_by_the_template() {
        let turns = [ChatTurn::text(Role::System, "Be brief."), ChatTurn::text(Role::User, "Weather in Lima?")];
        let got = turns_with_tools(&turns, &[weather()]);
        let expected = "Be brief.\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"description\": \"Weather now\", \"parameters\": {\"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"], \"type\": \"object\"}}}\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>";
        assert_eq!(got, [ChatTurn::text(Role::System, expected), turns[1].clone()]);
    }

    #[test]
    fn calls_and_results_are_rendered_as_by_the_template() {
        let call =
            |city: &str| ToolCall { name: "get_weather".to_owned(), arguments: format!("{{\"city\":\"{city}\"}}") };
        let assistant_turn =
            ChatTurn { calls: vec![call("Lima"), call("Quito")], ..ChatTurn::text(Role::Assistant, "Let me look.") };
        let turns = [
            ChatTurn::text(Role::User, "Weather?"),
            assistant_turn,
            ChatTurn::text(Role::Tool, "sun"),
            ChatTurn::text(Role::Tool, "rain"),
            ChatTurn::text(Role::User, "And now?"),
        ];
        let got = turns_with_tools(&turns, &[]);
        let rendered = "Let me look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lima\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Quito\"}}\n</tool_call>";
        let results = "<tool_response>\nsun\n</tool_response>\n<tool_response>\nrain\n</tool_response>";
        assert_eq!(
            got,
            [
                ChatTurn::text(Role::User, "Weather?"),
                ChatTurn::text(Role::Assistant, rendered),
                ChatTurn::text(Role::User, results),
                ChatTurn::text(Role::User, "And now?"),
            ]
        );
    }

    #[test]
    fn a_call_without_text_and_with_invalid_arguments_is_rendered() {
        let broken = ToolCall { name: "f".to_owned(), arguments: "{\"a\":".to_owned() };
        let turn = ChatTurn { calls: vec![broken], ..ChatTurn::text(Role::Assistant, "") };
        let got = turns_with_tools(&[turn], &[]);
        assert_eq!(got[0].content, "<tool_call>\n{\"name\": \"f\", \"arguments\": \"{\\\"a\\\":\"}\n</tool_call>");
    }

    #[test]
    fn a_conversation_without_a_system_turn_gets_one_for_its_tools() {
        let got = turns_with_tools(&[ChatTurn::text(Role::User, "hi")], &[weather()]);
        assert!(got[0].role == Role::System && got[0].content.starts_with("You are a helpful assistant.\n\n# Tools"));
        assert_eq!(got.len(), 2);
    }
}
