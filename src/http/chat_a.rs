//! Chat by interface A.

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::BytesMut;
use muster_core::{Clock, Error};
use muster_limits::Estimate;
use muster_providers::{ChatRequest, Delta, FinishReason, Message, Role, Sampling, Usage};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::{Fields, FromJson};
use crate::chat;
use crate::error::sets::{InterfaceA, RunErrors};
use crate::error::{Dialect, HttpError, body};
use crate::guard::{ChatA, Metered, Priced};
use crate::sse::{self, Frames, frame};

/// What is answered at most; the interface has no field for it.
const MAX_TOKENS: u32 = 2000;
const MAX_MESSAGE_CHARACTERS: usize = 400_000;

/// A message to a model.
#[derive(Debug, Default, ToSchema)]
pub struct ChatABody {
    pub message: String,
    /// An id of `GET /api/models`, or `fast`, `reasoning`, `vision`, `code`, `default`; the platform's default if left out.
    pub model: Option<String>,
    /// True: server-sent events `delta`, then `done` or `error`.
    #[schema(value_type = Option<bool>, default = false)]
    pub stream: bool,
    /// 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub temperature: Option<f64>,
}

impl FromJson for ChatABody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let message = fields.string("message");
        let message = fields.require("message", message).unwrap_or_default();
        if fields.value("message").is_some_and(|value| value.as_str().is_some_and(|text| text.trim().is_empty())) {
            fields.fail("message", "must not be empty");
        }
        if message.chars().count() > MAX_MESSAGE_CHARACTERS {
            fields.fail("message", format!("must have at most {MAX_MESSAGE_CHARACTERS} characters"));
        }
        if fields.value("conversation_id").is_some() {
            fields.unsupported("conversation_id", "kept conversations are not supported yet: leave it out");
        }
        let model = fields.string("model");
        let stream = fields.bool("stream").unwrap_or(false);
        let temperature = fields.number("temperature", 0.0..=1.0);
        Self { message, model, stream, temperature }
    }
}

impl ChatABody {
    fn request(&self) -> ChatRequest {
        ChatRequest {
            messages: vec![Message::text(Role::User, self.message.clone())],
            sampling: Sampling { temperature: self.temperature.map(|number| number as f32), ..Sampling::default() },
            max_tokens: Some(MAX_TOKENS),
            ..ChatRequest::default()
        }
    }
}

impl Priced for ChatABody {
    fn estimate(&self, app: &App) -> Estimate {
        chat::estimate(app, self.request().messages.iter(), MAX_TOKENS)
    }
}

/// A model's answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatResultA {
    /// Always true.
    pub success: bool,
    pub response: String,
    /// The model that answered, which after a failover is not the one asked for.
    pub model: String,
    /// Prompt and answer together.
    pub tokens: u32,
    /// RFC 3339, UTC.
    pub timestamp: String,
}

/// Chat with a model
///
/// Returns the reply of a model. If a provider fails, the next provider of the chain is tried.
#[utoipa::path(post, path = "/api/chat", tag = "interface A", operation_id = "chat_a", request_body = ChatABody,
    responses((status = 200, description = "The reply; with `stream` true an event stream of `delta` ({\"delta\": string}), then `done` (the whole reply) or `error` (the error body)", content((ChatResultA = "application/json"), (crate::sse::EventBody = "text/event-stream"))),
        RunErrors<InterfaceA>))]
pub async fn chat(
    request: Metered<ChatA, ChatABody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body, reservation, .. } = request;
    let ask = chat::ask(&http, body.model.clone(), body.request(), &reservation);
    if body.stream {
        let streaming = chat::stream(&app, ask, reservation).await?;
        let frames = FramesA { model: streaming.model_id.clone(), text: String::new(), clock: app.clock.clone() };
        return Ok(sse::response(streaming, frames));
    }
    let answer = chat::complete(&app, ask, reservation).await?;
    Ok(HttpResponse::Ok().json(ChatResultA {
        success: true,
        response: answer.reply.first.content,
        model: answer.model_id,
        tokens: answer.usage.total(),
        timestamp: app.clock.now().rfc3339(),
    }))
}

struct FramesA {
    model: String,
    /// What was said so far, for the whole answer at the end.
    text: String,
    clock: Clock,
}

impl Frames for FramesA {
    fn start(&mut self, _: &mut BytesMut) {}

    fn delta(&mut self, delta: &Delta, out: &mut BytesMut) {
        let Some(text) = delta.text() else { return };
        self.text.push_str(&text);
        frame(Some("delta"), &json!({ "delta": text }), out);
    }

    fn done(&mut self, _: FinishReason, usage: Usage, out: &mut BytesMut) {
        let done = ChatResultA {
            success: true,
            response: std::mem::take(&mut self.text),
            model: self.model.clone(),
            tokens: usage.total(),
            timestamp: self.clock.now().rfc3339(),
        };
        frame(Some("done"), &done, out);
    }

    fn error(&mut self, error: &Error, out: &mut BytesMut) {
        frame(Some("error"), &body(error, Dialect::A, self.clock.now()), out);
    }
}
