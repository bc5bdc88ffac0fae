//! Chat by Anthropic's Messages API, on the same provider chain as all other dialects.

mod conversation;
mod events;
mod request;
mod response;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::ids::{IdKind, new_id};
use muster_gateway::AnswerStream;

pub use request::{CountTokensBody, MessagesBody};
pub use response::{MessagesAnswer, TokenCount};

use crate::app::App;
use crate::chat;
use crate::error::sets::{Anthropic, BodyErrors, RunErrors};
use crate::error::{ErrorMessages, HttpError};
use crate::guard::{ChatB, Metered};
use crate::media::inline::inline_pictures;
use crate::respond::RequestId;
use crate::sse::{StreamForm, frame};
use events::MessageEvents;

/// The event that keeps a stream alive, as Anthropic's API sends it.
const PING: &[u8] = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";

/// Create a message
///
/// Returns a message in the format of Anthropic's Messages API, from a model of any provider. `anthropic-version` is
/// accepted and not required.
///
/// `thinking`, `service_tier` and `cache_control` are accepted without effect. Tools that run on
/// Anthropic's servers, documents, files and MCP servers are rejected. A failed `tool_result` reaches the model as a
/// text that begins with `Error: `.
///
/// A stream whose first content takes long begins with `ping` events. The `message_start` of a stream contains an estimate of the input tokens, its `message_delta` the count of the
/// provider. A failure during a stream is an `error` event without `message_stop`. Overload is 503 with
/// `overloaded_error` and `Retry-After`, where Anthropic's API returns 529.
#[utoipa::path(post, path = "/v1/messages", tag = "interface B", operation_id = "create_message", request_body = MessagesBody,
    security(("key" = []), ("x_api_key" = []), ("token" = [])),
    responses((status = 200, description = "The message; with `stream` true an event stream of `message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta` and `message_stop`", content((MessagesAnswer = "application/json"), (crate::sse::EventBody = "text/event-stream"))),
        RunErrors<Anthropic>))]
pub async fn create(
    request: Metered<ChatB, MessagesBody>,
    http: HttpRequest,
    id: web::ReqData<RequestId>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body, reservation, .. } = request;
    let mut request = body.request();
    inline_pictures(&app, &http, &mut request).await?;
    let call = chat::gateway_request(&http, Some(body.model.clone()), request, &reservation)?;
    if body.stream {
        let estimate = reservation.prompt();
        let (id, failed_id) = (id.0.clone(), id.0.clone());
        let form = StreamForm::pings(PING, move |error, out| {
            frame(Some("error"), &ErrorMessages::new(error, Some(&failed_id)), out);
        });
        let frames = async move |streaming: &AnswerStream| {
            Ok(MessageEvents::new(new_id(IdKind::Message), streaming.model_id.clone(), id, estimate))
        };
        return chat::stream(&app, call, reservation, form, frames).await;
    }
    let answer = chat::complete(&app, &http, call, reservation).await?;
    Ok(HttpResponse::Ok().json(MessagesAnswer::new(answer)))
}

/// Count the tokens of a message
///
/// Returns an estimate of the number of tokens of a prompt with its tools, by the tokenizer of the embedded model,
/// whatever model is named. Images are not counted. Without an embedded model, and for more than 1 MiB of text, a token
/// is counted for every four bytes. The call counts as a request and spends no tokens.
#[utoipa::path(post, path = "/v1/messages/count_tokens", tag = "interface B", operation_id = "count_message_tokens",
    request_body = CountTokensBody, security(("key" = []), ("x_api_key" = []), ("token" = [])),
    responses((status = 200, description = "The number of tokens", body = TokenCount), BodyErrors<Anthropic>))]
pub async fn count_tokens(
    request: Metered<ChatB, CountTokensBody>,
    app: web::Data<App>,
) -> Result<web::Json<TokenCount>, HttpError> {
    let input_tokens = chat::count(&app, request.body.request()).await?;
    Ok(web::Json(TokenCount { input_tokens }))
}
