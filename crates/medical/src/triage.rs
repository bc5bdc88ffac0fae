//! The level: the highest fired red flag. Nothing else moves it.

use crate::base::{Base, Rule};
use crate::rule::{Atom, Facts, Measure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    SelfCare,
    Consultation,
    #[serde(rename = "consultation_24")]
    Consultation24,
    Emergency,
    EmergencyAmbulance,
}

impl Level {
    pub const ALL: [Self; 5] =
        [Self::SelfCare, Self::Consultation, Self::Consultation24, Self::Emergency, Self::EmergencyAmbulance];

    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::SelfCare => "self_care",
            Self::Consultation => "consultation",
            Self::Consultation24 => "consultation_24",
            Self::Emergency => "emergency",
            Self::EmergencyAmbulance => "emergency_ambulance",
        }
    }
}

/// Why a level was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    RedFlags,
    NoneFired,
    SelfCareRule,
    NotAssessed,
    NotMedical,
}

/// A rule that fired, by its index in the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fired {
    pub rule: usize,
    pub level: Level,
    pub because: BTreeSet<Atom>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Triage {
    pub level: Option<Level>,
    pub basis: Basis,
    /// Highest level first, then in the order of the base.
    pub fired: Vec<Fired>,
    /// The self-care rule that allowed it.
    pub self_care: Option<usize>,
}

/// All rules that fire.
#[must_use]
pub fn fire(rules: &[Rule], facts: &Facts) -> Vec<Fired> {
    let mut fired = Vec::new();
    for (i, rule) in rules.iter().enumerate() {
        let mut because = BTreeSet::new();
        if rule.expr.holds(facts, &mut because) {
            fired.push(Fired { rule: i, level: rule.level, because });
        }
    }
    fired.sort_by_key(|f| std::cmp::Reverse(f.level));
    fired
}

/// What the text is about, where no rule decides.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    pub anything_present: bool,
    pub about_health: bool,
    /// Something may be cared for at home only if all of it was understood.
    pub everything_understood: bool,
}

#[must_use]
pub fn triage(base: &Base, facts: &Facts, scope: Scope, weeks: impl Fn(u16) -> Option<f64>) -> Triage {
    let fired = fire(&base.rules, facts);
    if let Some(first) = fired.first() {
        let level = Some(first.level);
        return Triage { level, basis: Basis::RedFlags, fired, self_care: None };
    }
    let none = |level, basis| Triage { level, basis, fired: Vec::new(), self_care: None };
    if !scope.anything_present && !facts.values.any() {
        return none(None, if scope.about_health { Basis::NotAssessed } else { Basis::NotMedical });
    }
    if scope.everything_understood
        && let Some(i) = self_care(base, facts, weeks)
    {
        return Triage {
            level: Some(Level::SelfCare),
            basis: Basis::SelfCareRule,
            fired: Vec::new(),
            self_care: Some(i),
        };
    }
    none(Some(Level::Consultation), Basis::NoneFired)
}

/// The first self-care rule that allows all that is present.
fn self_care(base: &Base, facts: &Facts, weeks: impl Fn(u16) -> Option<f64>) -> Option<usize> {
    let age = facts.values.low(Measure::Age)?;
    let (least, most) = base.self_care_ages;
    let values_given = facts.values.any();
    if !(least..=most).contains(&age) || values_given || base.self_care_never_with.iter().any(|&c| facts.has(c)) {
        return None;
    }
    base.self_care.iter().position(|rule| {
        let required = rule.requires.iter().any(|&c| facts.has(c));
        required
            && facts.present().all(|c| rule.allows.contains(&c))
            && facts.present().all(|c| weeks(c).is_none_or(|w| w <= rule.data.most_weeks))
    })
}
