//! Medical consultation.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::{Bytes, BytesMut};
use muster_medical::answer::chat::{Consultation, consultation};
use muster_medical::answer::{Cites, common};
use muster_medical::input::Input;
use serde::Serialize;
use serde_json::json;

use super::answering::{Answer, Answering};
use super::body::{ConsultationRequest, Lenient};
use super::described::ConsultationAnswer;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{BodyErrors, Medical};
use crate::guard::{MedicalChat, Sent};
use crate::sse::{EventBody, frame};

/// Who phrased an answer.
#[derive(Debug, Clone, Serialize)]
pub struct Phrasing {
    by: &'static str,
    /// Checks that a model's text failed.
    rejected: Vec<String>,
}

/// Tokens of language models: none are used for rules.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Tokens {
    prompt: u32,
    completion: u32,
    total: u32,
}

#[derive(Debug, Clone, Serialize)]
pub struct Consulted {
    #[serde(flatten)]
    consultation: Consultation,
    model: &'static str,
    tokens: Tokens,
    phrasing: Phrasing,
}

/// Medical consultation
///
/// Returns what the rules recognise in a message, the level of care that follows, what may fit with its sources, and up to
/// three questions whose answers would change this most. The call to action is always first. With `stream: true` the response
/// is a stream of server-sent events: `triage`, `delta`, then `done` with the whole answer, or `error`.
#[utoipa::path(post, path = "/api/medical/chat", tag = "medical", operation_id = "medical_chat",
    request_body = ConsultationRequest,
    responses((status = 200, description = "The answer", content(
        (ConsultationAnswer = "application/json"), (EventBody = "text/event-stream"))), BodyErrors<Medical>))]
pub async fn chat(
    request: Sent<MedicalChat, Lenient<ConsultationRequest>>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let answering = Answering::begin(&app, &http)?;
    let Lenient { body, ignored } = request.body;
    let streamed = body.stream;
    let input = Input::from(body);
    let answer = answer(&answering, &input, ignored)?;
    answering.finish();
    Ok(if streamed { stream(&answer) } else { HttpResponse::Ok().json(answer) })
}

fn answer(answering: &Answering<'_>, input: &Input, ignored: Vec<String>) -> Result<Answer<Consulted>, HttpError> {
    let base = answering.base;
    let assessment = answering.assess(input)?;
    let mut cites = Cites::new(base);
    let common = common(base, input, &assessment, &answering.setting, &mut cites);
    let number = &answering.setting.emergency_number;
    let own = Consulted {
        consultation: consultation(base, input, &assessment, number, &mut cites),
        model: "clinical-rules",
        tokens: Tokens::default(),
        phrasing: Phrasing { by: "rules", rejected: Vec::new() },
    };
    Ok(Answer { head: answering.head(), common, own, citations: cites.finish(), ignored })
}

/// The answer as events. The rules' text is there at once, so that nothing is waited for.
fn stream(answer: &Answer<Consulted>) -> HttpResponse {
    let mut out = BytesMut::new();
    frame(Some("triage"), &answer.common.triage, &mut out);
    for part in answer.own.consultation.response.split_inclusive("\n\n") {
        frame(Some("delta"), &json!({ "text": part }), &mut out);
    }
    frame(Some("done"), answer, &mut out);
    let events = futures::stream::iter([Ok::<Bytes, std::convert::Infallible>(out.freeze())]);
    HttpResponse::Ok()
        .content_type("text/event-stream; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(events)
}
