//! Chat by OpenAI's Responses API, on the same provider chain as all other dialects. Responses are not stored.

mod events;
mod items;
mod request;
mod response;

use actix_web::{HttpRequest, HttpResponse, web};

pub use request::ResponsesBody;
pub use response::ResponseObject;

use crate::app::App;
use crate::chat;
use crate::error::HttpError;
use crate::error::sets::{OpenAi, RunErrors};
use crate::guard::{ChatB, Metered};
use crate::sse;
use events::ResponseEvents;

/// Create a response
///
/// Returns a response in the format of OpenAI's Responses API, without stored state: `input` contains the whole
/// conversation. `previous_response_id`, `conversation`, `prompt`, `background: true` and tools that run on OpenAI's
/// servers are rejected with `unsupported_value`. `store` is accepted and returned as `false`. `include`, `reasoning`,
/// `service_tier`, `prompt_cache_key`, `max_tool_calls`, `stream_options` and a verbosity are accepted without effect.
///
/// The events of a stream are numbered from 0. A failure during a stream is `response.failed`, followed by an `error`
/// event.
#[utoipa::path(post, path = "/v1/responses", tag = "interface B", operation_id = "create_response", request_body = ResponsesBody,
    responses((status = 200, description = "The response; with `stream` true an event stream from `response.created` to `response.completed` or `response.incomplete`", content((ResponseObject = "application/json"), (crate::sse::EventBody = "text/event-stream"))),
        RunErrors<OpenAi>))]
pub async fn create(
    request: Metered<ChatB, ResponsesBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body, reservation, .. } = request;
    let call = chat::gateway_request(&http, Some(body.model.clone()), body.request(), &reservation);
    let created = app.clock.now();
    if body.stream {
        let streaming = chat::stream(&app, call, reservation).await?;
        let begun = ResponseObject::in_progress(streaming.model_id.clone(), body.repeated_fields(), created);
        return Ok(sse::response(streaming, ResponseEvents::new(begun, app.clock.clone())));
    }
    let answer = chat::complete(&app, call, reservation).await?;
    let mut response = ResponseObject::in_progress(answer.model_id, body.repeated_fields(), created);
    let finish = answer.reply.first.finish;
    response.fill(answer.reply.first);
    response.end(finish, answer.usage, app.clock.now());
    Ok(HttpResponse::Ok().json(response))
}
