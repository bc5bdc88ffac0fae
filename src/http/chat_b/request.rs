//! What a client asks for, in OpenAI's words.

use bytes::Bytes;
use muster_limits::Estimate;
use muster_providers::{ChatRequest, Message, ResponseFormat, Sampling, Tool, ToolChoice};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::{Fields, FromJson};
use crate::chat;
use crate::guard::Priced;

const DEFAULT_TEMPERATURE: f64 = 0.7;
const DEFAULT_MAX_TOKENS: u32 = 2000;
const MAX_STOPS: usize = 4;
/// Fields that are passed on as they are to a provider that speaks this wire, and refused by all others.
const BEYOND: [&str; 10] = [
    "functions",
    "function_call",
    "audio",
    "modalities",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "prediction",
    "web_search_options",
    "verbosity",
];

/// One turn of the conversation.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct ChatMessageB {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// A string, or a list of parts `{"type": "text", "text": string}` and `{"type": "image_url", "image_url": {"url":
    /// an address or a data URL, "detail"?: auto | low | high}}`. Null where an assistant's turn has only tool calls.
    #[schema(value_type = Option<crate::schema::TextOrParts>)]
    pub content: Value,
    pub name: Option<String>,
    /// Of an assistant's turn: `[{"id", "type": "function", "function": {"name", "arguments"}}]`.
    #[schema(value_type = Option<Vec<Object>>)]
    pub tool_calls: Value,
    /// Of a tool's turn: the call that it answers.
    pub tool_call_id: Option<String>,
}

/// A conversation to be continued.
#[derive(Debug, Default, ToSchema)]
pub struct ChatCompletionBody {
    /// An id of `GET /v1/models`, or `default`, `fast`, `reasoning`, `vision`, `code`.
    pub model: String,
    #[schema(value_type = Vec<ChatMessageB>, min_items = 1)]
    pub messages: Vec<Message>,
    /// 0 to 2, default 0.7.
    #[schema(minimum = 0, maximum = 2, default = 0.7)]
    pub temperature: Option<f64>,
    /// 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub top_p: Option<f64>,
    /// -2 to 2.
    #[schema(minimum = -2, maximum = 2)]
    pub presence_penalty: Option<f64>,
    /// -2 to 2.
    #[schema(minimum = -2, maximum = 2)]
    pub frequency_penalty: Option<f64>,
    pub seed: Option<i64>,
    /// Up to four strings, or one.
    #[schema(value_type = Option<crate::schema::TextOrTexts>)]
    pub stop: Vec<String>,
    /// Default 2000; `max_completion_tokens` is its other name.
    #[schema(minimum = 1, default = 2000)]
    pub max_tokens: Option<u32>,
    #[schema(value_type = Option<bool>, default = false)]
    pub stream: bool,
    /// `{"include_usage": true}`: a last chunk with `choices: []` and the usage.
    #[schema(value_type = Option<Object>)]
    pub stream_options: bool,
    /// `{"type": "text" | "json_object" | "json_schema", "json_schema": {name, schema, strict}}`.
    #[schema(value_type = Option<Object>)]
    pub response_format: ResponseFormat,
    pub user: Option<String>,
    /// Functions that the model may ask to be called: `[{"type": "function", "function": {"name", "description"?,
    /// "parameters"?: JSON Schema, "strict"?}}]`, at most 128.
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Vec<Tool>,
    /// `auto`, `none`, `required`, or `{"type": "function", "function": {"name"}}`.
    #[schema(value_type = Option<crate::schema::WordOrObject>)]
    pub tool_choice: ToolChoice,
    /// Whether one answer may ask for several functions.
    pub parallel_tool_calls: Option<bool>,
    /// Answers wanted.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 4, default = 1)]
    pub n: u32,
    /// A field that was set and that only a provider of OpenAI's own wire can honour.
    #[schema(ignore)]
    pub beyond: Option<&'static str>,
}

impl FromJson for ChatCompletionBody {
    const TAKES_IMAGES: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        let model = fields.string("model");
        let model = fields.require("model", model).unwrap_or_default();
        let tools = chat::tools(fields);
        let limits: Vec<_> = ["max_completion_tokens", "max_tokens"]
            .into_iter()
            .filter_map(|name| fields.integer(name, 1..=10_000_000))
            .collect();
        Self {
            model,
            messages: chat::messages(fields),
            temperature: fields.number("temperature", 0.0..=2.0),
            top_p: fields.number("top_p", 0.0..=1.0),
            presence_penalty: fields.number("presence_penalty", -2.0..=2.0),
            frequency_penalty: fields.number("frequency_penalty", -2.0..=2.0),
            seed: fields.integer("seed", i64::MIN..=i64::MAX),
            stop: stops(fields),
            max_tokens: limits.first().and_then(|&limit| u32::try_from(limit).ok()),
            stream: fields.bool("stream").unwrap_or(false),
            stream_options: fields
                .object("stream_options", |options| options.bool("include_usage"))
                .flatten()
                .unwrap_or(false),
            response_format: response_format(fields),
            user: fields.string("user"),
            tool_choice: chat::tool_choice(fields, &tools),
            tools,
            parallel_tool_calls: fields.bool("parallel_tool_calls"),
            n: fields.integer("n", 1..=4).and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
            beyond: beyond(fields),
        }
    }
}

/// What is asked for by one of the fields that only a provider of the same wire can do: it gets the body as it is.
fn beyond(fields: &Fields<'_>) -> Option<&'static str> {
    let idle = |value: &Value| match value {
        Value::Bool(asked) => !asked,
        Value::Array(items) => items.is_empty() || *value == json!(["text"]),
        Value::Object(members) => members.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Null => true,
        Value::String(_) => false,
    };
    BEYOND.into_iter().find(|&field| fields.value(field).is_some_and(|value| !idle(value)))
}

fn stops(fields: &mut Fields<'_>) -> Vec<String> {
    let stops = match fields.value("stop") {
        None => Vec::new(),
        Some(Value::String(stop)) => vec![stop.clone()],
        Some(_) => fields.choice::<Vec<String>>("stop").unwrap_or_default(),
    };
    if stops.len() > MAX_STOPS || stops.iter().any(String::is_empty) {
        fields.fail("stop", format!("must be one to {MAX_STOPS} strings, none of them empty"));
    }
    stops
}

fn response_format(fields: &mut Fields<'_>) -> ResponseFormat {
    let read = fields.object("response_format", |format| match format.string("type").as_deref() {
        Some("text") => ResponseFormat::Text,
        Some("json_object") => ResponseFormat::JsonObject,
        Some("json_schema") => {
            let schema = format.object("json_schema", |schema| {
                let name = schema.string("name");
                let name = schema.require("name", name).unwrap_or_default();
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
    });
    read.unwrap_or_default()
}

impl ChatCompletionBody {
    fn limit(&self) -> u32 {
        self.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS)
    }

    /// The request in the internal form. `sent` is the body as it came.
    pub fn request(&self, sent: Bytes) -> ChatRequest {
        let single = |number: Option<f64>| number.map(|number| number as f32);
        ChatRequest {
            messages: self.messages.clone(),
            sampling: Sampling {
                temperature: single(self.temperature.or(Some(DEFAULT_TEMPERATURE))),
                top_p: single(self.top_p),
                presence_penalty: single(self.presence_penalty),
                frequency_penalty: single(self.frequency_penalty),
                seed: self.seed,
                stop: self.stop.clone(),
            },
            max_tokens: Some(self.limit()),
            format: self.response_format.clone(),
            user: self.user.clone(),
            tools: self.tools.clone(),
            tool_choice: self.tool_choice.clone(),
            parallel_tool_calls: self.parallel_tool_calls,
            n: self.n,
            verbatim: Some(sent),
            unsupported_field: self.beyond,
        }
    }
}

impl Priced for ChatCompletionBody {
    fn estimate(&self, app: &App) -> Estimate {
        // Each answer may be as long as the limit.
        let answers = self.limit().saturating_mul(self.n.max(1));
        chat::estimate(app, self.messages.iter(), answers)
    }
}
