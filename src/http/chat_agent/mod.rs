//! Chat by the agent platform: along the chain, and the gateway with its own bounds.

mod frames;
mod reply;
mod request;

use actix_web::{HttpRequest, HttpResponse, web};

pub use reply::ChatReplyAgent;
pub use request::{ChatAgentBody, GatewayBody};

use crate::app::App;
use crate::chat;
use crate::error::{ErrorAgent, HttpError};
use crate::guard::{ChatAgent, Metered};
use crate::respond::RequestId;
use crate::sse;
use frames::FramesAgent;
use reply::latency;

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
        let frames = FramesAgent::new(&streaming, id.0.clone(), asked_at, app.clock.clone());
        return Ok(sse::response(streaming, frames));
    }
    let answer = chat::complete(&app, ask, reservation).await?;
    Ok(HttpResponse::Ok().json(ChatReplyAgent::new(answer, latency(&app.clock, asked_at))))
}
