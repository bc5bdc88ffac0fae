//! Requests in the format of Anthropic.

use muster_limits::Estimate;
use muster_providers::{ChatRequest, Message, PromptParts, ResponseFormat, Sampling, Tool, ToolChoice};
use muster_request::{Fields, Request};
use serde_json::Value;
use utoipa::ToSchema;

use super::conversation;
use crate::app::App;
use crate::chat;
use crate::chat::read::{fit_choice, is_tool_name, tools_of};
use crate::guard::Priced;

/// Maximum number of stop sequences that every provider supports.
const MAX_STOPS: usize = 4;
const MAX_TOOL_NAME: usize = 128;

/// One message of the conversation.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "only described: the reader builds the internal form directly")]
pub struct MessagesTurn {
    /// Role: `user` or `assistant`, or `system` for an instruction within the conversation.
    pub role: String,
    /// A string, or a list of blocks. In a user message: `{"type": "text", "text"}`, `{"type": "image", "source":
    /// {"type": "base64", "media_type", "data"} or {"type": "url", "url"}}`, `{"type": "tool_result", "tool_use_id",
    /// "content"?: a string or blocks, "is_error"?}`. In an assistant message: `text`, and `{"type": "tool_use", "id",
    /// "name", "input"}`; `thinking` is accepted and ignored. `cache_control` has no effect.
    #[schema(value_type = crate::schema::TextOrParts)]
    pub content: Value,
}

/// A tool that the model may call.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "only described: the reader builds the internal form directly")]
pub struct MessagesTool {
    /// Name: 1 to 128 letters, digits, underscores or dashes.
    pub name: String,
    pub description: Option<String>,
    /// JSON Schema of the input, an object.
    #[schema(value_type = Object)]
    pub input_schema: Value,
    /// Always `custom`; tools that run at Anthropic are rejected.
    pub r#type: Option<String>,
    pub strict: Option<bool>,
}

/// A conversation that the model continues.
#[derive(Debug, Default, Request)]
#[request(open, takes_images, first = refuse_remote, example = {
    "model": "standard", "max_tokens": 256,
    "messages": [{ "role": "user", "content": "Which shelters are open tonight?" }]
})]
pub struct MessagesBody {
    /// Model identifier of `GET /v1/models`, or `default`, `fast`, `reasoning`, `vision`, `code`.
    pub model: String,
    #[request(range = 1..=10_000_000)]
    pub max_tokens: u32,
    #[request(with = conversation::turns, schema = Vec<MessagesTurn>)]
    #[schema(min_items = 1)]
    pub messages: Vec<Message>,
    /// System prompt: a string, or a list of text blocks.
    #[request(with = conversation::system, schema = crate::schema::TextOrParts)]
    pub system: Option<Message>,
    /// Sampling temperature; the provider's default if it is left out.
    #[request(range = 0.0..=1.0)]
    pub temperature: Option<f64>,
    #[request(range = 0.0..=1.0)]
    pub top_p: Option<f64>,
    /// Number of the most probable tokens that are considered; refused where the provider has no such parameter.
    #[request(range = 0..=u32::MAX)]
    pub top_k: Option<u32>,
    /// Texts that end the message, at most four.
    #[request(with = stops, default)]
    #[schema(max_items = 4)]
    pub stop_sequences: Vec<String>,
    #[request(default = false)]
    pub stream: bool,
    #[request(with = tools, default, schema = Vec<MessagesTool>)]
    #[schema(max_items = 128)]
    pub tools: Vec<Tool>,
    /// `{"type": "auto" | "any" | "tool" | "none", "name"?, "disable_parallel_tool_use"?}`.
    #[request(with = tool_choice, using = tools, default, schema = Object)]
    pub tool_choice: Choice,
    /// `{"user_id"}`: identifier of the end user, passed on if the provider supports it.
    #[request(with = user_id, schema = Object)]
    pub metadata: Option<String>,
    /// `{"format"?: {"type": "json_schema", "schema"}, "effort"?}`: format of the response, and how much a model that
    /// thinks should think.
    #[request(with = output_format, default, schema = Object)]
    pub output_config: ResponseFormat,
    #[request(with = effort, hidden)]
    effort: Option<String>,
}

/// Whether tools may be called, and how many at once.
#[derive(Debug, Default)]
pub struct Choice {
    choice: ToolChoice,
    parallel: Option<bool>,
}

/// Rejects fields for features that run at Anthropic.
fn refuse_remote(fields: &mut Fields<'_>) {
    for field in ["container", "mcp_servers"] {
        let idle = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        if fields.value(field).is_some_and(|value| !idle(value)) {
            fields.unsupported(field, format!("`{field}` is not supported here: leave it out"));
        }
    }
}

fn stops(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    let stops = fields.choice::<Vec<String>>(name)?;
    if stops.len() > MAX_STOPS {
        fields.unsupported(name, format!("at most {MAX_STOPS} are supported"));
    }
    if stops.iter().any(String::is_empty) {
        fields.fail(name, "must not be empty strings");
    }
    Some(stops)
}

fn user_id(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    fields.object(name, |metadata| metadata.string("user_id")).flatten()
}

fn output_format(fields: &mut Fields<'_>, name: &str) -> Option<ResponseFormat> {
    let format = |format: &mut Fields<'_>| {
        if format.required_string("type") != "json_schema" {
            format.fail("type", "must be json_schema");
        }
        let schema = format.object("schema", |_| ()).and_then(|()| format.value("schema").cloned());
        let schema = format.require("schema", schema).unwrap_or_default();
        ResponseFormat::answer(schema)
    };
    fields.object(name, |config| config.object("format", format)).flatten()
}

fn effort(fields: &mut Fields<'_>, _: &str) -> Option<String> {
    fields.value("output_config")?.get("effort")?.as_str().map(str::to_owned)
}

fn tools(fields: &mut Fields<'_>, name: &str) -> Option<Vec<Tool>> {
    tools_of(fields, name, tool)
}

fn tool(fields: &mut Fields<'_>) -> Tool {
    if let Some(kind) = fields.string("type").filter(|kind| kind != "custom") {
        fields.unsupported("type", format!("tools of type {kind} are not supported: send tools of your own"));
        return Tool { name: String::new(), description: None, parameters: Value::Null, strict: None };
    }
    let name = fields.required_string("name");
    if fields.value("name").is_some() && !is_tool_name(&name, MAX_TOOL_NAME) {
        fields.fail("name", format!("must be 1 to {MAX_TOOL_NAME} letters, digits, underscores or dashes"));
    }
    let schema = fields.object("input_schema", |_| ()).and_then(|()| fields.value("input_schema").cloned());
    let parameters = fields.require("input_schema", schema).unwrap_or_default();
    Tool { name, description: fields.string("description"), parameters, strict: fields.bool("strict") }
}

fn tool_choice(fields: &mut Fields<'_>, name: &str, tools: &[Tool]) -> Option<Choice> {
    let choice = fields.object(name, |choice| {
        let parallel = choice.bool("disable_parallel_tool_use").map(|disabled| !disabled);
        let choice = match choice.required_string("type").as_str() {
            "" | "auto" => ToolChoice::Auto,
            "any" => ToolChoice::Required,
            "tool" => ToolChoice::Named(choice.required_string("name")),
            "none" => ToolChoice::None,
            _ => {
                choice.fail("type", "must be auto, any, tool or none");
                ToolChoice::Auto
            }
        };
        Choice { choice, parallel }
    })?;
    fit_choice(fields, name, &choice.choice, tools);
    Some(choice)
}

impl MessagesBody {
    /// Returns the request in the internal form.
    pub fn request(&self) -> ChatRequest {
        let single = |number: Option<f64>| number.map(|number| number as f32);
        ChatRequest {
            messages: self.system.iter().chain(&self.messages).cloned().collect(),
            sampling: Sampling {
                temperature: single(self.temperature),
                top_p: single(self.top_p),
                top_k: self.top_k,
                stop: self.stop_sequences.clone(),
                ..Sampling::default()
            },
            max_tokens: Some(self.max_tokens),
            effort: self.effort.clone(),
            format: self.output_config.clone(),
            user: self.metadata.clone(),
            tools: self.tools.clone(),
            tool_choice: self.tool_choice.choice.clone(),
            parallel_tool_calls: self.tool_choice.parallel,
            ..ChatRequest::default()
        }
    }
}

impl Priced for MessagesBody {
    fn estimate(&self, app: &App) -> Estimate {
        let parts = PromptParts {
            messages: self.system.iter().chain(&self.messages).collect(),
            tools: &self.tools,
            format: &self.output_config,
            unparsed_bytes: 0,
        };
        chat::estimate(app, &parts, self.max_tokens)
    }
}

/// A conversation whose tokens are counted.
#[derive(Debug, Default, Request)]
#[request(open, takes_images, example = {
    "model": "standard", "messages": [{ "role": "user", "content": "Which shelters are open tonight?" }]
})]
pub struct CountTokensBody {
    /// Not evaluated: all models are counted with the same tokenizer.
    #[allow(dead_code, reason = "checked, and not needed")]
    pub model: String,
    #[request(with = conversation::turns, schema = Vec<MessagesTurn>)]
    #[schema(min_items = 1)]
    pub messages: Vec<Message>,
    /// System prompt: a string, or a list of text blocks.
    #[request(with = conversation::system, schema = crate::schema::TextOrParts)]
    pub system: Option<Message>,
    #[request(with = tools, default, schema = Vec<MessagesTool>)]
    #[schema(max_items = 128)]
    pub tools: Vec<Tool>,
}

impl CountTokensBody {
    /// Returns the request whose prompt is counted.
    pub fn request(self) -> ChatRequest {
        let messages = self.system.into_iter().chain(self.messages).collect();
        ChatRequest { messages, tools: self.tools, ..ChatRequest::default() }
    }
}

impl Priced for CountTokensBody {
    const COSTS_TOKENS: bool = false;

    /// No tokens are generated, so only the request counts.
    fn estimate(&self, _app: &App) -> Estimate {
        Estimate::default()
    }
}

#[cfg(test)]
mod tests {
    use muster_core::{Error, Kind};
    use muster_providers::{Content, ContentPart, Image, ImageSource, Role, ToolCall};
    use serde_json::json;

    use super::*;

    fn read(messages: Value, more: Value) -> Result<ChatRequest, Error> {
        let mut body = json!({ "model": "m", "max_tokens": 9, "messages": messages });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        crate::body::from_json::<MessagesBody>(&body).map(|body| body.request())
    }

    fn user() -> Value {
        json!([{ "role": "user", "content": "hi" }])
    }

    fn text(role: Role, text: &str) -> Message {
        Message::text(role, text)
    }

    #[test]
    fn a_conversation_with_tools_and_images_is_read() {
        let cached = json!({ "type": "ephemeral" });
        let messages = json!([
            { "role": "user", "content": [
                { "type": "text", "text": "what is this?", "cache_control": cached },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } },
                { "type": "image", "source": { "type": "url", "url": "https://example.org/a.png" } },
            ] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "s" },
                { "type": "text", "text": "let me see" },
                { "type": "tool_use", "id": "call_1", "name": "look", "input": { "at": 1 } },
                { "type": "tool_use", "id": "call_2", "name": "look", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "text", "text": "well?" },
                { "type": "tool_result", "tool_use_id": "call_1", "content": "a cat" },
                { "type": "tool_result", "tool_use_id": "call_2", "is_error": true,
                  "content": [{ "type": "text", "text": "too dark" }] },
            ] },
        ]);
        let system = json!([{ "type": "text", "text": "be brief", "cache_control": cached }, { "type": "text", "text": "be kind" }]);
        let schema = json!({ "type": "object", "properties": { "at": { "type": "integer" } } });
        let request = read(
            messages,
            json!({
                "system": system, "temperature": 0.5, "top_p": 0.25, "top_k": 40, "stop_sequences": ["END"],
                "metadata": { "user_id": "ann" }, "thinking": { "type": "enabled", "budget_tokens": 1024 },
                "tools": [{ "name": "look", "description": "looks", "input_schema": schema, "cache_control": cached }],
                "tool_choice": { "type": "any", "disable_parallel_tool_use": true },
            }),
        )
        .unwrap();
        let image = |source| ContentPart::Image(Image { source, detail: None });
        let picture = ImageSource::Data { media_type: "image/png".to_owned(), base64: "aGk=".to_owned() };
        let call = |id: &str, arguments: &str| ToolCall {
            id: id.to_owned(),
            name: "look".to_owned(),
            arguments: arguments.to_owned(),
        };
        let result = |id: &str, output: &str| Message { tool_call_id: Some(id.to_owned()), ..text(Role::Tool, output) };
        let expected = ChatRequest {
            messages: vec![
                text(Role::System, "be brief\n\nbe kind"),
                Message {
                    content: Content::Parts(vec![
                        ContentPart::Text("what is this?".to_owned()),
                        image(picture),
                        image(ImageSource::Url("https://example.org/a.png".to_owned())),
                    ]),
                    ..text(Role::User, "")
                },
                Message {
                    tool_calls: vec![call("call_1", "{\"at\":1}"), call("call_2", "{}")],
                    ..text(Role::Assistant, "let me see")
                },
                result("call_1", "a cat"),
                result("call_2", "Error: too dark"),
                text(Role::User, "well?"),
            ],
            sampling: Sampling {
                temperature: Some(0.5),
                top_p: Some(0.25),
                top_k: Some(40),
                stop: vec!["END".to_owned()],
                ..Sampling::default()
            },
            max_tokens: Some(9),
            user: Some("ann".to_owned()),
            tools: vec![Tool {
                name: "look".to_owned(),
                description: Some("looks".to_owned()),
                parameters: schema,
                strict: None,
            }],
            tool_choice: ToolChoice::Required,
            parallel_tool_calls: Some(false),
            ..ChatRequest::default()
        };
        assert_eq!(request, expected);
    }

    #[test]
    fn a_minimal_request_leaves_the_rest_to_the_provider() {
        let expected =
            ChatRequest { messages: vec![text(Role::User, "hi")], max_tokens: Some(9), ..ChatRequest::default() };
        assert_eq!(read(user(), json!({ "system": "", "tools": [] })).unwrap(), expected);
    }

    #[test]
    fn the_format_of_the_output_is_a_schema() {
        let schema = json!({ "type": "object" });
        let config = json!({ "effort": "low", "format": { "type": "json_schema", "schema": schema } });
        let request = read(user(), json!({ "output_config": config })).unwrap();
        let expected = ResponseFormat::JsonSchema { name: "answer".to_owned(), schema, strict: Some(true) };
        assert_eq!((request.format, request.effort.as_deref()), (expected, Some("low")));
        assert_eq!(read(user(), json!({ "output_config": { "effort": "low" } })).unwrap().format, ResponseFormat::Text);
    }

    #[test]
    fn choices_of_tools() {
        let tools = json!([{ "type": "custom", "name": "f", "input_schema": {} }]);
        for (choice, expected) in [
            (json!({ "type": "auto" }), ToolChoice::Auto),
            (json!({ "type": "none" }), ToolChoice::None),
            (json!({ "type": "tool", "name": "f" }), ToolChoice::Named("f".to_owned())),
        ] {
            let request = read(user(), json!({ "tools": tools, "tool_choice": choice })).unwrap();
            assert_eq!((request.tool_choice, request.parallel_tool_calls), (expected, None));
        }
    }

    #[test]
    fn each_invalid_field_is_reported_with_its_location() {
        let content = |blocks: Value| json!([{ "role": "user", "content": blocks }]);
        let image = |source: Value| content(json!([{ "type": "image", "source": source }]));
        let (bad, cannot) = (Kind::Invalid, Kind::UnsupportedValue);
        for (messages, more, place, kind) in [
            (json!([]), json!({}), "messages", bad),
            (json!([{ "role": "wizard", "content": "x" }]), json!({}), "messages.0.role", bad),
            (json!([{ "role": "user" }]), json!({}), "messages.0.content", bad),
            (content(json!([{ "text": "x" }])), json!({}), "messages.0.content.0.type", bad),
            (content(json!([{ "type": "document", "source": {} }])), json!({}), "messages.0.content.0.type", cannot),
            (content(json!([{ "type": "tool_use", "id": "i" }])), json!({}), "messages.0.content.0.type", bad),
            (
                image(json!({ "type": "base64", "media_type": "image/png", "data": "%" })),
                json!({}),
                "messages.0.content.0.source.data",
                bad,
            ),
            (
                image(json!({ "type": "base64", "media_type": "image/tiff", "data": "aGk=" })),
                json!({}),
                "messages.0.content.0.source.media_type",
                bad,
            ),
            (image(json!({ "type": "url", "url": "ftp://x" })), json!({}), "messages.0.content.0.source.url", bad),
            (image(json!({ "type": "file", "file_id": "f" })), json!({}), "messages.0.content.0.source.type", cannot),
            (user(), json!({ "max_tokens": null }), "max_tokens", bad),
            (user(), json!({ "max_tokens": 0 }), "max_tokens", bad),
            (user(), json!({ "temperature": 1.5 }), "temperature", bad),
            (user(), json!({ "top_k": -1 }), "top_k", bad),
            (user(), json!({ "system": 3 }), "system", bad),
            (user(), json!({ "system": [{ "type": "image" }] }), "system.0.type", cannot),
            (user(), json!({ "stop_sequences": ["a", "b", "c", "d", "e"] }), "stop_sequences", cannot),
            (user(), json!({ "stop_sequences": [""] }), "stop_sequences", bad),
            (user(), json!({ "tools": [{ "type": "web_search_20250305", "name": "w" }] }), "tools.0.type", cannot),
            (user(), json!({ "tools": [{ "name": "a b", "input_schema": {} }] }), "tools.0.name", bad),
            (user(), json!({ "tools": [{ "name": "a" }] }), "tools.0.input_schema", bad),
            (user(), json!({ "tool_choice": { "type": "any" } }), "tool_choice", bad),
            (user(), json!({ "tool_choice": { "type": "tool", "name": "f" } }), "tool_choice", bad),
            (user(), json!({ "tool_choice": { "type": "some" } }), "tool_choice.type", bad),
            (user(), json!({ "mcp_servers": [{ "type": "url" }] }), "mcp_servers", cannot),
            (
                user(),
                json!({ "output_config": { "format": { "type": "json_schema" } } }),
                "output_config.format.schema",
                bad,
            ),
        ] {
            let what = format!("{messages} {more}");
            let error = read(messages, more).expect_err(&what);
            let places: Vec<_> = error.fields.iter().map(|field| field.loc[1..].join(".")).collect();
            assert_eq!((places, error.kind), (vec![place.to_owned()], kind), "{what}");
        }
    }

    #[test]
    fn counting_tokens_needs_no_max_tokens() {
        let body = json!({ "model": "m", "messages": user(), "system": "be brief" });
        let request = crate::body::from_json::<CountTokensBody>(&body).unwrap().request();
        assert_eq!(request.messages, [text(Role::System, "be brief"), text(Role::User, "hi")]);
    }
}
