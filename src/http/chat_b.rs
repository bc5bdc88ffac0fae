//! Chat by interface B, in OpenAI's form.

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::BytesMut;
use muster_actors::ids::{IdKind, new_id};
use muster_actors::limits::Estimate;
use muster_actors::{Clock, Error};
use muster_providers::{ChatRequest, Delta, FinishReason, Message, ResponseFormat, Sampling, Usage};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::{Fields, FromJson};
use crate::chat;
use crate::error::{Dialect, ErrorB, HttpError, body};
use crate::guard::{ChatB, Metered, Priced};
use crate::sse::{self, Frames, frame};

const DEFAULT_TEMPERATURE: f64 = 0.7;
const DEFAULT_MAX_TOKENS: u32 = 2000;
const MAX_STOPS: usize = 4;

/// One turn of the conversation.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct ChatMessageB {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// A string, or a list of parts `{"type": "text", "text": string}`.
    #[schema(value_type = Object)]
    pub content: Value,
    pub name: Option<String>,
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
    #[schema(value_type = Option<Vec<String>>)]
    pub stop: Vec<String>,
    /// Default 2000; `max_completion_tokens` is its other name.
    #[schema(minimum = 1, default = 2000)]
    pub max_tokens: Option<u32>,
    #[schema(default = false)]
    pub stream: bool,
    /// `{"include_usage": true}`: a last chunk with `choices: []` and the usage.
    #[schema(value_type = Option<Object>)]
    pub stream_options: bool,
    /// `{"type": "text" | "json_object" | "json_schema", "json_schema": {name, schema, strict}}`.
    #[schema(value_type = Option<Object>)]
    pub response_format: ResponseFormat,
    pub user: Option<String>,
}

impl FromJson for ChatCompletionBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let model = fields.string("model");
        let model = fields.require("model", model).unwrap_or_default();
        for field in
            ["tools", "tool_choice", "functions", "function_call", "audio", "modalities", "logprobs", "logit_bias"]
        {
            let empty = |value: &Value| {
                value.as_bool() == Some(false)
                    || value.as_array().is_some_and(Vec::is_empty)
                    || value.as_object().is_some_and(serde_json::Map::is_empty)
            };
            if fields.value(field).is_some_and(|value| {
                !empty(value) && value != &json!(["text"]) && value != &json!("none") && value != &json!("auto")
            }) {
                fields.unsupported(field, format!("`{field}` is not supported yet: leave it out"));
            }
        }
        let n = fields.integer("n", 1..=4);
        if n.is_some_and(|n| n > 1) {
            fields.unsupported("n", "only one choice is supported yet");
        }
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
        }
    }
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

    fn request(&self) -> ChatRequest {
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
            ..ChatRequest::default()
        }
    }
}

impl Priced for ChatCompletionBody {
    fn estimate(&self, app: &App) -> Estimate {
        chat::estimate(app, &self.request(), self.limit())
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct UsageB {
    pub prompt_tokens: u32,
    pub completion_tokens: u32,
    pub total_tokens: u32,
    /// True where the provider gave no figures and they were counted here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl From<Usage> for UsageB {
    fn from(usage: Usage) -> Self {
        let (prompt_tokens, completion_tokens, total_tokens) = chat::totals(usage);
        Self { prompt_tokens, completion_tokens, total_tokens, estimated: usage.estimated }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AnswerMessage {
    /// Always `assistant`.
    pub role: &'static str,
    pub content: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Choice {
    pub index: u32,
    pub message: AnswerMessage,
    /// `stop`, `length`, `tool_calls` or `content_filter`.
    #[schema(value_type = String)]
    pub finish_reason: FinishReason,
}

/// A chat completion.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatCompletion {
    pub id: String,
    /// Always `chat.completion`.
    pub object: &'static str,
    /// Unix time in seconds.
    pub created: u64,
    /// The model that answered, which after a failover is not the one asked for.
    pub model: String,
    pub choices: Vec<Choice>,
    pub usage: UsageB,
}

/// Chat completion. A failing provider is passed over for the next of the chain; after the first content of a stream a
/// failure ends it with an `error` object and no `[DONE]`.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "interface B", request_body = ChatCompletionBody,
    responses((status = 200, description = "The completion; with `stream` true an event stream of `chat.completion.chunk` objects, then `[DONE]`.",
            content((ChatCompletion = "application/json"), (String = "text/event-stream"))),
        (status = 400, body = ErrorB), (status = 401, body = ErrorB), (status = 403, body = ErrorB), (status = 404, body = ErrorB),
        (status = 413, body = ErrorB), (status = 415, body = ErrorB), (status = 429, body = ErrorB), (status = 500, body = ErrorB),
        (status = 502, body = ErrorB), (status = 503, body = ErrorB)))]
pub async fn complete(
    request: Metered<ChatB, ChatCompletionBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body, reservation, .. } = request;
    let ask = chat::ask(&http, Some(body.model.clone()), body.request(), &reservation);
    let (id, created) = (new_id(IdKind::ChatCompletion), app.clock.now().seconds());
    if body.stream {
        let streaming = chat::stream(&app, ask, reservation).await?;
        let frames = FramesB {
            head: json!({ "id": id, "object": "chat.completion.chunk", "created": created, "model": streaming.model_id.clone() }),
            include_usage: body.stream_options,
            clock: app.clock.clone(),
        };
        return Ok(sse::response(streaming, frames));
    }
    let answer = chat::complete(&app, ask, reservation).await?;
    Ok(HttpResponse::Ok().json(ChatCompletion {
        id,
        object: "chat.completion",
        created,
        model: answer.model_id,
        choices: vec![Choice {
            index: 0,
            message: AnswerMessage { role: "assistant", content: answer.reply.first.content },
            finish_reason: answer.reply.first.finish,
        }],
        usage: UsageB::from(answer.usage),
    }))
}

struct FramesB {
    /// What every chunk begins with.
    head: Value,
    include_usage: bool,
    clock: Clock,
}

#[derive(Serialize)]
struct Chunk<'a> {
    #[serde(flatten)]
    head: &'a Value,
    choices: Value,
    /// Null in every chunk but the last, and only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

impl FramesB {
    fn chunk(&self, choices: Value, usage: Option<Usage>, out: &mut BytesMut) {
        let usage = usage.map(|usage| serde_json::to_value(UsageB::from(usage)).unwrap_or_default());
        let usage = usage.or_else(|| self.include_usage.then_some(Value::Null));
        frame(None, &Chunk { head: &self.head, choices, usage }, out);
    }
}

impl Frames for FramesB {
    fn start(&mut self, out: &mut BytesMut) {
        let delta = json!({ "role": "assistant", "content": "" });
        self.chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), None, out);
    }

    fn delta(&mut self, delta: &Delta, out: &mut BytesMut) {
        let Some(text) = delta.text() else { return };
        self.chunk(json!([{ "index": 0, "delta": { "content": text }, "finish_reason": null }]), None, out);
    }

    fn done(&mut self, finish: FinishReason, usage: Usage, out: &mut BytesMut) {
        self.chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish }]), None, out);
        if self.include_usage {
            self.chunk(json!([]), Some(usage), out);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn error(&mut self, error: &Error, out: &mut BytesMut) {
        frame(None, &body(error, Dialect::B, self.clock.now()), out);
    }
}
