//! Requests for chat completions in the format of OpenAI.

use std::borrow::Cow;

use bytes::Bytes;
use muster_limits::Estimate;
use muster_providers::{
    ChatDefaults, ChatRequest, Message, PromptParts, ResponseFormat, Sampling, Tool, ToolChoice, collapse_duplicates,
    is_chat_extension, json_bytes,
};
use muster_request::{Fields, Request};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::app::App;
use crate::chat;
use crate::guard::Priced;

const MAX_STOPS: usize = 4;
/// Fields that are passed on unchanged to a provider of the same wire format, and rejected for all others.
const BEYOND: [&str; 6] = ["functions", "function_call", "logprobs", "top_logprobs", "logit_bias", "verbosity"];
/// Largest number of fields outside the standard list that are looked at.
const MAX_EXTENSIONS: usize = 32;

/// One message of the conversation.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct ChatMessageB {
    /// Role: `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// A string, or a list of parts `{"type": "text", "text": string}` and `{"type": "image_url", "image_url": {"url":
    /// an address or a data URL, "detail"?: auto | low | high}}`. Null if an assistant message has only tool calls.
    #[schema(value_type = Option<crate::schema::TextOrParts>)]
    pub content: Value,
    pub name: Option<String>,
    /// Tool calls of an assistant message: `[{"id", "type": "function", "function": {"name", "arguments"}}]`.
    #[schema(value_type = Option<Vec<Object>>)]
    pub tool_calls: Value,
    /// Identifier of the call whose result a `tool` message contains.
    pub tool_call_id: Option<String>,
}

/// A conversation that the model continues.
#[derive(Debug, Default, Request)]
#[request(open, takes_images, example = {
    "model": "standard", "messages": [{ "role": "user", "content": "Which shelters are open tonight?" }]
})]
pub struct ChatCompletionBody {
    /// Model identifier of `GET /v1/models`, or `default`, `fast`, `reasoning`, `vision`, `code`.
    pub model: String,
    #[request(with = chat::messages, schema = Vec<ChatMessageB>)]
    #[schema(min_items = 1)]
    pub messages: Vec<Message>,
    /// Sampling temperature. The default is that of the settings (`chat.default_temperature`); models that think in tokens
    /// or take no temperature get none.
    #[request(range = 0.0..=2.0)]
    #[schema(default = 0.7)]
    pub temperature: Option<f64>,
    #[request(range = 0.0..=1.0)]
    pub top_p: Option<f64>,
    #[request(range = -2.0..=2.0)]
    pub presence_penalty: Option<f64>,
    #[request(range = -2.0..=2.0)]
    pub frequency_penalty: Option<f64>,
    pub seed: Option<i64>,
    /// Texts that end the completion: one string, or up to four.
    #[request(with = stops, default, schema = crate::schema::TextOrTexts)]
    pub stop: Vec<String>,
    /// Maximum number of completion tokens. `max_completion_tokens` is another name of this field; each reaches the model
    /// under the name that was sent. The default is that of the settings (`chat.default_max_tokens`); models that think in
    /// tokens get none.
    #[request(with = max_tokens)]
    #[schema(minimum = 1, default = 2000)]
    pub max_tokens: Option<u32>,
    #[request(default = false)]
    pub stream: bool,
    /// `{"include_usage": true}` adds a last chunk with `choices: []` and the usage.
    #[request(with = include_usage, default, schema = Object)]
    pub stream_options: bool,
    /// `{"type": "text" | "json_object" | "json_schema", "json_schema": {name, schema, strict}}`.
    #[request(with = response_format, default, schema = Object)]
    pub response_format: ResponseFormat,
    pub user: Option<String>,
    /// Functions that the model may call: `[{"type": "function", "function": {"name", "description"?, "parameters"?:
    /// JSON Schema, "strict"?}}]`, at most 128.
    #[request(with = chat::tools, default, schema = Vec<Object>)]
    pub tools: Vec<Tool>,
    /// `auto`, `none`, `required`, or `{"type": "function", "function": {"name"}}`.
    #[request(with = chat::tool_choice, using = tools, default, schema = crate::schema::WordOrObject)]
    pub tool_choice: ToolChoice,
    /// Whether one response may contain several function calls.
    pub parallel_tool_calls: Option<bool>,
    /// Number of choices.
    #[request(range = 1..=4, default = 1)]
    pub n: u32,
    /// Tags of `metadata`.
    #[request(with = chat::tags::of_metadata, default, hidden)]
    pub tags: Vec<String>,
    #[request(with = effort, hidden)]
    effort: Option<String>,
    /// Name of a field that only a provider of OpenAI's wire format supports, if one was sent.
    #[request(with = beyond, hidden)]
    pub beyond: Option<&'static str>,
    /// Names of fields outside the standard list.
    #[request(with = extensions, default, hidden)]
    pub extensions: Vec<String>,
    /// Bytes of the fields that are forwarded without being read here.
    #[request(with = unparsed_bytes, default, hidden)]
    unparsed_bytes: usize,
}

/// Returns the names of fields outside the standard list that would change the answer.
fn extensions(fields: &mut Fields<'_>, _: &str) -> Option<Vec<String>> {
    let plain = |name: &&str| *name == "modalities" && fields.value(name) == Some(&json!(["text"]));
    let names = fields.sent().filter(|name| is_chat_extension(name) && !plain(name));
    Some(names.take(MAX_EXTENSIONS).map(str::to_owned).collect())
}

/// Returns the bytes of the fields that reach the model and are not read here.
fn unparsed_bytes(fields: &mut Fields<'_>, _: &str) -> Option<usize> {
    let unread = |name: &&str| *name == "functions" || is_chat_extension(name);
    Some(fields.sent().filter(unread).filter_map(|name| fields.value(name)).map(json_bytes).sum())
}

/// Reads how much a model that thinks should think.
fn effort(fields: &mut Fields<'_>, _: &str) -> Option<String> {
    fields.string("reasoning_effort")
}

/// Reads the maximum number of completion tokens by either of its names.
fn max_tokens(fields: &mut Fields<'_>, name: &str) -> Option<u32> {
    let names = ["max_completion_tokens", name];
    let limits: Vec<u32> = names.into_iter().filter_map(|name| fields.integer(name, 1..=10_000_000)).collect();
    limits.first().copied()
}

fn include_usage(fields: &mut Fields<'_>, name: &str) -> Option<bool> {
    fields.object(name, |options| options.bool("include_usage")).flatten()
}

/// Returns the first field that only a provider of the same wire format supports; such a provider receives the body
/// unchanged.
fn beyond(fields: &mut Fields<'_>, _: &str) -> Option<&'static str> {
    let idle = |value: &Value| match value {
        Value::Bool(enabled) => !enabled,
        Value::Array(items) => items.is_empty() || *value == json!(["text"]),
        Value::Object(members) => members.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Null => true,
        Value::String(_) => false,
    };
    BEYOND.into_iter().find(|&field| fields.value(field).is_some_and(|value| !idle(value)))
}

fn stops(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    let stops = match fields.value(name)? {
        Value::String(stop) => vec![stop.clone()],
        _ => fields.choice::<Vec<String>>(name)?,
    };
    if stops.len() > MAX_STOPS || stops.iter().any(String::is_empty) {
        fields.fail(name, format!("must be one to {MAX_STOPS} strings, none of them empty"));
    }
    Some(stops)
}

fn response_format(fields: &mut Fields<'_>, name: &str) -> Option<ResponseFormat> {
    fields.object(name, |format| match format.string("type").as_deref() {
        Some("text") => ResponseFormat::Text,
        Some("json_object") => ResponseFormat::JsonObject,
        Some("json_schema") => {
            let schema = format.object("json_schema", |schema| {
                let name = schema.required_string("name");
                let strict = schema.bool("strict");
                let body = schema.value("schema").cloned().unwrap_or_else(|| json!({}));
                ResponseFormat::JsonSchema { name, schema: body, strict }
            });
            format.require("json_schema", schema).unwrap_or_default()
        }
        _ => {
            format.fail("type", "must be text, json_object or json_schema");
            ResponseFormat::Text
        }
    })
}

impl ChatCompletionBody {
    /// Returns the request in the internal form. `sent` is the body as received, `defaults` what applies to what it leaves
    /// open.
    pub fn request(&self, sent: Bytes, defaults: ChatDefaults) -> ChatRequest {
        let single = |number: Option<f64>| number.map(|number| number as f32);
        ChatRequest {
            messages: self.messages.clone(),
            sampling: Sampling {
                temperature: single(self.temperature),
                top_p: single(self.top_p),
                presence_penalty: single(self.presence_penalty),
                frequency_penalty: single(self.frequency_penalty),
                top_k: None,
                seed: self.seed,
                stop: self.stop.clone(),
            },
            max_tokens: self.max_tokens,
            defaults,
            effort: self.effort.clone(),
            format: self.response_format.clone(),
            user: self.user.clone(),
            tools: self.tools.clone(),
            tool_choice: self.tool_choice.clone(),
            parallel_tool_calls: self.parallel_tool_calls,
            n: self.n,
            verbatim: Some(collapse_duplicates(sent)),
            unsupported_field: self.extensions.first().cloned().map(Cow::Owned).or(self.beyond.map(Cow::Borrowed)),
            extensions: self.extensions.clone(),
            unparsed_bytes: self.unparsed_bytes,
        }
    }
}

impl Priced for ChatCompletionBody {
    fn estimate(&self, app: &App) -> Estimate {
        // Each choice may be as long as the limit.
        let answers = chat::answer_tokens(app, self.max_tokens).saturating_mul(self.n.max(1));
        let parts = PromptParts {
            messages: self.messages.iter().collect(),
            tools: &self.tools,
            format: &self.response_format,
            unparsed_bytes: self.unparsed_bytes,
        };
        chat::estimate(app, &parts, answers)
    }
}
