//! Lookup of clinical protocols.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_medical::answer::card::{Card, cards};
use muster_medical::answer::protocol::{ProtocolBlock, protocol};
use muster_medical::answer::vitals::{VitalAssessment, vitals};
use muster_medical::answer::{Cites, common};
use muster_medical::input::Input;
use serde::Serialize;

use super::answering::{Answer, Answering};
use super::body::{Lenient, ProtocolRequest};
use super::described::ProtocolAnswer;
use super::fhir;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{BodyErrors, Medical};
use crate::guard::{MedicalProtocols, Sent};

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lookup {
    specialty: String,
    pub protocols: Vec<ProtocolBlock>,
    vital_assessment: Vec<VitalAssessment>,
    cards: Vec<Card>,
}

/// Look up clinical protocols
///
/// Returns the red flags that the symptoms and values fire, the level of care that follows from them, and the protocols that
/// fit best, each with its actions and sources. Rules decide; no language model is asked. What is not mentioned counts as
/// unknown, never as absent. `Accept: application/fhir+json` returns a FHIR R5 Bundle of PlanDefinition.
#[utoipa::path(post, path = "/api/medical/clinical-protocols", tag = "medical", operation_id = "lookup_protocols",
    request_body = ProtocolRequest,
    responses((status = 200, description = "The protocols", content(
        (ProtocolAnswer = "application/json"), (crate::schema::AnyObject = "application/fhir+json"))),
        BodyErrors<Medical>))]
pub async fn lookup(
    request: Sent<MedicalProtocols, Lenient<ProtocolRequest>>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let answering = Answering::begin(&app, &http)?;
    let Lenient { body, ignored } = request.body;
    let limit = body.limit;
    let input = Input::from(body);
    let answer = answer(&answering, &input, limit, ignored)?;
    answering.finish();
    if fhir::is_wanted(&http) {
        return Ok(fhir::response(&fhir::plan_definitions(&answer)));
    }
    Ok(HttpResponse::Ok().json(answer))
}

fn answer(
    answering: &Answering<'_>,
    input: &Input,
    limit: usize,
    ignored: Vec<String>,
) -> Result<Answer<Lookup>, HttpError> {
    let base = answering.base;
    let assessment = answering.assess(input)?;
    let mut cites = Cites::new(base);
    let common = common(base, input, &assessment, &answering.setting, &mut cites);
    let ranked = assessment.ranked.get(..limit.min(assessment.ranked.len())).unwrap_or_default();
    let protocols =
        ranked.iter().filter_map(|ranked| protocol(base, &assessment, ranked, input.audience, &mut cites)).collect();
    let own = Lookup {
        specialty: input.specialty.clone().unwrap_or_default(),
        protocols,
        vital_assessment: vitals(&assessment, &mut cites),
        cards: cards(base, &assessment.triage.fired, ranked, answering.request_id()),
    };
    Ok(Answer { head: answering.head(), common, own, citations: cites.finish(), ignored: answering.ignored(ignored) })
}
