//! Chat by the agent platform.

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::BytesMut;
use muster_actors::limits::Estimate;
use muster_actors::provider::Attempt;
use muster_actors::{Clock, Error, Millis};
use muster_providers::{ChatRequest, Delta, FinishReason, Message, Sampling, Usage};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::{Fields, FromJson};
use crate::chat;
use crate::error::{Dialect, ErrorAgent, HttpError, body};
use crate::guard::{ChatAgent, Metered, Priced};
use crate::respond::RequestId;
use crate::sse::{self, Frames, frame};

const DEFAULT_MAX_TOKENS: u32 = 2000;

/// One turn of the conversation.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct ChatMessageAgent {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    pub content: String,
}

/// A conversation to be continued.
#[derive(Debug, Default, ToSchema)]
pub struct ChatAgentBody {
    #[schema(value_type = Vec<ChatMessageAgent>, min_items = 1)]
    pub messages: Vec<Message>,
    /// The primary model if left out.
    pub model: Option<String>,
    /// Default 2000.
    #[schema(minimum = 1)]
    pub max_tokens: Option<u32>,
    /// 0 to 2.
    #[schema(minimum = 0, maximum = 2)]
    pub temperature: Option<f64>,
    /// True: server-sent events `start`, `delta`, then `done` or `error`.
    #[schema(default = false)]
    pub stream: bool,
}

impl FromJson for ChatAgentBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            messages: chat::messages(fields),
            model: fields.string("model"),
            max_tokens: fields.integer("max_tokens", 1..=1_000_000).and_then(|count| u32::try_from(count).ok()),
            temperature: fields.number("temperature", 0.0..=2.0),
            stream: fields.bool("stream").unwrap_or(false),
        }
    }
}

impl ChatAgentBody {
    fn request(&self) -> ChatRequest {
        ChatRequest {
            messages: self.messages.clone(),
            sampling: Sampling { temperature: self.temperature.map(|number| number as f32), ..Sampling::default() },
            max_tokens: Some(self.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS)),
            ..ChatRequest::default()
        }
    }
}

impl Priced for ChatAgentBody {
    fn estimate(&self, app: &App) -> Estimate {
        chat::estimate(app, &self.request(), self.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS))
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TokensAgent {
    pub prompt: u32,
    pub completion: u32,
    pub total: u32,
}

/// A model's answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatReplyAgent {
    pub content: String,
    pub model: String,
    pub provider: String,
    pub tokens: TokensAgent,
    pub latency_ms: u64,
    /// Null where the model's price is not known.
    pub cost_usd: Option<f64>,
    /// `stop`, `length`, `tool_calls` or `content_filter`.
    #[schema(value_type = String)]
    pub finish_reason: FinishReason,
    /// Every provider that was tried, the one that answered last.
    #[schema(value_type = Vec<Object>)]
    pub attempts: Vec<Attempt>,
}

/// Chat with failover along the chain; 503 where no provider is left.
#[utoipa::path(post, operation_id = "chat_agent", path = "/api/llm/chat", tag = "chat", request_body = ChatAgentBody,
    responses((status = 200, description = "The reply; with `stream` true an event stream of `start` {model, provider, request_id}, `delta` {content}, then `done` (the whole reply) or `error` (the error body).",
            content((ChatReplyAgent = "application/json"), (String = "text/event-stream"))),
        (status = 400, body = ErrorAgent), (status = 401, body = ErrorAgent), (status = 403, body = ErrorAgent),
        (status = 404, body = ErrorAgent), (status = 413, body = ErrorAgent), (status = 415, body = ErrorAgent),
        (status = 422, body = ErrorAgent), (status = 429, body = ErrorAgent), (status = 503, body = ErrorAgent)))]
pub async fn chat(
    request: Metered<ChatAgent, ChatAgentBody>,
    http: HttpRequest,
    id: web::ReqData<RequestId>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body, reservation, .. } = request;
    let ask = chat::ask(&http, body.model.clone(), body.request(), &reservation);
    let asked_at = app.clock.now();
    if body.stream {
        let streaming = chat::stream(&app, ask, reservation).await?;
        let frames = FramesAgent {
            price: streaming.price,
            model: streaming.model_id.clone(),
            provider: streaming.provider_id.clone(),
            request_id: id.0.clone(),
            attempts: streaming.attempts.clone(),
            text: String::new(),
            asked_at,
            clock: app.clock.clone(),
        };
        return Ok(sse::response(streaming, frames));
    }
    let answer = chat::complete(&app, ask, reservation).await?;
    Ok(HttpResponse::Ok().json(ChatReplyAgent {
        content: answer.reply.first.content,
        model: answer.model_id,
        provider: answer.provider_id,
        tokens: tokens(answer.usage),
        latency_ms: latency(&app.clock, asked_at),
        cost_usd: chat::cost_usd(answer.cost_nanos),
        finish_reason: answer.reply.first.finish,
        attempts: answer.attempts,
    }))
}

fn tokens(usage: Usage) -> TokensAgent {
    let (prompt, completion, total) = chat::totals(usage);
    TokensAgent { prompt, completion, total }
}

fn latency(clock: &Clock, since: Millis) -> u64 {
    u64::try_from(clock.now().since(since).as_millis()).unwrap_or(u64::MAX)
}

struct FramesAgent {
    model: String,
    provider: String,
    request_id: String,
    price: Option<muster_providers::Price>,
    attempts: Vec<Attempt>,
    text: String,
    asked_at: Millis,
    clock: Clock,
}

impl Frames for FramesAgent {
    fn start(&mut self, out: &mut BytesMut) {
        let start = json!({ "model": self.model, "provider": self.provider, "request_id": self.request_id });
        frame(Some("start"), &start, out);
    }

    fn delta(&mut self, delta: &Delta, out: &mut BytesMut) {
        let Some(text) = delta.text() else { return };
        self.text.push_str(&text);
        frame(Some("delta"), &json!({ "content": text }), out);
    }

    fn done(&mut self, finish: FinishReason, usage: Usage, out: &mut BytesMut) {
        let done = ChatReplyAgent {
            content: std::mem::take(&mut self.text),
            model: self.model.clone(),
            provider: self.provider.clone(),
            tokens: tokens(usage),
            latency_ms: latency(&self.clock, self.asked_at),
            cost_usd: chat::cost_usd(self.price.map(|price| price.nanos(usage))),
            finish_reason: finish,
            attempts: std::mem::take(&mut self.attempts),
        };
        frame(Some("done"), &done, out);
    }

    fn error(&mut self, error: &Error, out: &mut BytesMut) {
        frame(Some("error"), &body(error, Dialect::Agent, self.clock.now()), out);
    }
}
