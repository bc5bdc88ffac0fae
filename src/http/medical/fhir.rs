//! Answers as FHIR R5 resources.

use actix_web::http::header::ACCEPT;
use actix_web::{HttpRequest, HttpResponse};
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
    let own = serde_json::to_value(&answer.own).unwrap_or_default();
    let list = |name: &str| own.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut predictions = Vec::new();
    for site in list("sites") {
        predictions.push(json!({
            "outcome": { "text": text(&site, "site") },
            "rationale": text(&site, "status")
        }));
    }
    for model in list("models") {
        let mut prediction = json!({
            "outcome": { "text": text(&model, "id") },
            "rationale": model.get("reason").and_then(Value::as_str).unwrap_or("published risk model")
        });
        let percent = model.get("unit").and_then(Value::as_str) == Some("%");
        if let (Some(value), Some(prediction)) =
            (model.get("value").and_then(Value::as_f64), prediction.as_object_mut())
        {
            // FHIR gives probabilities in percent.
            let percent = if percent { value } else { value * 100.0 };
            prediction.insert("probabilityDecimal".to_owned(), json!(percent));
        }
        predictions.push(prediction);
    }
    let mut risk = json!({
        "resourceType": "RiskAssessment",
        "status": "preliminary",
        "subject": { "display": "not identified" },
        "occurrenceDateTime": answer.head.timestamp(),
        "note": note(&answer.common)
    });
    if let (false, Some(risk)) = (predictions.is_empty(), risk.as_object_mut()) {
        risk.insert("prediction".to_owned(), Value::Array(predictions));
    }
    risk
}
