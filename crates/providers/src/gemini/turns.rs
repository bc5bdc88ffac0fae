//! Converts the conversation: `contents` with alternating roles, and the system instruction separately.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::body::invalid;
use crate::{ChatRequest, Content, ContentPart, Fault, Image, ImageSource, Message, Role, ToolCall};

const USER: &str = "user";
const MODEL: &str = "model";

/// A function call in the history requires the signature that came with it, which is not stored. Google documents this
/// placeholder for calls from elsewhere (ai.google.dev/gemini-api/docs/thought-signatures).
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Debug, Serialize)]
pub(super) struct RoleTurn<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<WirePart<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum WirePart<'a> {
    Text {
        text: &'a str,
    },
    Inline {
        inline_data: Blob<'a>,
    },
    File {
        file_data: FileData<'a>,
    },
    Call {
        function_call: FunctionCall<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'static str>,
    },
    Response {
        function_response: FunctionResponse<'a>,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileData<'a> {
    file_uri: &'a str,
}

#[derive(Debug, Serialize)]
struct FunctionCall<'a> {
    id: &'a str,
    name: &'a str,
    args: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Map<String, Value>,
}

#[derive(Debug, Default)]
pub(super) struct Turns<'a> {
    pub(super) system: Option<RoleTurn<'a>>,
    pub(super) contents: Vec<RoleTurn<'a>>,
}

/// Converts the conversation. Consecutive messages of one role are merged: the results of several tools must be in one
/// turn.
pub(super) fn turns<'a>(request: &'a ChatRequest, model: &str, files: &str) -> Result<Turns<'a>, Fault> {
    let mut turns = Turns::default();
    let mut system = Vec::new();
    let mut called = HashMap::new();
    let signature = wants_signatures(model).then_some(NO_SIGNATURE);
    for message in &request.messages {
        match message.role {
            Role::System | Role::Developer => system.extend(instruction(message)?),
            Role::User => turns.push(USER, parts(&message.content, files)?),
            Role::Assistant => {
                called.extend(message.tool_calls.iter().map(|call| (call.id.as_str(), call.name.as_str())));
                let mut part_or_error = parts(&message.content, files)?;
                part_or_error.extend(calls(&message.tool_calls, signature));
                turns.push(MODEL, part_or_error);
            }
            Role::Tool => turns.push(USER, answer(message, &called, files)?),
        }
    }
    if turns.contents.is_empty() {
        // The API rejects a request that has only a system instruction.
        turns.push(USER, system);
    } else if !system.is_empty() {
        turns.system = Some(RoleTurn { role: None, parts: system });
    }
    Ok(turns)
}

impl<'a> Turns<'a> {
    fn push(&mut self, role: &'static str, parts: Vec<WirePart<'a>>) {
        if parts.is_empty() {
            return;
        }
        match self.contents.last_mut() {
            Some(last) if last.role == Some(role) => last.parts.extend(parts),
            _ => self.contents.push(RoleTurn { role: Some(role), parts }),
        }
    }
}

/// Models from Gemini 3 on reject an unsigned call, including aliases such as `gemini-flash-latest`.
fn wants_signatures(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    !["gemini-1", "gemini-2"].iter().any(|old| name.starts_with(old))
}

fn instruction(message: &Message) -> Result<Vec<WirePart<'_>>, Fault> {
    if message.content.images().next().is_some() {
        return Err(Fault::unsupported("messages", "this provider takes no images in a system message"));
    }
    Ok(texts(&message.content))
}

/// Empty texts are omitted: the API rejects them.
fn texts(content: &Content) -> Vec<WirePart<'_>> {
    content.texts().filter(|text| !text.is_empty()).map(|text| WirePart::Text { text }).collect()
}

fn parts<'a>(content: &'a Content, files: &str) -> Result<Vec<WirePart<'a>>, Fault> {
    let Content::Parts(parts) = content else {
        return Ok(texts(content));
    };
    let mut out = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            ContentPart::Text(text) if text.is_empty() => {}
            ContentPart::Text(text) => out.push(WirePart::Text { text }),
            ContentPart::Image(one) => out.push(image(one, files)?),
        }
    }
    Ok(out)
}

/// Which URLs the provider fetches depends on the model, and it requires the media type; only its own uploaded files
/// are certain.
fn image<'a>(image: &'a Image, files: &str) -> Result<WirePart<'a>, Fault> {
    match &image.source {
        ImageSource::Data { media_type, base64 } => {
            Ok(WirePart::Inline { inline_data: Blob { mime_type: media_type, data: base64 } })
        }
        ImageSource::Url(url) if url.starts_with(files) => Ok(WirePart::File { file_data: FileData { file_uri: url } }),
        ImageSource::Url(_) => Err(Fault::unsupported(
            "messages",
            "this provider does not fetch images from an address; send the image as base64 data",
        )),
    }
}

/// Only the first call of a turn is signed, as the API does itself.
fn calls<'a>(calls: &'a [ToolCall], signature: Option<&'static str>) -> impl Iterator<Item = WirePart<'a>> {
    calls.iter().enumerate().map(move |(at, call)| WirePart::Call {
        function_call: FunctionCall { id: &call.id, name: &call.name, args: arguments(&call.arguments) },
        thought_signature: signature.filter(|_| at == 0),
    })
}

/// Arguments that are not a JSON object, as a model may generate, are forwarded as text.
fn arguments(text: &str) -> Map<String, Value> {
    if text.trim().is_empty() {
        return Map::new();
    }
    object_or(text, "arguments")
}

fn object_or(text: &str, key: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_else(|_| Map::from_iter([(key.to_owned(), Value::from(text))]))
}

/// Result of a tool under the name of its function, followed by its images.
fn answer<'a>(message: &'a Message, called: &HashMap<&str, &'a str>, files: &str) -> Result<Vec<WirePart<'a>>, Fault> {
    let id = message.tool_call_id.as_deref();
    let Some(name) = id.and_then(|id| called.get(id).copied()).or(message.name.as_deref()) else {
        let fault =
            invalid("a message of role tool answers no call: its tool_call_id is not among the calls before it");
        return Err(Fault { param: Some("messages".to_owned()), ..fault });
    };
    let response = object_or(&message.content.text(), "result");
    let mut parts = vec![WirePart::Response { function_response: FunctionResponse { id, name, response } }];
    for one in message.content.images() {
        parts.push(image(one, files)?);
    }
    Ok(parts)
}
