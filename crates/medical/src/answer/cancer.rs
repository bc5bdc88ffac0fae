//! The blocks that an answer about suspected cancer adds.

use super::cite::Cites;
use super::common::{ReviewNote, TriageBlock};
use crate::assess::Assessment;
use crate::base::Base;
use crate::cancer::evaluate::{Due, Met, referrals, screenings};
use crate::cancer::expr::{Part, Quantity};
use crate::cancer::factors::RiskFactors;
use crate::cancer::facts::CancerFacts;
use crate::cancer::model::{self, Features};
use crate::cancer::request::{CancerRequest, Jurisdiction};
use crate::cancer::rules::{RuleKind, Timescale};
use crate::input::Input;
use crate::triage::Level;
use serde::Serialize;
use std::collections::BTreeSet;

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

struct Writer<'a> {
    base: &'a Base,
    a: &'a Assessment,
    facts: &'a CancerFacts<'a>,
}

const MOST_QUESTIONS: usize = 3;

/// What a model needs of a clinician before it concerns the patient at all.
const CLINICIAN_GIVES: &[(&str, &[&str])] = &[
    ("brock", &["diameter_mm"]),
    ("mayo", &["diameter_mm"]),
    ("rmi", &["ultrasound_features"]),
    ("abcd", &["asymmetry", "border", "colours", "structures"]),
];

impl Writer<'_> {
    fn sites(&self, met: &[Met<'_>], cites: &mut Cites<'_>) -> Vec<Site> {
        let mut sites: Vec<(ConcernLevel, Site)> = Vec::new();
        let noted_only = |site: &str| !met.iter().any(|m| m.site == site && m.from_age.is_none());
        for m in met {
            let d = &m.rule.data;
            if m.from_age.is_some() && !noted_only(m.site) {
                continue;
            }
            let status = match (m.from_age, d.kind) {
                (Some(_), _) => SiteStatus::NotedBelowThreshold,
                (None, RuleKind::Referral) => SiteStatus::MeetsReferralCriteria,
                (None, RuleKind::Test | RuleKind::Advice) => SiteStatus::MeetsTestCriteria,
            };
            let concern = if m.from_age.is_none() { concern_of(d.timescale) } else { ConcernLevel::NoneIdentified };
            let recommendation = self.recommendation(m, cites);
            match sites.iter_mut().find(|(_, s)| s.site == m.site) {
                Some((most, site)) => {
                    *most = (*most).max(concern);
                    site.status = site.status.max(status);
                    // One rule that needs no unknown organ settles the site.
                    site.conditional = site.conditional.take().filter(|_| m.conditional.is_some());
                    site.recommendations.push(recommendation);
                }
                None => {
                    let site = Site {
                        site: m.site.to_owned(),
                        status,
                        conditional: m.conditional.map(|organ| format!("only if the patient has: {organ}")),
                        recommendations: vec![recommendation],
                    };
                    sites.push((concern, site));
                }
            }
        }
        sites.sort_by_key(|(concern, site)| {
            std::cmp::Reverse((site.status > SiteStatus::NotedBelowThreshold, *concern))
        });
        sites.into_iter().map(|(_, site)| site).collect()
    }

    fn recommendation(&self, m: &Met<'_>, cites: &mut Cites<'_>) -> Recommendation {
        let (d, rules) = (&m.rule.data, &self.base.cancer.ng12);
        let age = m.from_age.map(|age| format!("patientAge at least {age}"));
        let organ = m.conditional.map(|organ| format!("organs: {organ}"));
        Recommendation {
            rule_id: d.id.clone(),
            action: d.action.clone(),
            timescale: d.timescale.id().to_owned(),
            strength: d.strength.clone(),
            matched: self.matched(&m.because),
            missing: age.into_iter().chain(organ).collect(),
            assumes: d.assumes.clone(),
            cite: cites.add(&rules.source, &format!("recommendation {}", d.rec)),
            review: ReviewNote::from(&rules.review),
        }
    }

    fn matched(&self, because: &BTreeSet<Part>) -> Vec<MatchedFact> {
        because.iter().map(|part| self.fact(*part)).collect()
    }

    fn fact(&self, part: Part) -> MatchedFact {
        match part {
            Part::Concept(id) | Part::Lasting(id) => {
                let from = self.a.summary.present.get(&id).map(|f| f.from.chars().take(160).collect());
                let from = from.unwrap_or_else(|| "riskFactors".to_owned());
                MatchedFact { concept: self.base.lexicon.name(id).to_owned(), from }
            }
            Part::Quantity(quantity) => {
                let (field, name, unit) = quantity.field();
                let value = self.facts.quantity(quantity).map_or(0.0, |v| crate::input::round(v, 2));
                let from = format!("{name} {value} {unit}").trim_end().to_owned();
                MatchedFact { concept: field.to_owned(), from }
            }
        }
    }

    fn models(&self, features: &Features, cites: &mut Cites<'_>) -> Vec<ModelAnswer> {
        let constants = &self.base.cancer.constants;
        let one = |id: &&str| {
            let mut result = model::evaluate(constants, id, features)?;
            let published = constants.model(id)?;
            let needs = CLINICIAN_GIVES.iter().find(|(model, names)| model == id && features.any(names).is_none());
            if let Some((_, names)) = needs.filter(|_| result.applicable) {
                result.applicable = false;
                result.reason = format!("only from values that a clinician gives: {}", names.join(", "));
            }
            Some(ModelAnswer {
                id: result.id,
                name: result.name,
                applicable: result.applicable,
                value: result.value,
                unit: result.unit,
                horizon_years: result.horizon_years,
                band: result.band.map(str::to_owned),
                cite: cites.add(&published.source, &published.locator),
                caveat: result.caveat.to_owned(),
                raises: result.notable(),
                reason: result.reason,
                missing_inputs: result.missing,
                review: ReviewNote::from(&constants.review),
            })
        };
        model::IDS.iter().filter_map(one).collect()
    }

    fn screening(&self, organs: &[String], cites: &mut Cites<'_>) -> Vec<Screening> {
        let rules = &self.base.cancer.uspstf;
        let one = |due: Due<'_>| {
            let d = &due.rule.data;
            let source = rules.sources.iter().find(|s| s.id == d.source);
            Screening {
                rule_id: d.id.clone(),
                site: d.site.clone(),
                text: d.text.clone(),
                grade: d.grade.clone(),
                matched: self.matched(&due.because),
                missing: due.conditional.map(|c| format!("known only for: {c}")).into_iter().collect(),
                conditional: due.conditional.map(|c| format!("only if this applies: {c}")),
                cite: source.map(|s| cites.add(s, &d.locator)).unwrap_or_default(),
                review: ReviewNote::from(&rules.review),
            }
        };
        screenings(rules, self.facts, organs).into_iter().map(one).collect()
    }

    /// A missing result of a test that is advised, an unknown organ, a
    /// duration, then weight loss.
    fn questions(&self, met: &[Met<'_>]) -> Vec<CancerQuestion> {
        let mut questions: Vec<CancerQuestion> = Vec::new();
        let mut ask = |id: &str, text: String, field: &str| {
            if questions.len() < MOST_QUESTIONS && !questions.iter().any(|q| q.id == id) {
                questions.push(CancerQuestion { id: id.to_owned(), text, field: field.to_owned() });
            }
        };
        let holds = |rule: &str| met.iter().any(|m| m.rule.data.id == rule && m.from_age.is_none());
        let tests = [("ng12-1.3.1", Quantity::Fit), ("ng12-1.5.8", Quantity::Ca125), ("ng12-1.6.2", Quantity::Psa)];
        for (rule, quantity) in tests {
            let (field, name, unit) = quantity.field();
            if holds(rule) && self.facts.quantity(quantity).is_none() {
                ask(field, format!("Is there a result of {name}, in {unit}?"), field);
            }
        }
        for organ in met.iter().filter_map(|m| m.conditional) {
            ask(organ, format!("Does the patient have: {organ}?"), "organs");
        }
        for id in self.base.cancer.ng12.general.iter().filter(|id| self.facts.has(**id) && !self.facts.lasts(**id)) {
            let label = self.base.lexicon.label(*id);
            ask(self.base.lexicon.name(*id), format!("Has it lasted three weeks or more: {label}?"), "symptoms");
        }
        let weight = self.base.lexicon.id("weight_loss").filter(|&id| !self.facts.has(id) && !self.facts.denies(id));
        if weight.is_some() && self.facts.any() {
            ask("weight_loss", "Is there weight loss that nothing explains?".to_owned(), "symptoms");
        }
        questions
    }
}
