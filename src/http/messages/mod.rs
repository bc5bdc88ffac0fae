//! Chat by Anthropic's Messages API, on the same chain as all other dialects.

mod answer;
mod frames;
mod request;
mod turns;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::ids::{IdKind, new_id};

pub use answer::{MessagesAnswer, TokenCount};
pub use request::{CountTokensBody, MessagesBody};

use crate::app::App;
use crate::chat;
use crate::error::{ErrorMessages, HttpError};
use crate::guard::{ChatB, Metered};
use crate::respond::RequestId;
use crate::sse;
use frames::FramesMessages;

/// A message, in the form of Anthropic's Messages API. Any model of the chain answers, whoever runs it.
///
/// The key comes as `x-api-key` or as `Authorization: Bearer`. `anthropic-version` is taken and not needed.
/// `thinking`, `top_k`, `service_tier`, `cache_control` and an effort are hints, taken without effect; tools that run at
/// Anthropic's, documents, files and MCP servers are refused. A failed `tool_result` reaches the model as a text that
/// begins with `Error: `.
///
/// A stream's `message_start` has an estimate of the input tokens, its `message_delta` what the provider counted. A
/// failure in the middle is an `error` event, and no `message_stop`. Where Anthropic would answer 529, this is 503 with
/// `overloaded_error` and `Retry-After`.
#[utoipa::path(post, operation_id = "create_message", path = "/v1/messages", tag = "interface B",
    request_body = MessagesBody, security(("key" = []), ("x_api_key" = [])),
    responses((status = 200, description = "The message; with `stream` true an event stream of `message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta` and `message_stop`.",
            content((MessagesAnswer = "application/json"), (crate::sse::EventBody = "text/event-stream"))),
        (status = 400, body = ErrorMessages), (status = 401, body = ErrorMessages), (status = 403, body = ErrorMessages),
        (status = 404, body = ErrorMessages), (status = 413, body = ErrorMessages), (status = 415, body = ErrorMessages),
        (status = 429, body = ErrorMessages), (status = 500, body = ErrorMessages), (status = 502, body = ErrorMessages),
        (status = 503, body = ErrorMessages)))]
pub async fn create(
    request: Metered<ChatB, MessagesBody>,
    http: HttpRequest,
    id: web::ReqData<RequestId>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body, reservation, .. } = request;
    let ask = chat::ask(&http, Some(body.model.clone()), body.request(), &reservation);
    if body.stream {
        let estimate = reservation.prompt();
        let streaming = chat::stream(&app, ask, reservation).await?;
        let model = streaming.model_id.clone();
        let frames = FramesMessages::new(new_id(IdKind::Message), model, id.0.clone(), estimate);
        return Ok(sse::response(streaming, frames));
    }
    let answer = chat::complete(&app, ask, reservation).await?;
    Ok(HttpResponse::Ok().json(MessagesAnswer::new(answer)))
}

/// How many tokens a prompt has: an estimate by the embedded model's tokenizer, whatever the model asked for, with its
/// tools and a few tokens for each turn. Images are not counted. Without an embedded model, and for more than 1 MiB of
/// text, it is a token for four bytes. It counts as a request, and spends no tokens.
#[utoipa::path(post, operation_id = "count_message_tokens", path = "/v1/messages/count_tokens", tag = "interface B",
    request_body = CountTokensBody, security(("key" = []), ("x_api_key" = [])),
    responses((status = 200, body = TokenCount), (status = 400, body = ErrorMessages), (status = 401, body = ErrorMessages),
        (status = 403, body = ErrorMessages), (status = 413, body = ErrorMessages), (status = 415, body = ErrorMessages),
        (status = 429, body = ErrorMessages), (status = 503, body = ErrorMessages)))]
pub async fn count_tokens(
    request: Metered<ChatB, CountTokensBody>,
    app: web::Data<App>,
) -> Result<web::Json<TokenCount>, HttpError> {
    let input_tokens = chat::count(&app, request.body.request()).await?;
    Ok(web::Json(TokenCount { input_tokens }))
}
