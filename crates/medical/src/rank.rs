//! Which protocols fit. Order only: the level comes from rules alone.

use crate::base::{Base, Protocol};
use crate::rule::{Atom, Facts, Measure};
use crate::text::ConceptId;
use crate::triage::{Fired, Level};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sex {
    Female,
    Male,
}

/// A protocol's match.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Index in the base.
    pub protocol: usize,
    pub weight: f64,
    /// 0 to 100: match strength, not probability.
    pub score: f64,
    pub matched: Vec<(Atom, f64)>,
    pub denied: Vec<ConceptId>,
    pub unknown: Vec<ConceptId>,
    /// Indices into the fired rules.
    pub fired: Vec<usize>,
    pub urgency: Option<Level>,
}

/// The least weight with which a protocol is listed.
const LEAST_WEIGHT: f64 = 1.0;

#[must_use]
pub fn rank(base: &Base, facts: &Facts, fired: &[Fired], sex: Option<Sex>, specialty: Option<&str>) -> Vec<Ranked> {
    let mut out: Vec<Ranked> = Vec::new();
    for (i, protocol) in base.protocols.iter().enumerate() {
        if let Some(ranked) = one(i, protocol, facts, fired, sex, specialty) {
            out.push(ranked);
        }
    }
    out.sort_by(|a, b| {
        let fires = |r: &Ranked| r.fired.is_empty();
        let id = |r: &Ranked| base.protocols.get(r.protocol).map(|p| p.data.id.as_str());
        fires(a).cmp(&fires(b)).then(b.weight.total_cmp(&a.weight)).then_with(|| id(a).cmp(&id(b)))
    });
    out
}

fn one(
    index: usize,
    protocol: &Protocol,
    facts: &Facts,
    fired: &[Fired],
    sex: Option<Sex>,
    specialty: Option<&str>,
) -> Option<Ranked> {
    let mine: Vec<usize> =
        fired.iter().enumerate().filter(|(_, f)| protocol.rules.contains(&f.rule)).map(|(i, _)| i).collect();
    if mine.is_empty() && !concerns(protocol, facts, sex) {
        return None;
    }
    let mut matched = Vec::new();
    let (mut denied, mut unknown) = (Vec::new(), Vec::new());
    let (mut weight, mut denied_weight, mut unknown_weight) = (0.0, 0.0, 0.0);
    for &(concept, w) in &protocol.triggers {
        if facts.has(concept) {
            matched.push((Atom::Concept(concept), w));
            weight += w;
        } else if facts.denies(concept) {
            denied.push(concept);
            denied_weight += w;
        } else {
            unknown.push(concept);
            unknown_weight += w;
        }
    }
    let any_trigger = !matched.is_empty();
    for (_, expr, w) in &protocol.criteria {
        let mut because = BTreeSet::new();
        if expr.holds(facts, &mut because) {
            weight += w;
            if let Some(&atom) = because.first() {
                matched.push((atom, *w));
            }
        }
    }
    for &(concept, w) in &protocol.history {
        if facts.has(concept) {
            matched.push((Atom::Concept(concept), w));
            weight += w;
        }
    }
    weight -= denied_weight;
    if !any_trigger {
        weight *= 0.3;
    }
    if specialty.is_some_and(|s| protocol.data.specialty == s || protocol.data.also_specialties.iter().any(|a| a == s))
    {
        weight *= 1.1;
    }
    if mine.is_empty() && weight < LEAST_WEIGHT {
        return None;
    }
    let shown = weight.max(0.0);
    let all = shown + denied_weight + 0.35 * unknown_weight;
    let score = if all > 0.0 { (100.0 * shown / all).clamp(0.0, 100.0) } else { 0.0 };
    let urgency = mine.iter().filter_map(|&i| fired.get(i)).map(|f| f.level).max();
    matched.sort_by(|a, b| b.1.total_cmp(&a.1));
    Some(Ranked { protocol: index, weight, score: score.round(), matched, denied, unknown, fired: mine, urgency })
}

/// Whether it is offered without a fired rule: one of its specific features
/// is present, and the patient is of its population.
fn concerns(protocol: &Protocol, facts: &Facts, sex: Option<Sex>) -> bool {
    let population = &protocol.data.population;
    if let Some(age) = facts.values.low(Measure::Age)
        && (population.min_age.is_some_and(|m| age < m) || population.max_age.is_some_and(|m| age > m))
    {
        return false;
    }
    let wrong_sex = matches!(
        (population.sex.as_deref(), sex),
        (Some("female"), Some(Sex::Male)) | (Some("male"), Some(Sex::Female))
    );
    !wrong_sex && (protocol.needs.is_empty() || protocol.needs.iter().any(|&c| facts.has(c)))
}
