//! Assessment of cancer referral criteria, published risk models, and pictures by their bytes.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_medical::answer::cancer::{CancerAnswer, cancer};
use muster_medical::answer::{Cites, common};
use muster_medical::cancer::request::{CancerLabs, CancerRequest as Request, Jurisdiction};
use muster_medical::image::block::{ImageBlock, blocks};
use muster_medical::input::Audience;
use muster_tasks::engine::EngineCaller;
use serde::Serialize;

use super::answering::{Answer, Answering};
use super::body::{CancerRequest, Lenient};
use super::described_cancer::CancerDiagnosisAnswer;
use super::fhir;
use super::images::{self, Examined};
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{BodyErrors, Medical};
use crate::guard::{MedicalCancer, Sent, acting};

/// What this answer adds.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assessed {
    #[serde(flatten)]
    pub cancer: CancerAnswer,
    pub images: Vec<ImageBlock>,
}

/// Told where a request permits what no operator has configured.
const NOT_CONFIGURED: &str = "external_processing_not_configured: no outside service for pictures is configured, and none \
     was asked.";

/// Assess cancer referral criteria
///
/// Returns which referral and test criteria of published guidance are met, published risk models where all their inputs are
/// there, and what the bytes of pictures show: kind, dimensions, sharpness, metadata. No picture is interpreted, and what is
/// not met excludes nothing. `Accept: application/fhir+json` returns a FHIR R5 RiskAssessment.
#[utoipa::path(post, path = "/api/medical/cancer-diagnosis", tag = "medical", operation_id = "assess_cancer",
    request_body = CancerRequest,
    responses((status = 200, description = "The assessment", content(
        (CancerDiagnosisAnswer = "application/json"), (crate::schema::AnyObject = "application/fhir+json"))),
        BodyErrors<Medical>))]
pub async fn assess(
    request: Sent<MedicalCancer, Lenient<CancerRequest>>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let answering = Answering::begin(&app, &http)?;
    let caller = EngineCaller::of(&acting(&http)?);
    // What was sent is not needed beside the pictures.
    let Sent { body: Lenient { mut body, ignored }, .. } = request;
    let pictures = images::examine(&app.engines, body.images.take().unwrap_or_default(), &caller).await?;
    let jurisdiction = app.live().config.medical.jurisdiction.clone();
    let answer = answer(&answering, body, &jurisdiction, &pictures, ignored)?;
    answering.finish();
    if fhir::is_wanted(&http) {
        return Ok(fhir::response(&fhir::risk_assessment(&answer)));
    }
    Ok(HttpResponse::Ok().json(answer))
}

fn answer(
    answering: &Answering<'_>,
    body: CancerRequest,
    jurisdiction: &str,
    pictures: &[Examined],
    ignored: Vec<String>,
) -> Result<Answer<Assessed>, HttpError> {
    let base = answering.base;
    let asks_outside = body.allow_external_image_processing && !pictures.is_empty();
    let (language, audience) = (body.language.unwrap_or("en"), body.audience.unwrap_or(Audience::Professional));
    let request = request(body, jurisdiction);
    let input = request.input(language, audience);
    let assessment = answering.assess(&input)?;
    let mut cites = Cites::new(base);
    let mut common = common(base, &input, &assessment, &answering.setting, &mut cites);
    if asks_outside {
        common.warnings.push(NOT_CONFIGURED.to_owned());
    }
    let cancer = cancer(base, &input, &assessment, &request, &common.triage, &mut cites);
    let own = Assessed { cancer, images: blocks(pictures) };
    Ok(Answer { head: answering.head(), common, own, citations: cites.finish(), ignored: answering.ignored(ignored) })
}

/// `default` is the jurisdiction of the configuration.
fn request(body: CancerRequest, default: &str) -> Request {
    let labs = body.labs.unwrap_or_default();
    Request {
        age: body.patient_age,
        sex: body.patient_sex.flatten(),
        symptoms: body.symptoms,
        risk_factors: body.risk_factors.unwrap_or_default(),
        labs: CancerLabs { fit: labs.fit, ca125: labs.ca125, psa: labs.psa, hb: labs.hb, platelets: labs.platelets },
        organs: body.organs.unwrap_or_default(),
        jurisdiction: Jurisdiction::parse(body.jurisdiction.unwrap_or(default)).unwrap_or_default(),
    }
}
