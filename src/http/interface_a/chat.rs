//! Chat of interface A.

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::BytesMut;
use muster_core::{Clock, Error};
use muster_gateway::AnswerStream;
use muster_limits::Estimate;
use muster_providers::{ChatDefaults, ChatRequest, Delta, FinishReason, Message, Role, Sampling, Usage};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::chat;
use crate::error::sets::{InterfaceA, RunErrors};
use crate::error::{Dialect, HttpError, body as error_body};
use crate::guard::{ChatA, Metered, Priced};
use crate::sse::{Frames, StreamForm, frame};
use muster_request::{Fields, Request};

const MAX_MESSAGE_CHARACTERS: usize = 400_000;

/// A message to a model.
#[derive(Debug, Default, Request)]
#[request(open, first = no_conversation, example = { "model": "standard", "message": "Which shelters are open tonight?" })]
pub struct ChatABody {
    #[request(check = check_message)]
    pub message: String,
    /// Model identifier of `GET /api/models`, or `fast`, `reasoning`, `vision`, `code`, `default`. By default the
    /// platform's default model.
    pub model: Option<String>,
    /// Streams the response as server-sent events: `delta`, then `done` or `error`.
    #[request(default = false)]
    pub stream: bool,
    #[request(range = 0.0..=1.0)]
    pub temperature: Option<f64>,
}

fn check_message(message: &str) -> Result<(), String> {
    if message.trim().is_empty() {
        return Err("must not be empty".to_owned());
    }
    if message.chars().count() > MAX_MESSAGE_CHARACTERS {
        return Err(format!("must have at most {MAX_MESSAGE_CHARACTERS} characters"));
    }
    Ok(())
}

fn no_conversation(fields: &mut Fields<'_>) {
    if fields.value("conversation_id").is_some() {
        fields.unsupported("conversation_id", "kept conversations are not supported yet: leave it out");
    }
}

impl ChatABody {
    /// Returns the request in the internal form. Interface A has no field for the length of the answer.
    fn request(&self, defaults: ChatDefaults) -> ChatRequest {
        ChatRequest {
            messages: vec![Message::text(Role::User, self.message.clone())],
            sampling: Sampling { temperature: self.temperature.map(|number| number as f32), ..Sampling::default() },
            defaults,
            ..ChatRequest::default()
        }
    }
}

impl Priced for ChatABody {
    fn estimate(&self, app: &App) -> Estimate {
        chat::estimate(app, &self.request(ChatDefaults::default()).prompt_parts(), chat::answer_tokens(app, None))
    }
}

/// The response of a model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatResultA {
    /// Always true.
    pub success: bool,
    pub response: String,
    /// Identifier of the model that responded. It differs from the requested name for an alias, and where the operator
    /// allows another model in its place (`X-Muster-Fallback: model`).
    pub model: String,
    /// Number of tokens of prompt and completion.
    pub tokens: u32,
    /// RFC 3339, UTC.
    pub timestamp: String,
}

/// Chat with a model
///
/// Returns the reply of a model. If a provider fails, the next one of the model is tried; without `model`, the next one of
/// the chain. The headers `X-Muster-Provider`, `X-Muster-Model` and `X-Muster-Fallback` name what answered.
#[utoipa::path(post, path = "/api/chat", tag = "interface A", operation_id = "chat_a", request_body = ChatABody,
    responses((status = 200, description = "The reply; with `stream` true an event stream of `delta` ({\"delta\": string}), then `done` (the whole reply) or `error` (the error body)", content((ChatResultA = "application/json"), (crate::sse::EventBody = "text/event-stream"))),
        RunErrors<InterfaceA>))]
pub async fn chat(
    request: Metered<ChatA, ChatABody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body, reservation, .. } = request;
    let request = body.request(chat::defaults(&app));
    let call = chat::gateway_request(&http, body.model.clone(), request, &reservation)?;
    if body.stream {
        let (clock, now) = (app.clock.clone(), app.clock.clone());
        let form = StreamForm::comments(move |error, out| {
            frame(Some("error"), &error_body(error, Dialect::A, now.now()), out);
        });
        let frames = async move |streaming: &AnswerStream| {
            Ok(ChatEventsA { model: streaming.model_id.clone(), text: String::new(), clock })
        };
        return chat::stream(&app, call, reservation, form, frames).await;
    }
    let answer = chat::complete(&app, &http, call, reservation).await?;
    Ok(HttpResponse::Ok().json(ChatResultA {
        success: true,
        response: answer.reply.first.content,
        model: answer.model_id,
        tokens: answer.usage.total(),
        timestamp: app.clock.now().rfc3339(),
    }))
}

struct ChatEventsA {
    model: String,
    /// Text received so far, for the complete response in the last event.
    text: String,
    clock: Clock,
}

impl Frames for ChatEventsA {
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
        frame(Some("error"), &error_body(error, Dialect::A, self.clock.now()), out);
    }
}
