//! The blocks that an answer about suspected cancer adds.

mod writer;

use self::writer::Writer;
use super::cite::Cites;
use super::common::{ReviewNote, TriageBlock};
use crate::assess::Assessment;
use crate::base::Base;
use crate::cancer::evaluate::{Met, referrals};
use crate::cancer::factors::RiskFactors;
use crate::cancer::facts::CancerFacts;
use crate::cancer::request::{CancerRequest, Jurisdiction};
use crate::cancer::rules::Timescale;
use crate::input::Input;
use crate::triage::Level;
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
    /// The value reaches the band from which the authors act.
    #[serde(skip)]
    pub raises: bool,
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
    let factors = RiskFactors::of(&request.risk_factors);
    let facts = CancerFacts::new(base, a, input, request, &factors);
    let met = match request.jurisdiction {
        Jurisdiction::Gb => referrals(&base.cancer.ng12, &facts, &request.organs),
        Jurisdiction::Us | Jurisdiction::None => Vec::new(),
    };
    let writer = Writer { base, a, facts: &facts };
    let sites = writer.sites(&met, cites);
    let models = writer.models(&factors.features(facts.age(), facts.sex(), request.labs.ca125), cites);
    let screening = match request.jurisdiction {
        Jurisdiction::Us => writer.screening(&request.organs, cites),
        Jurisdiction::Gb | Jurisdiction::None => Vec::new(),
    };
    let questions = writer.questions(&met);
    let anything = facts.any() || !factors.read.is_empty();
    CancerAnswer {
        concern_level: concern(&met, &models, anything),
        emergency: (triage.level >= Some(Level::Emergency)).then(|| triage.clone()),
        sites,
        models,
        screening,
        risk_factors: factors.read,
        unread_risk_factors: factors.unread,
        not_excluded: NOT_EXCLUDED,
        questions,
    }
}

/// The concern of a timescale.
#[must_use]
pub const fn concern_of(timescale: Timescale) -> ConcernLevel {
    match timescale {
        Timescale::Immediate => ConcernLevel::Immediate,
        Timescale::VeryUrgent => ConcernLevel::VeryUrgent,
        Timescale::Pathway | Timescale::TwoWeeks => ConcernLevel::Urgent,
        Timescale::TestNow => ConcernLevel::Tests,
        Timescale::NonUrgent | Timescale::SafetyNet => ConcernLevel::Routine,
    }
}

/// The most urgent rule met. A model raises nothing above routine.
fn concern(met: &[Met<'_>], models: &[ModelAnswer], anything: bool) -> ConcernLevel {
    let rules = met.iter().filter(|m| m.from_age.is_none()).map(|m| concern_of(m.rule.data.timescale));
    let modelled = models.iter().filter(|m| m.raises).map(|_| ConcernLevel::Routine);
    let least = if anything { ConcernLevel::NoneIdentified } else { ConcernLevel::InsufficientData };
    rules.chain(modelled).fold(least, ConcernLevel::max)
}
