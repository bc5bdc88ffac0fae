//! From rules met and models to the blocks of an answer.

use super::{
    CancerQuestion, ConcernLevel, MatchedFact, ModelAnswer, Recommendation, Screening, Site, SiteStatus, concern_of,
};
use crate::answer::cite::Cites;
use crate::answer::common::ReviewNote;
use crate::assess::Assessment;
use crate::base::Base;
use crate::cancer::evaluate::{Due, Met, screenings};
use crate::cancer::expr::{Part, Quantity};
use crate::cancer::facts::CancerFacts;
use crate::cancer::model::{self, Features};
use crate::cancer::rules::RuleKind;
use std::collections::BTreeSet;

/// Writes the blocks of one answer.
pub struct Writer<'a> {
    pub base: &'a Base,
    pub a: &'a Assessment,
    pub facts: &'a CancerFacts<'a>,
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
    pub fn sites(&self, met: &[Met<'_>], cites: &mut Cites<'_>) -> Vec<Site> {
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

    pub fn models(&self, features: &Features, cites: &mut Cites<'_>) -> Vec<ModelAnswer> {
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

    pub fn screening(&self, organs: &[String], cites: &mut Cites<'_>) -> Vec<Screening> {
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
    pub fn questions(&self, met: &[Met<'_>]) -> Vec<CancerQuestion> {
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
