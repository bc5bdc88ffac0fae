//! Reads a conversation in the format of Anthropic: messages of blocks, with the results of tools in user messages.

use muster_providers::{ContentPart, Image, Message, Role, ToolCall};
use serde::Deserialize;
use serde_json::Value;

use crate::chat::read::{check_count, image_data, image_source, joined};
use muster_request::Fields;

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Speaker {
    User,
    Assistant,
    System,
}

impl Speaker {
    fn role(self) -> Role {
        match self {
            Self::User => Role::User,
            Self::Assistant => Role::Assistant,
            Self::System => Role::System,
        }
    }
}

/// A block of a message.
#[derive(Debug)]
enum Block {
    Part(ContentPart),
    ToolUse(ToolCall),
    /// A `tool` message in the internal form.
    ToolResult(Message),
    /// A block without use for another model, or a rejected one.
    Nothing,
}

/// Reads `system`: a string or text blocks.
pub fn system(fields: &mut Fields<'_>, name: &str) -> Option<Message> {
    let text = match fields.value(name) {
        Some(Value::Array(_)) => fields.objects(name, text_block).map(|texts| texts.join("\n\n")),
        _ => fields.string(name),
    };
    text.filter(|text| !text.is_empty()).map(|text| Message::text(Role::System, text))
}

fn text_block(fields: &mut Fields<'_>) -> String {
    match fields.required_string("type").as_str() {
        "" | "text" => fields.required_string("text"),
        other => {
            fields.unsupported("type", format!("blocks of type {other} are not supported here: send text"));
            String::new()
        }
    }
}

/// Reads `messages`.
pub fn turns(fields: &mut Fields<'_>, name: &str) -> Option<Vec<Message>> {
    let turns = fields.objects(name, turn)?;
    check_count(fields, name, turns.len());
    Some(turns.into_iter().flatten().collect())
}

fn turn(fields: &mut Fields<'_>) -> Vec<Message> {
    let speaker = fields.choice::<Speaker>("role");
    let speaker = fields.require("role", speaker).unwrap_or(Speaker::User);
    let blocks = match fields.value("content") {
        Some(Value::Array(_)) => fields.objects("content", |fields| block(fields, speaker)),
        _ => fields.string("content").map(|text| vec![Block::Part(ContentPart::Text(text))]),
    };
    let blocks = fields.require("content", blocks).unwrap_or_default();
    messages(speaker, blocks)
}

/// Orders the results of tools before other content of the user, because they answer the previous message.
fn messages(speaker: Speaker, blocks: Vec<Block>) -> Vec<Message> {
    let (mut parts, mut tool_calls, mut messages) = (Vec::new(), Vec::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Part(part) => parts.push(part),
            Block::ToolUse(call) => tool_calls.push(call),
            Block::ToolResult(message) => messages.push(message),
            Block::Nothing => {}
        }
    }
    // A message that contains only thinking is empty for another model.
    if !parts.is_empty() || !tool_calls.is_empty() {
        messages.push(Message { tool_calls, content: joined(parts), ..Message::text(speaker.role(), "") });
    }
    messages
}

fn block(fields: &mut Fields<'_>, speaker: Speaker) -> Block {
    match (fields.required_string("type").as_str(), speaker) {
        ("", _) => Block::Nothing,
        ("text", _) => Block::Part(ContentPart::Text(fields.required_string("text"))),
        ("image", Speaker::User) => Block::Part(image(fields)),
        ("tool_use", Speaker::Assistant) => tool_use(fields),
        ("tool_result", Speaker::User) => tool_result(fields),
        ("thinking" | "redacted_thinking", Speaker::Assistant) => Block::Nothing,
        ("image" | "tool_use" | "tool_result" | "thinking" | "redacted_thinking", _) => {
            fields.fail("type", "a turn of this role does not take such a block");
            Block::Nothing
        }
        (other, _) => {
            let known = "text, image, tool_use and tool_result are";
            fields.unsupported("type", format!("blocks of type {other} are not supported; {known}"));
            Block::Nothing
        }
    }
}

fn image(fields: &mut Fields<'_>) -> ContentPart {
    let read = fields.object("source", |source| match source.required_string("type").as_str() {
        "base64" => {
            let (media_type, data) = (source.required_string("media_type"), source.required_string("data"));
            if media_type.is_empty() || data.is_empty() {
                return None;
            }
            image_data(&media_type, &data)
                // Names the one of the two fields that is invalid.
                .map_err(|why| source.fail(if why.contains("base64") { "data" } else { "media_type" }, why))
                .ok()
        }
        "url" => {
            let url = source.required_string("url");
            if url.starts_with("data:") {
                source.fail("url", "must be an http or https address");
                return None;
            }
            image_source(&url).map_err(|why| source.fail("url", why)).ok()
        }
        "" => None,
        other => {
            source.unsupported("type", format!("images of type {other} are not supported: send base64 or url"));
            None
        }
    });
    let source = fields.require("source", read).flatten();
    source.map_or_else(|| ContentPart::Text(String::new()), |source| ContentPart::Image(Image { source, detail: None }))
}

fn tool_use(fields: &mut Fields<'_>) -> Block {
    let (id, name) = (fields.required_string("id"), fields.required_string("name"));
    let arguments = fields.object("input", |_| ()).and_then(|()| fields.value("input")).map(Value::to_string);
    let arguments = fields.require("input", arguments).unwrap_or_default();
    Block::ToolUse(ToolCall { id, name, arguments })
}

fn tool_result(fields: &mut Fields<'_>) -> Block {
    let id = fields.required_string("tool_use_id");
    let mut parts = match fields.value("content") {
        Some(Value::Array(_)) => fields.objects("content", result_part).unwrap_or_default(),
        _ => fields.string("content").map(ContentPart::Text).into_iter().collect(),
    };
    // The internal form has no flag for a failed tool, so that the text states it.
    if fields.bool("is_error") == Some(true) {
        match parts.first_mut() {
            Some(ContentPart::Text(text)) => text.insert_str(0, "Error: "),
            _ => parts.insert(0, ContentPart::Text("Error".to_owned())),
        }
    }
    let answer = Message::text(Role::Tool, "");
    Block::ToolResult(Message { content: joined(parts), tool_call_id: Some(id), ..answer })
}

fn result_part(fields: &mut Fields<'_>) -> ContentPart {
    match fields.required_string("type").as_str() {
        "" => ContentPart::Text(String::new()),
        "text" => ContentPart::Text(fields.required_string("text")),
        "image" => image(fields),
        other => {
            fields.unsupported("type", format!("results of type {other} are not supported: send text or image"));
            ContentPart::Text(String::new())
        }
    }
}
