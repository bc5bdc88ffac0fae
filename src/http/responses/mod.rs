//! Chat by OpenAI's Responses API, on the same chain as all other dialects. Nothing is stored.

mod answer;
mod frames;
mod items;
mod request;

use actix_web::{HttpRequest, HttpResponse, web};

pub use answer::ResponseObject;
pub use request::ResponsesBody;

use crate::app::App;
use crate::chat;
use crate::error::{ErrorB, HttpError};
use crate::guard::{ChatB, Metered};
use crate::sse;
use frames::FramesResponses;

/// A response, in the form of OpenAI's Responses API, without its memory: the whole conversation comes as `input`.
///
/// `previous_response_id`, `conversation`, `prompt`, `background: true` and tools that run at OpenAI's are refused with
/// `unsupported_value`. `store` is taken, and answered `false`; `include`, `reasoning`, `service_tier`,
/// `prompt_cache_key`, `max_tool_calls`, `stream_options` and a verbosity are hints, taken without effect.
///
/// A stream is events of the types of that API, numbered from 0. A failure in the middle is `response.failed`, then an
/// `error` event, at which the official clients raise.
#[utoipa::path(post, operation_id = "create_response", path = "/v1/responses", tag = "interface B",
    request_body = ResponsesBody,
    responses((status = 200, description = "The response; with `stream` true an event stream from `response.created` to `response.completed` or `response.incomplete`.",
            content((ResponseObject = "application/json"), (crate::sse::EventBody = "text/event-stream"))),
        (status = 400, body = ErrorB), (status = 401, body = ErrorB), (status = 403, body = ErrorB), (status = 404, body = ErrorB),
        (status = 413, body = ErrorB), (status = 415, body = ErrorB), (status = 429, body = ErrorB), (status = 500, body = ErrorB),
        (status = 502, body = ErrorB), (status = 503, body = ErrorB)))]
pub async fn create(
    request: Metered<ChatB, ResponsesBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body, reservation, .. } = request;
    let ask = chat::ask(&http, Some(body.model.clone()), body.request(), &reservation);
    let created = app.clock.now();
    if body.stream {
        let streaming = chat::stream(&app, ask, reservation).await?;
        let begun = ResponseObject::begun(streaming.model_id.clone(), body.asked(), created);
        return Ok(sse::response(streaming, FramesResponses::new(begun, app.clock.clone())));
    }
    let answer = chat::complete(&app, ask, reservation).await?;
    let mut response = ResponseObject::begun(answer.model_id, body.asked(), created);
    let finish = answer.reply.first.finish;
    response.fill(answer.reply.first);
    response.end(finish, answer.usage, app.clock.now());
    Ok(HttpResponse::Ok().json(response))
}
