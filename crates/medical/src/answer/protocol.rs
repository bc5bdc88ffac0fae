//! A matching protocol.

use super::cite::Cites;
use super::common::{Because, ReviewNote, because};
use crate::assess::Assessment;
use crate::base::{Base, Protocol};
use crate::input::Audience;
use crate::rank::Ranked;
use crate::rule::Atom;
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Serialize)]
pub struct Matched {
    pub concept: String,
    pub from: String,
    pub weight: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Match {
    pub score: f64,
    pub meaning: &'static str,
    pub matched: Vec<Matched>,
    pub denied: Vec<String>,
    pub unknown: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ActionBlock {
    pub order: usize,
    pub text: String,
    pub urgency: String,
    pub kind: String,
    pub strength: String,
    pub evidence: Option<String>,
    pub when: Option<String>,
    pub cite: Vec<usize>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Said {
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    pub cite: Vec<usize>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RedFlag {
    pub rule_id: String,
    pub level: crate::triage::Level,
    pub message: String,
    pub fired: bool,
    pub cite: Vec<usize>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProtocolBlock {
    pub id: String,
    pub version: String,
    pub title: String,
    pub specialty: String,
    pub urgency: Option<crate::triage::Level>,
    #[serde(rename = "match")]
    pub matching: Match,
    pub red_flags: Vec<RedFlag>,
    pub actions: Vec<ActionBlock>,
    pub contraindications: Vec<Said>,
    pub follow_up: Vec<Said>,
    pub safety_net: Vec<Said>,
    pub score_ids: Vec<String>,
    pub missing_inputs: Vec<String>,
    pub differentials: Vec<String>,
    pub review: ReviewNote,
}

#[must_use]
pub fn protocol(
    base: &Base,
    a: &Assessment,
    ranked: &Ranked,
    audience: Audience,
    cites: &mut Cites<'_>,
) -> Option<ProtocolBlock> {
    let p = base.protocols.get(ranked.protocol)?;
    let d = &p.data;
    let name = |id: &u16| base.lexicon.name(*id).to_owned();
    let matched = ranked.matched.iter().map(|(atom, weight)| {
        let Because { concept, from } = because(base, a, *atom);
        Matched { concept, from, weight: *weight }
    });
    let matching = Match {
        score: ranked.score,
        meaning: "match strength, not probability",
        matched: matched.collect(),
        denied: ranked.denied.iter().map(name).collect(),
        unknown: ranked.unknown.iter().map(name).collect(),
    };
    let said = |list: &[crate::base::Statement], cites: &mut Cites<'_>| {
        list.iter()
            .map(|s| Said { text: s.text.clone(), when: s.when.clone(), cite: cites.of(&s.source, &s.locator) })
            .collect()
    };
    // The public receives no treatment steps.
    let professional = audience == Audience::Professional;
    let actions = if professional { actions(p, cites) } else { Vec::new() };
    let contraindications = if professional { said(&d.contraindications, cites) } else { Vec::new() };
    Some(ProtocolBlock {
        id: d.id.clone(),
        version: d.version.clone(),
        title: d.title.clone(),
        specialty: d.specialty.clone(),
        urgency: ranked.urgency,
        matching,
        red_flags: red_flags(base, a, p, cites),
        actions,
        contraindications,
        follow_up: said(&d.follow_up, cites),
        safety_net: said(&d.safety_net, cites),
        score_ids: d.scores.clone(),
        missing_inputs: missing(base, a, p),
        differentials: d.differentials.clone(),
        review: ReviewNote::from(&d.review),
    })
}

fn actions(p: &Protocol, cites: &mut Cites<'_>) -> Vec<ActionBlock> {
    let one = |(i, action): (usize, &crate::base::Action)| ActionBlock {
        order: i + 1,
        text: action.text.clone(),
        urgency: action.urgency.clone(),
        kind: action.kind.clone(),
        strength: action.strength.clone(),
        evidence: action.evidence.clone(),
        when: action.when.clone(),
        cite: cites.of(&action.source, &action.locator),
    };
    p.data.actions.iter().enumerate().map(one).collect()
}

fn red_flags(base: &Base, a: &Assessment, p: &Protocol, cites: &mut Cites<'_>) -> Vec<RedFlag> {
    p.rules
        .iter()
        .filter_map(|&i| base.rules.get(i).map(|r| (i, r)))
        .map(|(i, r)| RedFlag {
            rule_id: r.id.clone(),
            level: r.level,
            message: r.message.clone(),
            fired: a.triage.fired.iter().any(|f| f.rule == i),
            cite: cites.of(&r.source, &r.locator),
        })
        .collect()
}

/// Values that its unfired rules would read, then what a clinician would ask.
fn missing(base: &Base, a: &Assessment, p: &Protocol) -> Vec<String> {
    let mut fields = BTreeSet::new();
    for &i in &p.rules {
        let Some(rule) = base.rules.get(i) else { continue };
        if a.triage.fired.iter().any(|f| f.rule == i) {
            continue;
        }
        for atom in rule.expr.gap(&a.facts).unwrap_or_default() {
            if let Atom::Measure(measure) = atom {
                fields.insert(measure.field().to_owned());
            }
        }
        rule.expr.atoms(&mut |atom| {
            if let Atom::Measure(measure) = atom
                && !a.facts.values.known(measure)
            {
                fields.insert(measure.field().to_owned());
            }
        });
    }
    fields.into_iter().chain(p.data.asks_for.iter().cloned()).collect()
}
