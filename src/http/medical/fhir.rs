//! Answers as FHIR R5 resources.

use actix_web::http::header::ACCEPT;
use actix_web::{HttpRequest, HttpResponse};
use muster_medical::answer::cancer::{ModelAnswer, Site, SiteStatus};
use muster_medical::answer::protocol::ProtocolBlock;
use muster_medical::answer::{Citation, Common, INTENDED_USE};
use serde_json::{Value, json};

use super::answering::Answer;
use super::cancer::Assessed;
use super::protocols::Lookup;

/// Media type of FHIR in JSON.
const FHIR: &str = "application/fhir+json";

/// Whether the client prefers FHIR.
pub fn is_wanted(http: &HttpRequest) -> bool {
    let accepted = http.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|range| range.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(FHIR)))
}

pub fn response(resource: &Value) -> HttpResponse {
    HttpResponse::Ok().content_type(FHIR).body(resource.to_string())
}

/// The triage as one note.
fn note(common: &Common) -> Value {
    let triage = &common.triage;
    let level = triage.label.clone().unwrap_or_else(|| "not assessed".to_owned());
    json!([{ "text": format!("Triage: {level}. {}", triage.call_to_action) }, { "text": INTENDED_USE }])
}

/// A lookup as a Bundle of PlanDefinition.
pub fn plan_definitions(answer: &Answer<Lookup>) -> Value {
    let entries = answer.own.protocols.iter().map(|protocol| {
        json!({
            "fullUrl": format!("urn:muster:protocol:{}", protocol.id),
            "resource": plan_definition(protocol, answer)
        })
    });
    json!({ "resourceType": "Bundle", "type": "collection", "timestamp": answer.head.timestamp(),
            "entry": entries.collect::<Vec<_>>() })
}

fn plan_definition(protocol: &ProtocolBlock, answer: &Answer<Lookup>) -> Value {
    let actions = protocol.actions.iter().map(|action| {
        json!({
            "title": action.text,
            "priority": if action.urgency == "immediate" { "stat" } else { "routine" },
            "documentation": documentation(&answer.citations, &action.cite)
        })
    });
    let mut plan = json!({
        "resourceType": "PlanDefinition",
        "id": protocol.id,
        "version": protocol.version,
        "name": protocol.id.replace('-', "_"),
        "title": protocol.title,
        "type": { "coding": [{
            "system": "http://terminology.hl7.org/CodeSystem/plan-definition-type", "code": "clinical-protocol"
        }] },
        // No clinician has reviewed the record.
        "status": "draft",
        "experimental": true,
        "description": INTENDED_USE
    });
    // FHIR has no empty arrays.
    let actions: Vec<Value> = actions.collect();
    if let (false, Some(plan)) = (actions.is_empty(), plan.as_object_mut()) {
        plan.insert("action".to_owned(), Value::Array(actions));
    }
    plan
}

fn documentation(citations: &[Citation], cite: &[usize]) -> Vec<Value> {
    let cited = citations.iter().filter(|citation| cite.contains(&citation.n));
    let artifact = |citation: &Citation| {
        json!({
            "type": "citation",
            "citation": format!("{}: {} ({}), {}", citation.org, citation.title, citation.year, citation.locator),
            "document": { "url": citation.url }
        })
    };
    cited.map(artifact).collect()
}

/// An assessment of cancer referral criteria as RiskAssessment.
pub fn risk_assessment(answer: &Answer<Assessed>) -> Value {
    let cancer = &answer.own.cancer;
    let predictions: Vec<Value> =
        cancer.sites.iter().map(prediction_of_site).chain(cancer.models.iter().map(prediction_of_model)).collect();
    let mut risk = json!({
        "resourceType": "RiskAssessment",
        "status": "preliminary",
        "subject": { "display": "not identified" },
        "occurrenceDateTime": answer.head.timestamp(),
        "note": note(&answer.common)
    });
    if let Some(notes) = risk.get_mut("note").and_then(Value::as_array_mut) {
        notes.push(json!({ "text": cancer.not_excluded }));
    }
    if let (false, Some(risk)) = (predictions.is_empty(), risk.as_object_mut()) {
        risk.insert("prediction".to_owned(), Value::Array(predictions));
    }
    risk
}

/// The criteria that a site meets, with what is recommended. A rule gives no probability.
fn prediction_of_site(site: &Site) -> Value {
    let status = match site.status {
        SiteStatus::MeetsReferralCriteria => "Meets referral criteria",
        SiteStatus::MeetsTestCriteria => "Meets test criteria",
        SiteStatus::NotedBelowThreshold => "Noted below the threshold of a rule",
    };
    let condition = site.conditional.iter().map(|condition| format!(", {condition}"));
    let actions = site.recommendations.iter().map(|advised| format!("; {}: {}", advised.rule_id, advised.action));
    let rationale: String = std::iter::once(status.to_owned()).chain(condition).chain(actions).collect();
    json!({ "outcome": { "text": site.site }, "rationale": rationale })
}

/// The result of a published model, in percent as FHIR has it, where its unit is a probability.
fn prediction_of_model(model: &ModelAnswer) -> Value {
    let percent = match model.unit {
        unit if unit.starts_with('%') => model.value,
        "probability" => model.value.map(|share| share * 100.0),
        _ => None,
    };
    let horizon = model.horizon_years.map(|years| format!("Within {years} years. ")).unwrap_or_default();
    let mut prediction = json!({
        "outcome": { "text": model.name },
        "rationale": format!("{horizon}{} {}", model.reason, model.caveat).trim()
    });
    if let (Some(percent), Some(prediction)) = (percent, prediction.as_object_mut()) {
        prediction.insert("probabilityDecimal".to_owned(), json!(percent));
    }
    prediction
}
