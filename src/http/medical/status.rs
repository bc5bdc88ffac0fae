//! Status of the medical interface.

use actix_web::{HttpResponse, web};
use muster_clinical::{Capabilities, Knowledge};
use muster_medical::base::{ReviewStatus, VERSION};
use muster_medical::{languages, score};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::config::Phrasing;
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Medical};
use crate::guard::{Guarded, MedicalStatus};

/// The state of the medical interface.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MedicalStatusReport {
    /// Always true.
    pub success: bool,
    /// `operational`, `degraded` where a review is overdue, or `unavailable`.
    pub status: &'static str,
    /// Percent of the minutes of the last thirty days, or since the first start, in which the self-test passed, rounded
    /// down.
    #[schema(example = "99.98%")]
    pub uptime: String,
    /// Median of the last 1,000 answers, else of the self-tests.
    #[schema(example = "1.8ms")]
    pub latency: String,
    pub capabilities: CapabilityFlags,
    pub details: MedicalStatusDetails,
    /// RFC 3339, UTC.
    pub timestamp: String,
}

/// Each is true while its self-test passes.
#[derive(Debug, Serialize, ToSchema)]
pub struct CapabilityFlags {
    /// Red flags fire on their examples, and their protocols are returned.
    #[serde(rename = "clinicalCDSS")]
    pub clinical_cdss: bool,
    /// The consultation about an emergency begins with the call for help.
    #[serde(rename = "medicalAI")]
    pub medical_ai: bool,
    /// Referral rules are met by their examples. No image is interpreted.
    #[serde(rename = "cancerDiagnosis")]
    pub cancer_diagnosis: bool,
    /// Calls to action and a lexicon in every language that has fixed lines.
    #[serde(rename = "multiLanguage")]
    pub multi_language: bool,
}

impl From<Capabilities> for CapabilityFlags {
    fn from(tested: Capabilities) -> Self {
        let Capabilities { clinical_cdss, medical_ai, cancer_diagnosis, multi_language } = tested;
        Self { clinical_cdss, medical_ai, cancer_diagnosis, multi_language }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MedicalStatusDetails {
    pub kb_version: &'static str,
    /// Hash of the data.
    pub ruleset: Option<String>,
    pub protocols: usize,
    pub red_flag_rules: usize,
    pub specialties: usize,
    pub scores: usize,
    /// Languages with fixed lines of their own.
    pub languages: Vec<&'static str>,
    /// `rules`, or `model` where a provider may phrase and translate.
    pub phrasing: &'static str,
    /// Hours for which conversations are kept; 0 keeps nothing.
    pub keep_hours: u64,
    pub image_model: Option<String>,
    pub cancer_diagnosis: &'static str,
    pub latency: MedicalLatency,
    pub down_seconds: u64,
    pub reviewed: MedicalReviews,
    /// Records whose review is overdue.
    pub overdue: usize,
    /// Technical safeguards of 45 CFR 164.312 that are in place. This is no claim of compliance.
    pub safeguards: Vec<MedicalSafeguard>,
    /// Why the interface is not operational.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defect: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MedicalLatency {
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub samples: usize,
}

/// How many records a clinician has reviewed.
#[derive(Debug, Serialize, ToSchema)]
pub struct MedicalReviews {
    pub protocols: usize,
    pub rules: usize,
    pub by: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MedicalSafeguard {
    pub control: &'static str,
    pub cfr: &'static str,
}

/// Controls that this server has, with the paragraph they belong to.
const SAFEGUARDS: &[(&str, &str)] = &[
    ("unique API key for each client, scope `medical` granted by the operator only", "164.312(a)(1), (a)(2)(i)"),
    ("nothing clinical is logged, traced or counted, and by default nothing is stored", "164.312(a)(1)"),
    ("access in an emergency for a stated reason, audited and told to the owner", "164.312(a)(2)(ii)"),
    ("kept conversations are encrypted and end on time", "164.312(a)(2)(iv), (e)(2)(ii)"),
    ("kept conversations are authenticated with their identifier and owner", "164.312(c)(2)"),
    ("audit log of access rights and settings", "164.312(b)"),
    ("hash of the data in every response", "164.312(c)(1)"),
    ("keys are stored hashed and compared in constant time", "164.312(d)"),
];

/// Status of the medical interface
///
/// Returns whether the knowledge base passes its self-tests, since when, how fast it answers, and what it contains.
#[utoipa::path(get, path = "/api/medical/clinical-protocols", tag = "medical", operation_id = "medical_status",
    responses((status = 200, description = "The state", body = MedicalStatusReport), CallErrors<Medical>))]
pub async fn status(_guard: Guarded<MedicalStatus>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let availability = app.medical.uptime.availability().await?;
    let now = app.clock.now().rfc3339();
    let today = now.get(..10).unwrap_or_default();
    let (knowledge, defect) = match app.medical.knowledge() {
        Ok(knowledge) => (Some(knowledge), None),
        Err(defect) => (None, Some(defect)),
    };
    let overdue = knowledge.as_ref().map_or(0, |knowledge| knowledge.overdue(today));
    let base = knowledge.as_ref().map(|knowledge| knowledge.base());
    let live = app.live();
    let settings = &live.config.medical;
    let works = knowledge.is_some();
    let status = match (works, overdue) {
        (false, _) => "unavailable",
        (true, 0) => "operational",
        (true, _) => "degraded",
    };
    let latency = app.medical.latencies.summary().or_else(|| app.medical.probes.summary());
    let mut safeguards: Vec<(&str, &str)> = SAFEGUARDS.to_vec();
    if live.config.server.tls.on() {
        safeguards.push(("TLS", "164.312(e)(1)"));
    }
    Ok(HttpResponse::Ok().json(MedicalStatusReport {
        success: true,
        status,
        uptime: format!("{:.2}%", availability.percent()),
        latency: latency.map_or_else(|| "unknown".to_owned(), |latency| format!("{:.1}ms", latency.p50_ms)),
        capabilities: CapabilityFlags::from(if works { app.medical.capabilities() } else { Capabilities::default() }),
        details: MedicalStatusDetails {
            kb_version: VERSION,
            ruleset: app.medical.ruleset(),
            protocols: base.map_or(0, |base| base.protocols.len()),
            red_flag_rules: base.map_or(0, |base| base.rules.len()),
            specialties: base.map_or(0, |base| base.specialties.len()),
            scores: score::all().len(),
            languages: languages::SPOKEN.to_vec(),
            phrasing: if settings.phrasing == Phrasing::Model { "model" } else { "rules" },
            keep_hours: settings.keep_hours,
            image_model: None,
            cancer_diagnosis: "referral rules, published models; no image interpreted",
            latency: MedicalLatency {
                p50_ms: latency.map_or(0.0, |latency| latency.p50_ms),
                p99_ms: latency.map_or(0.0, |latency| latency.p99_ms),
                samples: app.medical.latencies.summary().map_or(0, |latency| latency.samples),
            },
            down_seconds: availability.down_minutes * 60,
            reviewed: knowledge.as_deref().map_or(MedicalReviews { protocols: 0, rules: 0, by: Vec::new() }, reviewed),
            overdue,
            safeguards: safeguards.into_iter().map(|(control, cfr)| MedicalSafeguard { control, cfr }).collect(),
            defect,
        },
        timestamp: now,
    }))
}

fn reviewed(knowledge: &Knowledge) -> MedicalReviews {
    let base = knowledge.base();
    let done = |status: &ReviewStatus| *status == ReviewStatus::Reviewed;
    let mut by: Vec<String> = base.protocols.iter().filter_map(|protocol| protocol.data.review.by.clone()).collect();
    by.sort();
    by.dedup();
    MedicalReviews {
        protocols: base.protocols.iter().filter(|protocol| done(&protocol.data.review.status)).count(),
        rules: base.rules.iter().filter(|rule| done(&rule.review.status)).count(),
        by,
    }
}
