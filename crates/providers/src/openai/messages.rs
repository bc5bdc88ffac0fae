//! Encodes the messages and tools of a request for OpenAI's API.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::dialect::Dialect;
use super::ids::nine_letters;
use crate::{ChatRequest, Content, ContentPart, Image, ImageSource, Message, Tool, ToolCall, ToolChoice};

#[derive(Serialize)]
pub(super) struct WireMessage<'a> {
    role: &'static str,
    content: WireContent<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireContent<'a> {
    /// An assistant message with tool calls only.
    Null(()),
    Text(Cow<'a, str>),
    Parts(Vec<WirePart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WirePart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: WireImage<'a> },
}

#[derive(Serialize)]
struct WireImage<'a> {
    #[serde(serialize_with = "url")]
    url: &'a ImageSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
pub(super) struct WireTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum WireToolChoice<'a> {
    Word(&'static str),
    Named {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Named<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct Named<'a> {
    name: &'a str,
}

const FUNCTION: &str = "function";

pub(super) fn messages(request: &ChatRequest, dialect: Dialect) -> Vec<WireMessage<'_>> {
    request.messages.iter().map(|message| wire_message(message, dialect)).collect()
}

fn wire_message(message: &Message, dialect: Dialect) -> WireMessage<'_> {
    WireMessage {
        role: dialect.role(message.role),
        content: content(message),
        name: message.name.as_deref().filter(|_| dialect.takes_names()),
        tool_calls: message.tool_calls.iter().map(|call| wire_call(call, dialect)).collect(),
        tool_call_id: message.tool_call_id.as_deref().map(|id| call_id(id, dialect)),
    }
}

/// A plain string wherever possible: many servers accept nothing else.
fn content(message: &Message) -> WireContent<'_> {
    match &message.content {
        content if content.is_empty() && !message.tool_calls.is_empty() => WireContent::Null(()),
        Content::Parts(parts) if message.content.images().next().is_some() => {
            WireContent::Parts(parts.iter().map(part).collect())
        }
        content => WireContent::Text(content.text()),
    }
}

fn part(part: &ContentPart) -> WirePart<'_> {
    match part {
        ContentPart::Text(text) => WirePart::Text { text },
        ContentPart::Image(Image { source, detail }) => {
            WirePart::ImageUrl { image_url: WireImage { url: source, detail: detail.as_deref() } }
        }
    }
}

/// Written in fragments: an image may have megabytes.
fn url<S: Serializer>(source: &&ImageSource, serializer: S) -> Result<S::Ok, S::Error> {
    match source {
        ImageSource::Url(url) => serializer.serialize_str(url),
        ImageSource::Data { media_type, base64 } => {
            serializer.collect_str(&format_args!("data:{media_type};base64,{base64}"))
        }
    }
}

fn wire_call(call: &ToolCall, dialect: Dialect) -> WireCall<'_> {
    let function = CalledFunction { name: &call.name, arguments: &call.arguments };
    WireCall { id: call_id(&call.id, dialect), kind: FUNCTION, function }
}

fn call_id(id: &str, dialect: Dialect) -> Cow<'_, str> {
    if dialect.takes_any_call_id() { Cow::Borrowed(id) } else { nine_letters(id) }
}

pub(super) fn tools(request: &ChatRequest) -> Vec<WireTool<'_>> {
    request.tools.iter().map(wire_tool).collect()
}

fn wire_tool(tool: &Tool) -> WireTool<'_> {
    let Tool { name, description, parameters, strict } = tool;
    let function = WireFunction { name, description: description.as_deref(), parameters, strict: *strict };
    WireTool { kind: FUNCTION, function }
}

/// Only non-default values, and only with tools: servers reject a choice without tools.
pub(super) fn tool_choice(request: &ChatRequest, dialect: Dialect) -> Option<WireToolChoice<'_>> {
    if request.tools.is_empty() {
        return None;
    }
    match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(WireToolChoice::Word("none")),
        ToolChoice::Required => Some(WireToolChoice::Word(dialect.any_tool())),
        ToolChoice::Named(name) => Some(WireToolChoice::Named { kind: FUNCTION, function: Named { name } }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Role;

    fn sent(message: &Message, dialect: Dialect) -> Value {
        serde_json::to_value(wire_message(message, dialect)).unwrap()
    }

    fn with_parts(parts: Vec<ContentPart>) -> Message {
        Message { content: Content::Parts(parts), ..Message::text(Role::User, "") }
    }

    fn image(source: ImageSource, detail: Option<&str>) -> ContentPart {
        ContentPart::Image(Image { source, detail: detail.map(str::to_owned) })
    }

    /// The API reference's example of an image, and its data URL.
    #[test]
    fn images_are_encoded_as_parts() {
        let data = ImageSource::Data { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
        let message = with_parts(vec![
            ContentPart::Text("What is in this image?".into()),
            image(ImageSource::Url("https://example.org/a.jpg?x=\"1\"".into()), Some("high")),
            image(data, None),
        ]);
        let expected = json!({"role": "user", "content": [
            {"type": "text", "text": "What is in this image?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.jpg?x=\"1\"", "detail": "high"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        ]});
        assert_eq!(sent(&message, Dialect::Common), expected);
    }

    #[test]
    fn text_parts_are_encoded_as_a_string() {
        let message = with_parts(vec![ContentPart::Text("a".into()), ContentPart::Text("b".into())]);
        assert_eq!(sent(&message, Dialect::Common), json!({"role": "user", "content": "ab"}));
    }

    fn call_and_answer(id: &str) -> [Message; 2] {
        let call = ToolCall { id: id.into(), name: "get_weather".into(), arguments: "{\"city\":\"Paris\"}".into() };
        let call = Message { tool_calls: vec![call], ..Message::text(Role::Assistant, "") };
        [call, Message { tool_call_id: Some(id.into()), ..Message::text(Role::Tool, "22 °C") }]
    }

    #[test]
    fn calls_and_results_are_encoded_for_openai() {
        let [call, answered] = call_and_answer("call_abc123");
        assert_eq!(
            sent(&call, Dialect::OpenAi),
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call_abc123", "type": "function",
                "function": {"name": "get_weather", "arguments": "{\"city\":\"Paris\"}"}}]})
        );
        assert_eq!(
            sent(&answered, Dialect::OpenAi),
            json!({"role": "tool", "content": "22 °C", "tool_call_id": "call_abc123"})
        );
        let spoken = Message { content: Content::Text("One moment.".into()), ..call };
        assert_eq!(sent(&spoken, Dialect::OpenAi)["content"], "One moment.");
    }

    #[test]
    fn mistral_gets_matching_identifiers_of_nine_letters() {
        let [call, answered] = call_and_answer("call_abc123").map(|message| sent(&message, Dialect::Mistral));
        let id = call["tool_calls"][0]["id"].as_str().unwrap();
        assert!(id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()), "{id}");
        assert_eq!(answered["tool_call_id"], id);
    }

    fn with_tools(tool_choice: ToolChoice) -> ChatRequest {
        let plain = Tool { name: "now".into(), description: None, parameters: json!({"type": "object"}), strict: None };
        let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let described =
            Tool { name: "get_weather".into(), description: Some("Weather".into()), parameters, strict: Some(true) };
        ChatRequest { tools: vec![plain, described], tool_choice, ..ChatRequest::default() }
    }

    #[test]
    fn tools_are_encoded_for_openai() {
        let request = with_tools(ToolChoice::Auto);
        assert_eq!(
            serde_json::to_value(tools(&request)).unwrap(),
            json!([
                {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
                {"type": "function", "function": {"name": "get_weather", "description": "Weather", "strict": true,
                    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}},
            ])
        );
    }

    #[test]
    fn tool_choice_is_encoded_for_each_dialect() {
        let named = json!({"type": "function", "function": {"name": "now"}});
        for (choice, openai, mistral) in [
            (ToolChoice::Auto, json!(null), json!(null)),
            (ToolChoice::None, json!("none"), json!("none")),
            (ToolChoice::Required, json!("required"), json!("any")),
            (ToolChoice::Named("now".into()), named.clone(), named),
        ] {
            let mut request = with_tools(choice);
            for (dialect, expected) in [(Dialect::OpenAi, &openai), (Dialect::Mistral, &mistral)] {
                assert_eq!(&serde_json::to_value(tool_choice(&request, dialect)).unwrap(), expected);
            }
            request.tools.clear();
            assert!(tool_choice(&request, Dialect::OpenAi).is_none());
        }
    }
}
