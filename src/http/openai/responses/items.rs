//! Reads a conversation in the format of the Responses API: a list of items, of which messages are one kind.

use muster_providers::{ContentPart, Image, ImageSource, Message, Role, ToolCall};
use serde_json::Value;

use crate::chat::read::{MAX_MESSAGES, image_source, joined};
use muster_request::Fields;

/// An item of the input.
#[derive(Debug)]
enum Item {
    Message(Message),
    Call(ToolCall),
    /// An item without use for another model, or a rejected one.
    Nothing,
}

/// Reads `input`: a string, or items.
pub fn input(fields: &mut Fields<'_>, name: &str) -> Option<Vec<Message>> {
    let Some(Value::Array(items)) = fields.value(name) else {
        return fields.string(name).map(|text| vec![Message::text(Role::User, text)]);
    };
    if items.is_empty() {
        fields.fail(name, "must hold at least one item");
    }
    if items.len() > MAX_MESSAGES {
        fields.fail(name, format!("must hold at most {MAX_MESSAGES} items"));
    }
    let mut messages: Vec<Message> = Vec::new();
    for item in fields.objects(name, item).unwrap_or_default() {
        match item {
            Item::Message(message) => messages.push(message),
            // The calls of one response form one message, together with the text before them.
            Item::Call(call) => match messages.last_mut() {
                Some(turn) if turn.role == Role::Assistant => turn.tool_calls.push(call),
                _ => messages.push(Message { tool_calls: vec![call], ..Message::text(Role::Assistant, "") }),
            },
            Item::Nothing => {}
        }
    }
    Some(messages)
}

fn item(fields: &mut Fields<'_>) -> Item {
    match fields.string("type").as_deref() {
        None | Some("message") => Item::Message(message(fields)),
        Some("function_call") => {
            let (id, name) = (fields.required_string("call_id"), fields.required_string("name"));
            Item::Call(ToolCall { id, name, arguments: fields.required_string("arguments") })
        }
        Some("function_call_output") => {
            let tool_call_id = Some(fields.required_string("call_id"));
            let output = parts(fields, "output");
            Item::Message(Message { content: joined(output), tool_call_id, ..Message::text(Role::Tool, "") })
        }
        // Another model cannot use this reasoning.
        Some("reasoning") => Item::Nothing,
        Some("item_reference") => {
            fields.unsupported("type", "nothing is stored here that an item could refer to: send the item itself");
            Item::Nothing
        }
        Some(other) => {
            let known = "message, function_call and function_call_output are";
            fields.unsupported("type", format!("items of type {other} are not supported; {known}"));
            Item::Nothing
        }
    }
}

fn message(fields: &mut Fields<'_>) -> Message {
    let role = fields.choice::<Role>("role");
    let role = fields.require("role", role).unwrap_or(Role::User);
    if role == Role::Tool {
        fields.fail("role", "a tool's answer is an item of type function_call_output");
    }
    let content = parts(fields, "content");
    if role != Role::User && content.iter().any(|part| matches!(part, ContentPart::Image(_))) {
        fields.fail("content", "only the user's messages hold images");
    }
    Message { content: joined(content), ..Message::text(role, "") }
}

/// Reads a field that is a string or a list of parts.
fn parts(fields: &mut Fields<'_>, name: &str) -> Vec<ContentPart> {
    let parts = match fields.value(name) {
        Some(Value::Array(_)) => fields.objects(name, part),
        _ => fields.string(name).map(|text| vec![ContentPart::Text(text)]),
    };
    fields.require(name, parts).unwrap_or_default()
}

fn part(fields: &mut Fields<'_>) -> ContentPart {
    let text = |text: String| ContentPart::Text(text);
    match fields.required_string("type").as_str() {
        "" => text(String::new()),
        "input_text" | "output_text" => text(fields.required_string("text")),
        // Text of the assistant, sent back.
        "refusal" => text(fields.required_string("refusal")),
        "input_image" => ContentPart::Image(image(fields)),
        other => {
            fields.unsupported("type", format!("content of type {other} is not supported: send text or input_image"));
            text(String::new())
        }
    }
}

fn image(fields: &mut Fields<'_>) -> Image {
    if fields.value("file_id").is_some() {
        fields.unsupported("file_id", "no files are kept here: send image_url, an address or a data URL");
    }
    let detail = fields.string("detail");
    if detail.as_deref().is_some_and(|detail| !matches!(detail, "auto" | "low" | "high")) {
        fields.fail("detail", "must be auto, low or high");
    }
    let url = if fields.value("file_id").is_some() { None } else { Some(fields.required_string("image_url")) };
    let read = url.filter(|url| !url.is_empty()).map(|url| image_source(&url));
    let source = read.and_then(|read| read.map_err(|why| fields.fail("image_url", why)).ok());
    Image { source: source.unwrap_or_else(|| ImageSource::Url(String::new())), detail }
}
