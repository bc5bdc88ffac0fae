//! Chat completions of interface B in the format of OpenAI.

mod chunks;
mod request;
mod response;

use actix_web::http::header::ContentType;
use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use muster_core::ids::{IdKind, new_id};
use muster_gateway::{AnswerStream, CompletedChat};
use muster_providers::{ChatDefaults, with_members};
use serde_json::Value;

pub use request::ChatCompletionBody;
pub use response::{ChatCompletion, ToolCallB};

use crate::app::App;
use crate::chat;
use crate::chat::tags::BodyTags;
use crate::error::sets::{OpenAi, RunErrors};
use crate::error::{Dialect, HttpError, body as error_body};
use crate::guard::{ChatB, Metered};
use crate::media::inline::inline_pictures;
use crate::sse::{StreamForm, frame};
use chunks::ChunkWriter;
use response::UsageB;

/// Create a chat completion
///
/// Returns a chat completion in OpenAI's format. If a provider fails, the next one of the model is tried, and other
/// models only as the operator allows; after the first content of a stream, a failure ends the stream with an `error`
/// object and without `[DONE]`. The headers `X-Muster-Provider`, `X-Muster-Model` and `X-Muster-Fallback` (`none`,
/// `provider`, `model`) name what answered, as they do for every route that calls a model.
///
/// `logprobs`, `top_logprobs`, `logit_bias`, `functions`, `function_call`, `verbosity`, `reasoning_effort`,
/// `prompt_cache_key`, `prompt_cache_retention` and `safety_identifier` are forwarded unchanged to a provider with an
/// OpenAI-compatible API; a provider without one rejects the first six with `unsupported_value`. `store` and
/// `service_tier` are accepted without effect, as is `metadata` except for `metadata.tags`. Any other field is rejected with `unsupported_value`, unless the settings
/// of the provider name it, because its cost is not known. Of two fields with one name the last counts.
///
/// A stream whose first content takes long begins with comment lines; a failure after them is an `error` object.
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
    chat::check_extensions(&app, &body.extensions)?;
    http.extensions_mut().insert(BodyTags(body.tags.clone()));
    let temperature = app.live().config.chat.default_temperature.value();
    let mut request = body.request(sent, ChatDefaults { temperature, ..chat::defaults(&app) });
    inline_pictures(&app, &http, &mut request).await?;
    let call = chat::gateway_request(&http, Some(body.model.clone()), request, &reservation)?;
    let (id, created) = (new_id(IdKind::ChatCompletion), app.clock.now().seconds());
    if body.stream {
        let (clock, now) = (app.clock.clone(), app.clock.clone());
        let form = StreamForm::comments(move |error, out| frame(None, &error_body(error, Dialect::B, now.now()), out));
        let frames = async move |streaming: &AnswerStream| {
            Ok(ChunkWriter::new(&id, created, &streaming.model_id, body.n, body.stream_options, clock))
        };
        return chat::stream(&app, call, reservation, form, frames).await;
    }
    let mut answer = chat::complete(&app, &http, call, reservation).await?;
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
