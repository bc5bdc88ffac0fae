//! Requests of the Responses API.

use std::collections::BTreeMap;

use muster_limits::Estimate;
use muster_providers::{ChatRequest, Message, PromptParts, ResponseFormat, Role, Sampling, Tool, ToolChoice};
use muster_request::{Fields, Request};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::items;
use crate::app::App;
use crate::chat;
use crate::chat::read::{fit_choice, is_tool_name, tools_of};
use crate::guard::Priced;

const MAX_TOOL_NAME: usize = 64;
const MAX_METADATA: usize = 16;

/// The fields of a request that its response repeats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct RepeatedFields {
    pub instructions: Option<String>,
    /// Metadata: up to 16 texts by name.
    pub metadata: BTreeMap<String, String>,
    /// Whether one response may contain several function calls; true by default.
    pub parallel_tool_calls: bool,
    /// Sampling temperature, 0 to 2; null if the provider's default applied.
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1; null if the provider's default applied.
    pub top_p: Option<f64>,
    /// Maximum number of completion tokens; null if none was requested.
    pub max_output_tokens: Option<u32>,
    /// Choice of tools; `auto` by default.
    #[schema(value_type = crate::schema::WordOrObject)]
    pub tool_choice: Value,
    #[schema(value_type = Vec<Object>)]
    pub tools: Vec<Value>,
    /// Format of the text; `{"format": {"type": "text"}}` by default.
    #[schema(value_type = Object)]
    pub text: Value,
    #[schema(value_type = Option<Object>)]
    pub reasoning: Option<Value>,
    /// Always `disabled`.
    pub truncation: &'static str,
    pub user: Option<String>,
}

/// An input to which the model responds.
#[derive(Debug, Default, Request)]
#[request(open, takes_images, first = refuse_state, example = {
    "model": "standard", "input": "Which shelters are open tonight?"
})]
pub struct ResponsesBody {
    /// Model identifier of `GET /v1/models`, or `default`, `fast`, `reasoning`, `vision`, `code`.
    pub model: String,
    /// A string, or items: `{"type"?: "message", "role": user | assistant | system | developer, "content": a string or
    /// parts}` with the parts `input_text`, `output_text` and `input_image` `{"image_url": an address or a data URL,
    /// "detail"?}`; `{"type": "function_call", "call_id", "name", "arguments"}`; `{"type": "function_call_output",
    /// "call_id", "output"}`. `reasoning` items are accepted and ignored.
    #[request(with = items::input, schema = crate::schema::TextOrParts)]
    pub input: Vec<Message>,
    pub instructions: Option<String>,
    /// Functions that the model may call: `[{"type": "function", "name", "description"?, "parameters"?: JSON Schema,
    /// "strict"?}]`.
    #[request(with = tools, default, schema = Vec<Object>)]
    #[schema(max_items = 128)]
    pub tools: Vec<Tool>,
    /// `auto`, `none`, `required`, or `{"type": "function", "name"}`.
    #[request(with = tool_choice, using = tools, default, schema = crate::schema::WordOrObject)]
    pub tool_choice: ToolChoice,
    pub parallel_tool_calls: Option<bool>,
    #[request(range = 0.0..=2.0)]
    pub temperature: Option<f64>,
    #[request(range = 0.0..=1.0)]
    pub top_p: Option<f64>,
    /// Maximum number of completion tokens. There is no default: the model's own maximum applies.
    #[request(range = 1..=10_000_000)]
    pub max_output_tokens: Option<u32>,
    /// `{"format": {"type": "text" | "json_object" | "json_schema", "name", "schema", "strict"?}}`.
    #[request(with = text_format, default, schema = Object)]
    pub text: ResponseFormat,
    #[request(default = false)]
    pub stream: bool,
    #[request(with = user)]
    pub user: Option<String>,
    /// Metadata returned with the response: up to 16 texts by name. The usage is reported under the tags of `tags`, separated
    /// by commas.
    #[request(check = few)]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Tags of `metadata`.
    #[request(with = chat::tags::of_metadata, default, hidden)]
    pub tags: Vec<String>,
    #[request(with = effort, hidden)]
    effort: Option<String>,
    /// Fields that are returned unchanged.
    #[request(with = as_sent, default, hidden)]
    sent: AsSent,
}

/// Fields that a response repeats unchanged.
#[derive(Debug, Default)]
struct AsSent {
    tool_choice: Option<Value>,
    tools: Option<Value>,
    text: Option<Value>,
    reasoning: Option<Value>,
}

fn as_sent(fields: &mut Fields<'_>, _: &str) -> Option<AsSent> {
    let sent = |name: &str| fields.value(name).cloned();
    Some(AsSent {
        tool_choice: sent("tool_choice"),
        tools: sent("tools"),
        text: sent("text"),
        reasoning: sent("reasoning"),
    })
}

/// Reads how much a model that thinks should think.
fn effort(fields: &mut Fields<'_>, _: &str) -> Option<String> {
    fields.value("reasoning")?.get("effort")?.as_str().map(str::to_owned)
}

/// Reads the identifier of the end user by either of its names.
fn user(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    fields.string(name).or_else(|| fields.string("safety_identifier"))
}

/// Rejects fields that need stored responses, because none are stored.
fn refuse_state(fields: &mut Fields<'_>) {
    for field in ["previous_response_id", "conversation", "prompt"] {
        if fields.value(field).is_some() {
            let mend = "send the whole conversation as input";
            fields.unsupported(field, format!("`{field}` is not supported, as nothing is stored here: {mend}"));
        }
    }
    if fields.bool("background") == Some(true) {
        fields.unsupported("background", "answers are not made in the background: leave it out, or stream");
    }
    match fields.string("truncation").as_deref() {
        None | Some("disabled") => {}
        Some("auto") => fields.unsupported("truncation", "the input is never cut: send less of it, or `disabled`"),
        Some(_) => fields.fail("truncation", "must be disabled"),
    }
    if fields.integer::<u8>("top_logprobs", 0..=20).is_some_and(|count| count > 0) {
        fields.unsupported("top_logprobs", "log probabilities are not supported here: leave it out");
    }
}

fn few(metadata: &BTreeMap<String, String>) -> Result<(), String> {
    if metadata.len() > MAX_METADATA { Err(format!("must hold at most {MAX_METADATA} strings")) } else { Ok(()) }
}

fn text_format(fields: &mut Fields<'_>, name: &str) -> Option<ResponseFormat> {
    let format = |format: &mut Fields<'_>| match format.required_string("type").as_str() {
        "" | "text" => ResponseFormat::Text,
        "json_object" => ResponseFormat::JsonObject,
        "json_schema" => {
            let schema = format.object("schema", |_| ()).and_then(|()| format.value("schema").cloned());
            let schema = format.require("schema", schema).unwrap_or_default();
            ResponseFormat::JsonSchema { name: format.required_string("name"), schema, strict: format.bool("strict") }
        }
        _ => {
            format.fail("type", "must be text, json_object or json_schema");
            ResponseFormat::Text
        }
    };
    fields.object(name, |text| text.object("format", format)).flatten()
}

fn tools(fields: &mut Fields<'_>, name: &str) -> Option<Vec<Tool>> {
    tools_of(fields, name, tool)
}

fn tool(fields: &mut Fields<'_>) -> Tool {
    let kind = fields.required_string("type");
    if !matches!(kind.as_str(), "" | "function") {
        fields.unsupported("type", format!("tools of type {kind} are not supported: send functions"));
        return Tool { name: String::new(), description: None, parameters: Value::Null, strict: None };
    }
    let name = fields.required_string("name");
    if fields.value("name").is_some() && !is_tool_name(&name, MAX_TOOL_NAME) {
        fields.fail("name", format!("must be 1 to {MAX_TOOL_NAME} letters, digits, underscores or dashes"));
    }
    let parameters = fields.object("parameters", |_| ()).and_then(|()| fields.value("parameters").cloned());
    Tool {
        name,
        description: fields.string("description"),
        // Without parameters it is a function without arguments.
        parameters: parameters.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
        strict: fields.bool("strict"),
    }
}

fn tool_choice(fields: &mut Fields<'_>, name: &str, tools: &[Tool]) -> Option<ToolChoice> {
    let choice = match fields.value(name)? {
        Value::Object(_) => {
            let named = fields.object(name, |choice| match choice.required_string("type").as_str() {
                "" => ToolChoice::Auto,
                "function" => ToolChoice::Named(choice.required_string("name")),
                other => {
                    choice.unsupported("type", format!("a choice of type {other} is not supported: name a function"));
                    ToolChoice::Auto
                }
            });
            named.unwrap_or_default()
        }
        _ => match fields.string(name).as_deref() {
            None | Some("auto") => ToolChoice::Auto,
            Some("none") => ToolChoice::None,
            Some("required") => ToolChoice::Required,
            Some(_) => {
                fields.fail(name, "must be auto, none, required or a function");
                ToolChoice::Auto
            }
        },
    };
    fit_choice(fields, name, &choice, tools);
    Some(choice)
}

impl ResponsesBody {
    /// Returns the fields of the request that the response repeats.
    pub fn repeated_fields(&self) -> RepeatedFields {
        let AsSent { tool_choice, tools, text, reasoning } = &self.sent;
        RepeatedFields {
            instructions: self.instructions.clone(),
            metadata: self.metadata.clone().unwrap_or_default(),
            parallel_tool_calls: self.parallel_tool_calls.unwrap_or(true),
            temperature: self.temperature,
            top_p: self.top_p,
            max_output_tokens: self.max_output_tokens,
            tool_choice: tool_choice.clone().unwrap_or_else(|| json!("auto")),
            tools: tools.as_ref().and_then(Value::as_array).cloned().unwrap_or_default(),
            text: text.clone().unwrap_or_else(|| json!({ "format": { "type": "text" } })),
            reasoning: reasoning.clone(),
            truncation: "disabled",
            user: self.user.clone(),
        }
    }

    /// Returns the request in the internal form.
    pub fn request(&self) -> ChatRequest {
        let single = |number: Option<f64>| number.map(|number| number as f32);
        let instructions = self.instructions.as_ref().map(|text| Message::text(Role::System, text.clone()));
        ChatRequest {
            messages: instructions.into_iter().chain(self.input.iter().cloned()).collect(),
            sampling: Sampling {
                temperature: single(self.temperature),
                top_p: single(self.top_p),
                ..Sampling::default()
            },
            max_tokens: self.max_output_tokens,
            effort: self.effort.clone(),
            format: self.text.clone(),
            user: self.user.clone(),
            tools: self.tools.clone(),
            tool_choice: self.tool_choice.clone(),
            parallel_tool_calls: self.parallel_tool_calls,
            ..ChatRequest::default()
        }
    }
}

impl Priced for ResponsesBody {
    fn estimate(&self, app: &App) -> Estimate {
        let instructions = self.instructions.as_ref().map(|text| Message::text(Role::System, text.clone()));
        let parts = PromptParts {
            messages: instructions.iter().chain(&self.input).collect(),
            tools: &self.tools,
            format: &self.text,
            unparsed_bytes: 0,
        };
        chat::estimate(app, &parts, chat::answer_tokens(app, self.max_output_tokens))
    }
}

#[cfg(test)]
mod tests {
    use muster_core::{Error, Kind};
    use muster_providers::{Content, ContentPart, Image, ImageSource, ToolCall};

    use super::*;

    fn body(input: Value, more: Value) -> Result<ResponsesBody, Error> {
        let mut body = json!({ "model": "m", "input": input });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        crate::body::from_json::<ResponsesBody>(&body)
    }

    fn read(input: Value, more: Value) -> ChatRequest {
        body(input, more).unwrap().request()
    }

    #[test]
    fn items_become_turns() {
        let input = json!([
            { "role": "developer", "content": "be brief" },
            { "type": "message", "role": "user", "content": [
                { "type": "input_text", "text": "what is this?" },
                { "type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "low" },
                { "type": "input_image", "image_url": "https://example.org/a.png" },
            ] },
            { "type": "reasoning", "id": "rs_1", "summary": [] },
            { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
              "content": [{ "type": "output_text", "text": "let me see", "annotations": [] }] },
            { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{\"at\":1}" },
            { "type": "function_call", "call_id": "call_2", "name": "look", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "call_1", "output": "a cat" },
            { "type": "function_call_output", "call_id": "call_2", "output": [{ "type": "input_text", "text": "a dog" }] },
            { "type": "function_call", "call_id": "call_3", "name": "look", "arguments": "{}" },
        ]);
        let schema = json!({ "type": "object", "properties": { "at": { "type": "integer" } } });
        let request = read(
            input,
            json!({
                "instructions": "be kind", "temperature": 1.5, "top_p": 0.25, "max_output_tokens": 9, "user": "ann",
                "tools": [{ "type": "function", "name": "look", "description": "looks", "parameters": schema, "strict": true },
                    { "type": "function", "name": "wait", "parameters": null, "strict": null }],
                "tool_choice": { "type": "function", "name": "look" }, "parallel_tool_calls": false,
                "text": { "format": { "type": "json_schema", "name": "n", "schema": schema, "strict": true } },
            }),
        );
        let image =
            |source, detail: Option<&str>| ContentPart::Image(Image { source, detail: detail.map(str::to_owned) });
        let picture = ImageSource::Data { media_type: "image/png".to_owned(), base64: "aGk=".to_owned() };
        let call = |id: &str, arguments: &str| ToolCall {
            id: id.to_owned(),
            name: "look".to_owned(),
            arguments: arguments.to_owned(),
        };
        let result =
            |id: &str, output: &str| Message { tool_call_id: Some(id.to_owned()), ..Message::text(Role::Tool, output) };
        let nothing = json!({ "type": "object", "properties": {} });
        let expected = ChatRequest {
            messages: vec![
                Message::text(Role::System, "be kind"),
                Message::text(Role::Developer, "be brief"),
                Message {
                    content: Content::Parts(vec![
                        ContentPart::Text("what is this?".to_owned()),
                        image(picture, Some("low")),
                        image(ImageSource::Url("https://example.org/a.png".to_owned()), None),
                    ]),
                    ..Message::text(Role::User, "")
                },
                Message {
                    tool_calls: vec![call("call_1", "{\"at\":1}"), call("call_2", "{}")],
                    ..Message::text(Role::Assistant, "let me see")
                },
                result("call_1", "a cat"),
                result("call_2", "a dog"),
                Message { tool_calls: vec![call("call_3", "{}")], ..Message::text(Role::Assistant, "") },
            ],
            sampling: Sampling { temperature: Some(1.5), top_p: Some(0.25), ..Sampling::default() },
            max_tokens: Some(9),
            format: ResponseFormat::JsonSchema { name: "n".to_owned(), schema: schema.clone(), strict: Some(true) },
            user: Some("ann".to_owned()),
            tools: vec![
                Tool {
                    name: "look".to_owned(),
                    description: Some("looks".to_owned()),
                    parameters: schema,
                    strict: Some(true),
                },
                Tool { name: "wait".to_owned(), description: None, parameters: nothing, strict: None },
            ],
            tool_choice: ToolChoice::Named("look".to_owned()),
            parallel_tool_calls: Some(false),
            ..ChatRequest::default()
        };
        assert_eq!(request, expected);
    }

    #[test]
    fn a_string_is_a_user_message_and_fields_without_effect_are_accepted_and_an_effort_goes_on() {
        let hints = json!({ "store": true, "include": ["reasoning.encrypted_content"], "truncation": "disabled",
            "reasoning": { "effort": "low" }, "background": false, "previous_response_id": null, "text": {},
            "service_tier": "auto", "max_tool_calls": 3, "top_logprobs": 0, "tools": [] });
        let messages = vec![Message::text(Role::User, "hi")];
        let expected = ChatRequest { messages, effort: Some("low".to_owned()), ..ChatRequest::default() };
        assert_eq!(read(json!("hi"), hints), expected);
    }

    #[test]
    fn a_response_repeats_fields_of_its_request() {
        let tools = json!([{ "type": "function", "name": "f", "parameters": {} }]);
        let request = body(json!("hi"), json!({ "metadata": { "k": "v" }, "tools": tools, "tool_choice": "required" }));
        let repeated = serde_json::to_value(request.unwrap().repeated_fields()).unwrap();
        assert_eq!(
            repeated,
            json!({ "instructions": null, "metadata": { "k": "v" }, "parallel_tool_calls": true, "temperature": null,
                "top_p": null, "max_output_tokens": null, "tool_choice": "required", "tools": tools,
                "text": { "format": { "type": "text" } }, "reasoning": null, "truncation": "disabled", "user": null })
        );
    }

    #[test]
    fn each_invalid_field_is_reported_with_its_location() {
        let content = |parts: Value| json!([{ "role": "user", "content": parts }]);
        let hi = || json!("hi");
        let (bad, cannot) = (Kind::Invalid, Kind::UnsupportedValue);
        for (input, more, place, kind) in [
            (json!(null), json!({}), "input", bad),
            (json!(7), json!({}), "input", bad),
            (json!([]), json!({}), "input", bad),
            (json!([{ "role": "wizard", "content": "x" }]), json!({}), "input.0.role", bad),
            (json!([{ "role": "tool", "content": "x" }]), json!({}), "input.0.role", bad),
            (json!([{ "role": "user" }]), json!({}), "input.0.content", bad),
            (json!([{ "type": "item_reference", "id": "msg_1" }]), json!({}), "input.0.type", cannot),
            (json!([{ "type": "web_search_call", "id": "ws_1" }]), json!({}), "input.0.type", cannot),
            (json!([{ "type": "function_call_output", "output": "x" }]), json!({}), "input.0.call_id", bad),
            (content(json!([{ "type": "input_file", "file_id": "f" }])), json!({}), "input.0.content.0.type", cannot),
            (
                content(json!([{ "type": "input_image", "file_id": "f" }])),
                json!({}),
                "input.0.content.0.file_id",
                cannot,
            ),
            (
                content(json!([{ "type": "input_image", "image_url": "data:image/png;base64,%" }])),
                json!({}),
                "input.0.content.0.image_url",
                bad,
            ),
            (hi(), json!({ "model": null }), "model", bad),
            (hi(), json!({ "previous_response_id": "resp_1" }), "previous_response_id", cannot),
            (hi(), json!({ "conversation": "conv_1" }), "conversation", cannot),
            (hi(), json!({ "prompt": { "id": "p" } }), "prompt", cannot),
            (hi(), json!({ "background": true }), "background", cannot),
            (hi(), json!({ "truncation": "auto" }), "truncation", cannot),
            (hi(), json!({ "top_logprobs": 2 }), "top_logprobs", cannot),
            (hi(), json!({ "temperature": 2.5 }), "temperature", bad),
            (hi(), json!({ "max_output_tokens": 0 }), "max_output_tokens", bad),
            (hi(), json!({ "metadata": { "k": 1 } }), "metadata", bad),
            (hi(), json!({ "tools": [{ "type": "web_search" }] }), "tools.0.type", cannot),
            (hi(), json!({ "tools": [{ "type": "function" }] }), "tools.0.name", bad),
            (hi(), json!({ "tools": [{ "type": "function", "name": "a b" }] }), "tools.0.name", bad),
            (hi(), json!({ "tool_choice": "required" }), "tool_choice", bad),
            (hi(), json!({ "tool_choice": { "type": "function", "name": "f" } }), "tool_choice", bad),
            (hi(), json!({ "tool_choice": { "type": "allowed_tools" } }), "tool_choice.type", cannot),
            (hi(), json!({ "text": { "format": { "type": "xml" } } }), "text.format.type", bad),
            (hi(), json!({ "text": { "format": { "type": "json_schema", "name": "n" } } }), "text.format.schema", bad),
        ] {
            let what = format!("{input} {more}");
            let error = body(input, more).expect_err(&what);
            let places: Vec<_> = error.fields.iter().map(|field| field.loc[1..].join(".")).collect();
            assert_eq!((places, error.kind), (vec![place.to_owned()], kind), "{what}");
        }
    }
}
