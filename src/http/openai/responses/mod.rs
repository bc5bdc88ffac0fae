//! Chat by OpenAI's Responses API, on the same provider chain as all other dialects. Responses are not stored.

mod events;
mod items;
mod request;
mod response;

use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use muster_gateway::AnswerStream;

pub use request::ResponsesBody;
pub use response::ResponseObject;

use crate::app::App;
use crate::chat;
use crate::chat::tags::BodyTags;
use crate::error::HttpError;
use crate::error::sets::{OpenAi, RunErrors};
use crate::guard::{ChatB, Metered};
use crate::media::inline::inline_pictures;
use crate::sse::{Frames, StreamForm};
use events::ResponseEvents;

/// Create a response
///
/// Returns a response in the format of OpenAI's Responses API, without stored state: `input` contains the whole
/// conversation. `previous_response_id`, `conversation`, `prompt`, `background: true` and tools that run on OpenAI's
/// servers are rejected with `unsupported_value`. `store` is accepted and returned as `false`. `include`, all of
/// `reasoning` but its `effort`, `service_tier`, `prompt_cache_key`, `max_tool_calls`, `stream_options` and a verbosity are accepted without effect.
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
    http.extensions_mut().insert(BodyTags(body.tags.clone()));
    let mut request = body.request();
    inline_pictures(&app, &http, &mut request).await?;
    let call = chat::gateway_request(&http, Some(body.model.clone()), request, &reservation)?;
    let created = app.clock.now();
    if body.stream {
        let (fields, clock) = (body.repeated_fields(), app.clock.clone());
        let failed = ResponseObject::in_progress(body.model, fields.clone(), created);
        let mut failed = ResponseEvents::new(failed, clock.clone());
        let form = StreamForm::comments(move |error, out| {
            failed.start(out);
            failed.error(error, out);
        });
        let frames = async move |streaming: &AnswerStream| {
            let begun = ResponseObject::in_progress(streaming.model_id.clone(), fields, created);
            Ok(ResponseEvents::new(begun, clock))
        };
        return chat::stream(&app, call, reservation, form, frames).await;
    }
    let answer = chat::complete(&app, &http, call, reservation).await?;
    let mut response = ResponseObject::in_progress(answer.model_id, body.repeated_fields(), created);
    let finish = answer.reply.first.finish;
    response.fill(answer.reply.first);
    response.end(finish, answer.usage, app.clock.now());
    Ok(HttpResponse::Ok().json(response))
}
