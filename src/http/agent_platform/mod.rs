//! Chat of the agent platform: with the provider chain's bounds, and as a gateway call with bounds of its own.

mod events;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_gateway::AnswerStream;

pub use crate::chat::agent_reply::{ChatReplyAgent, GatewayReply};
pub use crate::chat::agent_request::{ChatAgentBody, GatewayBody};

use crate::app::App;
use crate::chat;
use crate::chat::agent_reply::{BudgetView, latency};
use crate::error::sets::{Agent, BodyErrors, NotFound};
use crate::error::{Dialect, HttpError, body};
use crate::guard::{ChatAgent, Metered};
use crate::media::inline::inline_pictures;
use crate::respond::RequestId;
use crate::sse::{StreamForm, frame};
use events::{GatewayEvents, ReplyEvents};

/// Chat with failover
///
/// Returns the reply of a model. If a provider fails, the next one is tried; 503 is returned if none is left. Without
/// `model` these are the providers of the chain, in order; with it, those that have this model, and what the operator
/// allows in its place. The headers `X-Muster-Provider`, `X-Muster-Model` and `X-Muster-Fallback` (`none`, `provider`,
/// `model`) name what answered.
#[utoipa::path(post, path = "/api/llm/chat", tag = "chat", operation_id = "chat_agent", request_body = ChatAgentBody,
    responses((status = 200, description = "The reply; with `stream` true an event stream of `start` ({model, provider, request_id}), `delta` ({content}), then `done` (the whole reply) or `error` (the error body)", content((ChatReplyAgent = "application/json"), (crate::sse::EventBody = "text/event-stream"))),
        BodyErrors<Agent>, NotFound<Agent>))]
pub async fn chat(
    request: Metered<ChatAgent, ChatAgentBody>,
    http: HttpRequest,
    id: web::ReqData<RequestId>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body: request, reservation, .. } = request;
    let mut chat = request.request(chat::defaults(&app));
    inline_pictures(&app, &http, &mut chat).await?;
    let call = chat::gateway_request(&http, request.model.clone(), chat, &reservation)?;
    let asked_at = app.clock.now();
    if request.stream {
        let (id, clock) = (id.0.clone(), app.clock.clone());
        let frames = async move |streaming: &AnswerStream| Ok(ReplyEvents::new(streaming, id, asked_at, clock));
        return chat::stream(&app, call, reservation, form(&app), frames).await;
    }
    let answer = chat::complete(&app, &http, call, reservation).await?;
    Ok(HttpResponse::Ok().json(ChatReplyAgent::new(answer, latency(&app.clock, asked_at))))
}

/// Chat with a routing policy
///
/// Returns the reply of a model, with the request's own list of models, budget, number of attempts, deadline and
/// hedging. Budgets of keys and models are kept for each calendar month: the maximum cost of a call is reserved before
/// it, its actual cost recorded after it. With `models`, one without remaining budget is skipped; 429 `BUDGET_EXHAUSTED` is
/// returned if none is left.
#[utoipa::path(post, path = "/api/q159/llm/chat", tag = "chat", operation_id = "chat_gateway", request_body = GatewayBody,
    responses((status = 200, description = "The reply; with `stream` true an event stream of `start` ({model, provider, request_id}), `delta` ({content}), then `done` (the whole reply) or `error` (the error body)", content((GatewayReply = "application/json"), (crate::sse::EventBody = "text/event-stream"))),
        BodyErrors<Agent>, NotFound<Agent>))]
pub async fn gateway(
    request: Metered<ChatAgent, GatewayBody>,
    http: HttpRequest,
    id: web::ReqData<RequestId>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body: request, reservation, .. } = request;
    let mut chat = request.chat.request(chat::defaults(&app));
    inline_pictures(&app, &http, &mut chat).await?;
    let call = request.bound(chat::gateway_request(&http, request.chat.model.clone(), chat, &reservation)?);
    let asked_at = app.clock.now();
    if request.chat.stream {
        let (id, shared) = (id.0.clone(), app.clone());
        let frames = async move |streaming: &AnswerStream| {
            let frames = ReplyEvents::new(streaming, id, asked_at, shared.clock.clone());
            let budget = BudgetView::of(&shared.live(), &shared.ledger, &streaming.model_id).await?;
            Ok(GatewayEvents::new(frames, budget, shared.live().chain.clone()))
        };
        return chat::stream(&app, call, reservation, form(&app), frames).await;
    }
    let answer = chat::complete(&app, &http, call, reservation).await?;
    let latency_ms = latency(&app.clock, asked_at);
    Ok(HttpResponse::Ok().json(GatewayReply::new(&app.live(), &app.ledger, answer, latency_ms).await?))
}

/// Returns how a stream is written before its answer begins.
fn form(app: &App) -> StreamForm {
    let clock = app.clock.clone();
    StreamForm::comments(move |error, out| frame(Some("error"), &body(error, Dialect::Agent, clock.now()), out))
}
