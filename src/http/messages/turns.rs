//! The conversation in Anthropic's words: turns of blocks, the results of tools among the user's.

use muster_providers::{ContentPart, Image, Message, Role, ToolCall};
use serde::Deserialize;
use serde_json::Value;

use crate::body::Fields;
use crate::chat::read::{MAX_MESSAGES, image_data, image_source, joined, required_text};

/// Who may speak here.
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

/// A block of a turn.
#[derive(Debug)]
enum Block {
    Part(ContentPart),
    ToolUse(ToolCall),
    /// A tool's turn in the internal form.
    ToolResult(Message),
    /// Of no use to another model, or refused.
    Nothing,
}

/// Reads `system`: a string or text blocks.
pub fn system(fields: &mut Fields<'_>) -> Option<Message> {
    let text = match fields.value("system") {
        Some(Value::Array(_)) => fields.objects("system", text_block).map(|texts| texts.join("\n\n")),
        _ => fields.string("system"),
    };
    text.filter(|text| !text.is_empty()).map(|text| Message::text(Role::System, text))
}

fn text_block(fields: &mut Fields<'_>) -> String {
    match required_text(fields, "type").as_str() {
        "" | "text" => required_text(fields, "text"),
        other => {
            fields.unsupported("type", format!("blocks of type {other} are not supported here: send text"));
            String::new()
        }
    }
}

/// Reads `messages`.
pub fn turns(fields: &mut Fields<'_>) -> Vec<Message> {
    let read = fields.objects("messages", turn);
    let turns = fields.require("messages", read).unwrap_or_default();
    if fields.value("messages").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        fields.fail("messages", "must hold at least one message");
    }
    if turns.len() > MAX_MESSAGES {
        fields.fail("messages", format!("must hold at most {MAX_MESSAGES} messages"));
    }
    turns.into_iter().flatten().collect()
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

/// The results of tools stand before whatever else the user says: they answer the turn before.
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
    // A turn of nothing but thoughts is no turn for another model.
    if !parts.is_empty() || !tool_calls.is_empty() {
        messages.push(Message { tool_calls, content: joined(parts), ..Message::text(speaker.role(), "") });
    }
    messages
}

fn block(fields: &mut Fields<'_>, speaker: Speaker) -> Block {
    match (required_text(fields, "type").as_str(), speaker) {
        ("", _) => Block::Nothing,
        ("text", _) => Block::Part(ContentPart::Text(required_text(fields, "text"))),
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
    let read = fields.object("source", |source| match required_text(source, "type").as_str() {
        "base64" => {
            let (media_type, data) = (required_text(source, "media_type"), required_text(source, "data"));
            if media_type.is_empty() || data.is_empty() {
                return None;
            }
            image_data(&media_type, &data)
                // The one of the two that is at fault.
                .map_err(|why| source.fail(if why.contains("base64") { "data" } else { "media_type" }, why))
                .ok()
        }
        "url" => {
            let url = required_text(source, "url");
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
    let (id, name) = (required_text(fields, "id"), required_text(fields, "name"));
    let arguments = fields.object("input", |_| ()).and_then(|()| fields.value("input")).map(Value::to_string);
    let arguments = fields.require("input", arguments).unwrap_or_default();
    Block::ToolUse(ToolCall { id, name, arguments })
}

fn tool_result(fields: &mut Fields<'_>) -> Block {
    let id = required_text(fields, "tool_use_id");
    let mut parts = match fields.value("content") {
        Some(Value::Array(_)) => fields.objects("content", result_part).unwrap_or_default(),
        _ => fields.string("content").map(ContentPart::Text).into_iter().collect(),
    };
    // The internal form has no mark for a failed tool: its words are the mark that every model understands.
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
    match required_text(fields, "type").as_str() {
        "" => ContentPart::Text(String::new()),
        "text" => ContentPart::Text(required_text(fields, "text")),
        "image" => image(fields),
        other => {
            fields.unsupported("type", format!("results of type {other} are not supported: send text or image"));
            ContentPart::Text(String::new())
        }
    }
}
