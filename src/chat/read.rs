//! Parses messages and tools in the format of OpenAI's clients, for interface B and the agent platform.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_providers::{Content, ContentPart, Image, ImageSource, Message, Role, Tool, ToolCall, ToolChoice};
use serde_json::{Value, json};

use muster_request::Fields;

/// Bounds of a conversation in any dialect.
pub const MAX_MESSAGES: usize = 2048;
pub const MAX_TOOLS: usize = 128;
const MAX_TOOL_NAME: usize = 64;

/// Reads the messages of a conversation.
pub fn messages(fields: &mut Fields<'_>, name: &str) -> Option<Vec<Message>> {
    let messages = fields.objects(name, message)?;
    check_count(fields, name, messages.len());
    Some(messages)
}

/// Notes that there is no message, or that there are too many.
pub fn check_count(fields: &mut Fields<'_>, name: &str, count: usize) {
    if fields.value(name).and_then(Value::as_array).is_some_and(Vec::is_empty) {
        fields.fail(name, "must hold at least one message");
    }
    if count > MAX_MESSAGES {
        fields.fail(name, format!("must hold at most {MAX_MESSAGES} messages"));
    }
}

fn message(fields: &mut Fields<'_>) -> Message {
    fields.only(&["role", "content", "name", "tool_calls", "tool_call_id"]);
    let role = fields.choice::<Role>("role");
    let role = fields.require("role", role).unwrap_or(Role::User);
    let name = fields.string("name");
    let tool_calls = fields.objects("tool_calls", tool_call).unwrap_or_default();
    if role != Role::Assistant && !tool_calls.is_empty() {
        fields.fail("tool_calls", "only an assistant's message has them");
    }
    let content = content(fields);
    let content = if tool_calls.is_empty() { fields.require("content", content) } else { content };
    let tool_call_id = fields.string("tool_call_id");
    if role == Role::Tool {
        fields.require("tool_call_id", tool_call_id.as_ref());
    }
    let content = content.unwrap_or_else(|| Content::Text(String::new()));
    Message { role, content, name, tool_calls, tool_call_id }
}

fn content(fields: &mut Fields<'_>) -> Option<Content> {
    match fields.value("content") {
        Some(Value::Array(parts)) => {
            if parts.is_empty() {
                fields.fail("content", "must hold at least one part");
            }
            fields.objects("content", part).map(Content::Parts)
        }
        _ => fields.string("content").map(Content::Text),
    }
}

fn part(fields: &mut Fields<'_>) -> ContentPart {
    fields.only(&["type", "text", "refusal", "image_url"]);
    match fields.string("type").as_deref() {
        Some("text") => ContentPart::Text(fields.required_string("text")),
        // An earlier response of the assistant.
        Some("refusal") => ContentPart::Text(fields.required_string("refusal")),
        Some("image_url") => {
            let image = fields.object("image_url", image);
            fields.require("image_url", image).map_or_else(|| ContentPart::Text(String::new()), ContentPart::Image)
        }
        Some(other) => {
            let message = format!("content of type {other} is not supported: send text or image_url");
            fields.unsupported("type", message);
            ContentPart::Text(String::new())
        }
        None => {
            fields.require::<()>("type", None);
            ContentPart::Text(String::new())
        }
    }
}

fn image(fields: &mut Fields<'_>) -> Image {
    fields.only(&["url", "detail"]);
    let url = fields.required_string("url");
    let detail = fields.string("detail");
    if detail.as_deref().is_some_and(|detail| !matches!(detail, "auto" | "low" | "high")) {
        fields.fail("detail", "must be auto, low or high");
    }
    let source = image_source(&url).unwrap_or_else(|why| {
        fields.fail("url", why);
        ImageSource::Url(String::new())
    });
    Image { source, detail }
}

/// Parses an image: a URL that the provider fetches, or the data itself.
pub fn image_source(url: &str) -> Result<ImageSource, &'static str> {
    if let Some(data) = url.strip_prefix("data:") {
        let (media_type, base64) =
            data.split_once(";base64,").ok_or("a data URL must have the form data:image/png;base64,…")?;
        return image_data(media_type, base64);
    }
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(ImageSource::Url(url.to_owned()));
    }
    Err("must be an http or https address, or a data URL")
}

/// Parses an inline image.
pub fn image_data(media_type: &str, base64: &str) -> Result<ImageSource, &'static str> {
    if !matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp") {
        return Err("must be image/png, image/jpeg, image/gif or image/webp");
    }
    if base64.is_empty() || STANDARD.decode(base64).is_err() {
        return Err("is not valid base64");
    }
    Ok(ImageSource::Data { media_type: media_type.to_owned(), base64: base64.to_owned() })
}

/// Parses the content of a message; plain text if it has no other parts.
pub fn joined(mut parts: Vec<ContentPart>) -> Content {
    match parts.pop() {
        None => Content::Text(String::new()),
        Some(ContentPart::Text(text)) if parts.is_empty() => Content::Text(text),
        Some(last) => {
            parts.push(last);
            Content::Parts(parts)
        }
    }
}

fn tool_call(fields: &mut Fields<'_>) -> ToolCall {
    fields.only(&["id", "type", "function"]);
    let id = fields.required_string("id");
    if fields.string("type").is_some_and(|kind| kind != "function") {
        fields.unsupported("type", "only calls of type function are supported");
    }
    let function = fields.object("function", |function| {
        function.only(&["name", "arguments"]);
        (function.required_string("name"), function.required_string("arguments"))
    });
    let (name, arguments) = fields.require("function", function).unwrap_or_default();
    ToolCall { id, name, arguments }
}

/// Reads the tools that a model may call.
pub fn tools(fields: &mut Fields<'_>, name: &str) -> Option<Vec<Tool>> {
    tools_of(fields, name, tool)
}

/// Reads at most as many tools as any provider takes, each by `tool`.
pub fn tools_of(fields: &mut Fields<'_>, name: &str, tool: fn(&mut Fields<'_>) -> Tool) -> Option<Vec<Tool>> {
    let tools = fields.objects(name, tool)?;
    if tools.len() > MAX_TOOLS {
        fields.fail(name, format!("must hold at most {MAX_TOOLS} tools"));
    }
    Some(tools)
}

fn tool(fields: &mut Fields<'_>) -> Tool {
    let nothing = || Tool { name: String::new(), description: None, parameters: json!({}), strict: None };
    match fields.string("type").as_deref() {
        Some("function") => {}
        Some(other) => {
            fields.unsupported("type", format!("tools of type {other} are not supported: send functions"));
            return nothing();
        }
        None => {
            fields.require::<()>("type", None);
            return nothing();
        }
    }
    let function = fields.object("function", |function| {
        let name = function.required_string("name");
        if !is_tool_name(&name, MAX_TOOL_NAME) {
            function.fail("name", format!("must be 1 to {MAX_TOOL_NAME} letters, digits, underscores or dashes"));
        }
        let parameters = function.value("parameters").cloned();
        if parameters.as_ref().is_some_and(|schema| !schema.is_object()) {
            function.fail("parameters", "must be a JSON Schema, an object");
        }
        Tool {
            name,
            description: function.string("description"),
            // Without parameters it is a function without arguments.
            parameters: parameters.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
            strict: function.bool("strict"),
        }
    });
    fields.require("function", function).unwrap_or_else(nothing)
}

/// Returns whether the name has 1 to `longest` letters, digits, underscores or dashes.
pub fn is_tool_name(name: &str, longest: usize) -> bool {
    let fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=longest).contains(&name.len()) && name.bytes().all(fit)
}

/// Reads which tools are to be called, which must match the tools.
pub fn tool_choice(fields: &mut Fields<'_>, name: &str, tools: &[Tool]) -> Option<ToolChoice> {
    let choice = match fields.value(name)? {
        Value::String(word) => match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            _ => {
                fields.fail(name, "must be auto, none, required or a function");
                return None;
            }
        },
        _ => {
            let named = fields.object(name, |choice| {
                let function = choice.object("function", |function| function.required_string("name"));
                choice.require("function", function).unwrap_or_default()
            });
            ToolChoice::Named(named.unwrap_or_default())
        }
    };
    fit_choice(fields, name, &choice, tools);
    Some(choice)
}

/// Reports a choice that does not match the tools.
pub fn fit_choice(fields: &mut Fields<'_>, name: &str, choice: &ToolChoice, tools: &[Tool]) {
    match choice {
        ToolChoice::Required if tools.is_empty() => fields.fail(name, "is only taken together with tools"),
        ToolChoice::Named(tool) if !tool.is_empty() && !tools.iter().any(|known| known.name == *tool) => {
            fields.fail(name, format!("{tool} is none of the tools"));
        }
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required | ToolChoice::Named(_) => {}
    }
}
