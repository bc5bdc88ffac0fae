//! Chat completions of interface B in the format of OpenAI.

mod chunks;
mod request;
mod response;

use actix_web::http::header::ContentType;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::ids::{IdKind, new_id};
use muster_gateway::CompletedChat;
use muster_providers::with_members;
use serde_json::Value;

pub use request::ChatCompletionBody;
pub use response::ChatCompletion;

use crate::app::App;
use crate::chat;
use crate::error::HttpError;
use crate::error::sets::{OpenAi, RunErrors};
use crate::guard::{ChatB, Metered};
use crate::sse;
use chunks::ChunkWriter;
use response::UsageB;

/// Create a chat completion
///
/// Returns a chat completion in OpenAI's format. If a provider fails, the next provider of the chain is tried; after
/// the first content of a stream, a failure ends the stream with an `error` object and without `[DONE]`.
///
/// Fields that are not listed here are forwarded unchanged to a provider with an OpenAI-compatible API. Any other
/// provider rejects the known ones among them (`logprobs`, `logit_bias`, `audio`, `functions` and others) with
/// `unsupported_value`.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "interface B", operation_id = "create_chat_completion",
    request_body = ChatCompletionBody,
    responses((status = 200, description = "The completion; with `stream` true an event stream of `chat.completion.chunk` objects, then `[DONE]`", content((ChatCompletion = "application/json"), (crate::sse::EventBody = "text/event-stream"))),
        RunErrors<OpenAi>))]
pub async fn complete(
    request: Metered<ChatB, ChatCompletionBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body, sent, reservation, .. } = request;
    let call = chat::gateway_request(&http, Some(body.model.clone()), body.request(sent), &reservation);
    let (id, created) = (new_id(IdKind::ChatCompletion), app.clock.now().seconds());
    if body.stream {
        let streaming = chat::stream(&app, call, reservation).await?;
        let (model, clock) = (&streaming.model_id, app.clock.clone());
        let frames = ChunkWriter::new(&id, created, model, body.n, body.stream_options, clock);
        return Ok(sse::response(streaming, frames));
    }
    let mut answer = chat::complete(&app, call, reservation).await?;
    if let Some(body) = answer.reply.verbatim.take().and_then(|sent| verbatim(&sent, &answer)) {
        return Ok(HttpResponse::Ok().content_type(ContentType::json()).body(body));
    }
    Ok(HttpResponse::Ok().json(ChatCompletion::new(id, created, answer)))
}

/// Returns the response as the provider sent it, with the name of our model and the usage that it left out.
fn verbatim(sent: &[u8], answer: &CompletedChat) -> Option<Vec<u8>> {
    let mut ours = vec![("model", Value::from(answer.model_id.as_str()))];
    if answer.reply.usage.is_none() {
        ours.push(("usage", serde_json::to_value(UsageB::from(answer.usage)).ok()?));
    }
    with_members(sent, &ours)
}
