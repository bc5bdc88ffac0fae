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
use crate::medical::ProviderCalls;

/// What this answer adds.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assessed {
    #[serde(flatten)]
    pub cancer: CancerAnswer,
    pub images: Vec<ImageBlock>,
}

/// Warnings where a request permits an outside service that was not asked, or did not answer.
const NOT_CONFIGURED: &str = "external_processing_not_configured: no outside service for pictures is configured, and none \
     was asked.";
const PROFESSIONALS_ONLY: &str = "external_processing_for_professionals: what an outside service writes is unverified, and \
     only quoted with `audience` \"professional\": none was asked.";
const FAILED: &str = "external_processing_failed: the outside service did not answer about at least one picture.";
const NO_PIXELS: &str = "external_processing_no_pixels: DICOM pixels are not read and go to nobody.";

/// Assess cancer referral criteria
///
/// Returns which referral and test criteria of published guidance are met, published risk models where all their inputs are
/// there, and what the bytes of pictures show: kind, dimensions, sharpness, metadata. No picture is interpreted, and what is
/// not met excludes nothing. With `allowExternalImageProcessing` an outside service that the operator has configured is shown
/// the pixels of PNG and JPEG pictures, encoded anew; what it writes is quoted as `providerFindings` and changes nothing else.
/// `Accept: application/fhir+json` returns a FHIR R5 RiskAssessment.
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
    let outside = body.allow_external_image_processing && !pictures.is_empty();
    let professional = body.audience.unwrap_or(Audience::Professional) == Audience::Professional;
    let mut answer = answer(&answering, body, &jurisdiction, &pictures, ignored)?;
    answering.finish();
    if outside {
        let warnings = match ProviderCalls::for_pictures(&app, &http)? {
            None => vec![NOT_CONFIGURED],
            Some(_) if !professional => vec![PROFESSIONALS_ONLY],
            Some(calls) => quote(&app, &calls, pictures, &caller, &mut answer.own.images).await?,
        };
        answer.common.warnings.extend(warnings.into_iter().map(str::to_owned));
    }
    if fhir::is_wanted(&http) {
        return Ok(fhir::response(&fhir::risk_assessment(&answer)));
    }
    Ok(HttpResponse::Ok().json(answer))
}

/// Adds what an outside service sees in the pictures that have pixels. Returns what is to be warned of.
async fn quote(
    app: &App,
    calls: &ProviderCalls,
    pictures: Vec<Examined>,
    caller: &EngineCaller,
    blocks: &mut [ImageBlock],
) -> Result<Vec<&'static str>, HttpError> {
    let (decodable, dicom): (Vec<_>, Vec<_>) =
        pictures.into_iter().enumerate().partition(|(_, (picture, _))| picture.format().is_some());
    let (indices, pictures): (Vec<_>, Vec<_>) = decodable.into_iter().map(|(at, (picture, _))| (at, picture)).unzip();
    let pixels = images::pixels(&app.engines, pictures, caller).await?;
    let findings = calls.findings(pixels).await;
    let failed = findings.iter().any(Option::is_none);
    for (at, found) in indices.into_iter().zip(findings) {
        if let Some(block) = blocks.get_mut(at) {
            block.provider_findings = found;
        }
    }
    let warnings = [(failed, FAILED), (!dicom.is_empty(), NO_PIXELS)];
    Ok(warnings.into_iter().filter(|(holds, _)| *holds).map(|(_, warning)| warning).collect())
}

fn answer(
    answering: &Answering<'_>,
    body: CancerRequest,
    jurisdiction: &str,
    pictures: &[Examined],
    ignored: Vec<String>,
) -> Result<Answer<Assessed>, HttpError> {
    let base = answering.base;
    let (language, audience) = (body.language.unwrap_or("en"), body.audience.unwrap_or(Audience::Professional));
    let request = request(body, jurisdiction);
    let input = request.input(language, audience);
    let assessment = answering.assess(&input)?;
    let mut cites = Cites::new(base);
    let common = common(base, &input, &assessment, &answering.setting, &mut cites);
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
