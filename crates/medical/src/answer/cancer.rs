//! The blocks that an answer about suspected cancer adds.

use super::cite::Cites;
use super::common::{ReviewNote, TriageBlock};
use crate::assess::Assessment;
use crate::base::Base;
use crate::cancer::request::CancerRequest;
use crate::input::Input;
use serde::Serialize;

/// The most urgent rule met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConcernLevel {
    /// Nothing was recognised and no value was given.
    InsufficientData,
    NoneIdentified,
    Routine,
    Tests,
    Urgent,
    VeryUrgent,
    Immediate,
}

/// How far the criteria of a site are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteStatus {
    /// Met but for the age bound.
    NotedBelowThreshold,
    MeetsTestCriteria,
    MeetsReferralCriteria,
}

/// A rule that is met, or missed by its age bound alone.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recommendation {
    pub rule_id: String,
    pub action: String,
    /// `immediate`, `very_urgent_48h`, `suspected_cancer_pathway`,
    /// `urgent_2w`, `test_now`, `non_urgent`, `safety_net`, `screening`.
    pub timescale: String,
    /// `refer`, `offer`, `consider`, `advise`.
    pub strength: String,
    /// What made it hold: a concept with the words, or a value.
    pub matched: Vec<MatchedFact>,
    /// What it would still need.
    pub missing: Vec<String>,
    /// What the rule takes for granted and a clinician has to check.
    pub assumes: Vec<String>,
    pub cite: Vec<usize>,
    pub review: ReviewNote,
}

/// A fact that a rule used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatchedFact {
    /// A concept's id, a field of `labs`, or `patientAge`.
    pub concept: String,
    /// The words of the text, or the value with its unit.
    pub from: String,
}

/// A cancer site with the rules that name it.
#[derive(Debug, Clone, Serialize)]
pub struct Site {
    pub site: String,
    pub status: SiteStatus,
    /// Applies only if the patient has the organ, which is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditional: Option<String>,
    pub recommendations: Vec<Recommendation>,
}

/// A published model. `value` is there only with all inputs, inside the
/// model's population.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelAnswer {
    pub id: &'static str,
    pub name: &'static str,
    pub applicable: bool,
    pub reason: String,
    pub value: Option<f64>,
    pub unit: &'static str,
    pub horizon_years: Option<f64>,
    pub missing_inputs: Vec<String>,
    pub band: Option<String>,
    pub cite: Vec<usize>,
    pub caveat: String,
    pub review: ReviewNote,
}

/// A screening recommendation that the patient's age, sex and risk factors meet.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Screening {
    pub rule_id: String,
    pub site: String,
    pub text: String,
    /// The grade of the issuing body.
    pub grade: String,
    pub matched: Vec<MatchedFact>,
    pub missing: Vec<String>,
    /// Applies only if the patient has the organ, which is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditional: Option<String>,
    pub cite: Vec<usize>,
    pub review: ReviewNote,
}

/// A risk factor as it was read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadFactor {
    /// The input it gives: `packYears`, `bmi`, `firstDegreeBreast`, …
    pub field: &'static str,
    pub value: serde_json::Value,
    /// The words, at most 120 characters.
    pub from: String,
}

/// A question whose answer would change the result most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CancerQuestion {
    pub id: String,
    pub text: String,
    /// The field of the request that takes the answer.
    pub field: String,
}

/// The blocks of cancer diagnosis support.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CancerAnswer {
    pub concern_level: ConcernLevel,
    /// The triage, from `emergency` up.
    pub emergency: Option<TriageBlock>,
    pub sites: Vec<Site>,
    pub models: Vec<ModelAnswer>,
    pub screening: Vec<Screening>,
    /// What was read of `riskFactors`.
    pub risk_factors: Vec<ReadFactor>,
    /// Entries of `riskFactors` in which nothing was read, cut to 120 characters.
    pub unread_risk_factors: Vec<String>,
    pub not_excluded: &'static str,
    pub questions: Vec<CancerQuestion>,
}

/// Says that no criterion met is no exclusion.
pub const NOT_EXCLUDED: &str = "No criteria met does not exclude cancer.";

/// Builds the blocks for a request. `input` is [`CancerRequest::input`], `a`
/// its assessment, `triage` the block that [`super::common()`] made; citations
/// are added to `cites`.
#[must_use]
pub fn cancer(
    base: &Base,
    input: &Input,
    a: &Assessment,
    request: &CancerRequest,
    triage: &TriageBlock,
    cites: &mut Cites<'_>,
) -> CancerAnswer {
    let _ = (base, input, a, request, cites);
    CancerAnswer {
        concern_level: ConcernLevel::InsufficientData,
        emergency: (triage.level >= Some(crate::triage::Level::Emergency)).then(|| triage.clone()),
        sites: Vec::new(),
        models: Vec::new(),
        screening: Vec::new(),
        risk_factors: Vec::new(),
        unread_risk_factors: Vec::new(),
        not_excluded: NOT_EXCLUDED,
        questions: Vec::new(),
    }
}
