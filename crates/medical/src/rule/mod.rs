//! Expressions over concepts and values. There is no negation: nothing that
//! is added can make an expression false that was true, so no added symptom,
//! value or history lowers a level.

mod parse;

pub use parse::{Cursor, ExprError, one_or, parse};

use crate::input::round;
use crate::text::ConceptId;
use serde::Serialize;
use std::collections::BTreeSet;

/// What a comparison reads. Units: mmHg, /min, %, °C, years, mmol/L;
/// creatinine and bilirubin mg/dL, albumin g/dL, BNP pg/mL, counts 10⁹/L.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Measure {
    Systolic,
    Diastolic,
    HeartRate,
    RespiratoryRate,
    Spo2,
    Temperature,
    Age,
    /// Mean arterial pressure, from the two pressures.
    Map,
    Glucose,
    Potassium,
    Sodium,
    Creatinine,
    Urea,
    Lactate,
    /// Troponin over its upper limit.
    TroponinRatio,
    Bnp,
    Wbc,
    Platelets,
    Inr,
    Bilirubin,
    Albumin,
    /// The least NEWS2 that what is known allows.
    News2Min,
    /// The most points of a single NEWS2 parameter.
    News2Single,
    Crb65Min,
}

impl Measure {
    pub const COUNT: usize = 24;

    /// The field of a request that gives it, for `missingInputs`.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Systolic => "vitalSigns.systolic",
            Self::Diastolic => "vitalSigns.diastolic",
            Self::HeartRate => "vitalSigns.heartRate",
            Self::RespiratoryRate => "vitalSigns.respiratoryRate",
            Self::Spo2 => "vitalSigns.spo2",
            Self::Temperature => "vitalSigns.temperature",
            Self::Age => "patientContext.age",
            Self::Map => "vitalSigns.diastolic",
            Self::Glucose => "labResults.glucose",
            Self::Potassium => "labResults.potassium",
            Self::Sodium => "labResults.sodium",
            Self::Creatinine => "labResults.creatinine",
            Self::Urea => "labResults.urea",
            Self::Lactate => "labResults.lactate",
            Self::TroponinRatio => "labResults.troponin",
            Self::Bnp => "labResults.bnp",
            Self::Wbc => "labResults.wbc",
            Self::Platelets => "labResults.platelets",
            Self::Inr => "labResults.inr",
            Self::Bilirubin => "labResults.bilirubin",
            Self::Albumin => "labResults.albumin",
            Self::News2Min | Self::News2Single => "vitalSigns",
            Self::Crb65Min => "vitalSigns",
        }
    }

    /// For people: "heart rate".
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Systolic => "systolic blood pressure",
            Self::Diastolic => "diastolic blood pressure",
            Self::HeartRate => "heart rate",
            Self::RespiratoryRate => "respiratory rate",
            Self::Spo2 => "oxygen saturation",
            Self::Temperature => "temperature",
            Self::Age => "age",
            Self::Map => "mean arterial pressure",
            Self::Glucose => "blood glucose",
            Self::Potassium => "potassium",
            Self::Sodium => "sodium",
            Self::Creatinine => "creatinine",
            Self::Urea => "urea",
            Self::Lactate => "lactate",
            Self::TroponinRatio => "troponin",
            Self::Bnp => "BNP",
            Self::Wbc => "white cell count",
            Self::Platelets => "platelets",
            Self::Inr => "INR",
            Self::Bilirubin => "bilirubin",
            Self::Albumin => "albumin",
            Self::News2Min => "NEWS2",
            Self::News2Single => "NEWS2 parameter",
            Self::Crb65Min => "CRB-65",
        }
    }

    /// A value for people: "heart rate 45", "age 2 months".
    #[must_use]
    pub fn shown(self, value: f64) -> String {
        let digits = if self == Self::TroponinRatio { 2 } else { 1 };
        match self {
            Self::Age if value < 1.0 / 12.0 => format!("age {} days", round(value * 365.25, 0)),
            Self::Age if value < 2.0 => format!("age {} months", round(value * 12.0, 0)),
            _ => format!("{} {}", self.label(), round(value, digits)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Concept { id: ConceptId, sudden: bool },
    Compare { measure: Measure, op: Op, bound: f64 },
    And(Vec<Expr>),
    Or(Vec<Expr>),
    AtLeast(usize, Vec<Expr>),
}

/// The values that comparisons read. Of several readings the lowest and the
/// highest are kept and each comparison sees the worse one: a second, better
/// reading lowers nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Values([Option<(f64, f64)>; Measure::COUNT]);

impl Default for Values {
    fn default() -> Self {
        Self([None; Measure::COUNT])
    }
}

impl Values {
    #[must_use]
    pub fn low(&self, measure: Measure) -> Option<f64> {
        self.range(measure).map(|(low, _)| low)
    }

    #[must_use]
    pub fn high(&self, measure: Measure) -> Option<f64> {
        self.range(measure).map(|(_, high)| high)
    }

    fn range(&self, measure: Measure) -> Option<(f64, f64)> {
        self.0.get(measure as usize).copied().flatten()
    }

    pub fn add(&mut self, measure: Measure, value: Option<f64>) {
        let Some(value) = value.filter(|v| v.is_finite()) else { return };
        if let Some(slot) = self.0.get_mut(measure as usize) {
            *slot = Some(slot.map_or((value, value), |(low, high)| (low.min(value), high.max(value))));
        }
    }

    #[must_use]
    pub fn known(&self, measure: Measure) -> bool {
        self.range(measure).is_some()
    }

    #[must_use]
    pub fn any(&self) -> bool {
        self.0.iter().enumerate().any(|(i, v)| i != Measure::Age as usize && v.is_some())
    }
}

/// What is known of a patient.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    present: Vec<bool>,
    sudden: Vec<bool>,
    denied: Vec<bool>,
    pub values: Values,
    /// NEWS2 SpO2 scale 2: a target of 88 to 92 %.
    pub low_oxygen_target: bool,
}

impl Facts {
    #[must_use]
    pub fn new(concepts: usize) -> Self {
        Self {
            present: vec![false; concepts],
            sudden: vec![false; concepts],
            denied: vec![false; concepts],
            values: Values::default(),
            low_oxygen_target: false,
        }
    }

    pub fn add(&mut self, id: ConceptId, sudden: bool) {
        if let Some(p) = self.present.get_mut(usize::from(id)) {
            *p = true;
        }
        if sudden && let Some(p) = self.sudden.get_mut(usize::from(id)) {
            *p = true;
        }
    }

    pub fn deny(&mut self, id: ConceptId) {
        if let Some(p) = self.denied.get_mut(usize::from(id)) {
            *p = true;
        }
    }

    #[must_use]
    pub fn has(&self, id: ConceptId) -> bool {
        self.present.get(usize::from(id)).copied().unwrap_or(false)
    }

    #[must_use]
    pub fn has_sudden(&self, id: ConceptId) -> bool {
        self.sudden.get(usize::from(id)).copied().unwrap_or(false)
    }

    /// All that is present.
    pub fn present(&self) -> impl Iterator<Item = ConceptId> + '_ {
        self.present.iter().enumerate().filter(|(_, p)| **p).filter_map(|(i, _)| ConceptId::try_from(i).ok())
    }

    /// Said to be absent and nowhere present.
    #[must_use]
    pub fn denies(&self, id: ConceptId) -> bool {
        !self.has(id) && self.denied.get(usize::from(id)).copied().unwrap_or(false)
    }
}

/// A part of an expression: what made it true, or what is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    Concept(ConceptId),
    Measure(Measure),
}

impl Expr {
    /// Whether it holds; `because` collects what made it hold.
    pub fn holds(&self, facts: &Facts, because: &mut BTreeSet<Atom>) -> bool {
        match self {
            Self::Concept { id, sudden } => {
                let holds = if *sudden { facts.has_sudden(*id) } else { facts.has(*id) };
                if holds {
                    because.insert(Atom::Concept(*id));
                }
                holds
            }
            Self::Compare { measure, op, bound } => {
                let holds = compare(*measure, *op, *bound, facts) == Some(true);
                if holds {
                    because.insert(Atom::Measure(*measure));
                }
                holds
            }
            Self::And(parts) => {
                let mut found = BTreeSet::new();
                let holds = parts.iter().all(|p| p.holds(facts, &mut found));
                if holds {
                    because.extend(found);
                }
                holds
            }
            // All that hold are named, not only the first.
            Self::Or(parts) => parts.iter().filter(|p| p.holds(facts, because)).count() > 0,
            Self::AtLeast(n, parts) => {
                let mut found = BTreeSet::new();
                let count = parts.iter().filter(|p| p.holds(facts, &mut found)).count();
                if count >= *n {
                    because.extend(found);
                }
                count >= *n
            }
        }
    }

    /// The fewest unknown things that would make it hold; `None` if what is
    /// known rules it out.
    #[must_use]
    pub fn gap(&self, facts: &Facts) -> Option<Vec<Atom>> {
        match self {
            Self::Concept { id, sudden } => match () {
                () if *sudden && facts.has(*id) && !facts.has_sudden(*id) => Some(vec![Atom::Concept(*id)]),
                () if facts.has(*id) => Some(Vec::new()),
                () if facts.denies(*id) => None,
                () => Some(vec![Atom::Concept(*id)]),
            },
            Self::Compare { measure, op, bound } => match compare(*measure, *op, *bound, facts) {
                Some(true) => Some(Vec::new()),
                // A bound of a score still moves as inputs come.
                Some(false) if !matches!(measure, Measure::News2Min | Measure::News2Single | Measure::Crb65Min) => None,
                _ => Some(vec![Atom::Measure(*measure)]),
            },
            Self::And(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(part.gap(facts)?);
                }
                Some(all)
            }
            Self::Or(parts) => parts.iter().filter_map(|p| p.gap(facts)).min_by_key(Vec::len),
            Self::AtLeast(n, parts) => {
                let mut gaps: Vec<_> = parts.iter().filter_map(|p| p.gap(facts)).collect();
                gaps.sort_by_key(Vec::len);
                (gaps.len() >= *n).then(|| gaps.into_iter().take(*n).flatten().collect())
            }
        }
    }

    pub fn atoms(&self, each: &mut impl FnMut(Atom)) {
        match self {
            Self::Concept { id, .. } => each(Atom::Concept(*id)),
            Self::Compare { measure, .. } => each(Atom::Measure(*measure)),
            Self::And(parts) | Self::Or(parts) | Self::AtLeast(_, parts) => {
                for part in parts {
                    part.atoms(each);
                }
            }
        }
    }
}

/// A comparison; `None` without a value. Where the bound is one for adults it
/// is moved for small children: systolic pressure below 70 + 2·age under 10
/// years and the upper normal heart and breathing rates by age under 12
/// (PALS, American Heart Association 2020), mean pressure below 40 + 1.5·age
/// (Haque and Zaritsky 2007); and with a low oxygen target SpO2 below 88 %.
fn compare(measure: Measure, op: Op, bound: f64, facts: &Facts) -> Option<bool> {
    let below = matches!(op, Op::Less | Op::LessOrEqual);
    let value = if below { facts.values.low(measure)? } else { facts.values.high(measure)? };
    let age = facts.values.low(Measure::Age);
    let bound = match (age, measure) {
        (Some(age), Measure::Systolic) if below && age < 10.0 => return Some(value < bound.min(70.0 + 2.0 * age)),
        (Some(age), Measure::Map) if below && age < 10.0 => return Some(value < bound.min(40.0 + 1.5 * age)),
        (Some(age), Measure::RespiratoryRate) if !below => bound.max(upper_breathing(age)),
        (Some(age), Measure::HeartRate) if !below => bound.max(upper_heart(age)),
        (_, Measure::Spo2) if below && facts.low_oxygen_target => bound.min(88.0),
        _ => bound,
    };
    Some(match op {
        Op::Less => value < bound,
        Op::LessOrEqual => value <= bound,
        Op::Greater => value > bound,
        Op::GreaterOrEqual => value >= bound,
    })
}

fn upper_breathing(age: f64) -> f64 {
    match age {
        a if a < 1.0 => 53.0,
        a if a < 3.0 => 37.0,
        a if a < 6.0 => 28.0,
        a if a < 12.0 => 25.0,
        _ => 0.0,
    }
}

fn upper_heart(age: f64) -> f64 {
    match age {
        a if a < 0.08 => 205.0,
        a if a < 1.0 => 180.0,
        a if a < 3.0 => 140.0,
        a if a < 6.0 => 120.0,
        a if a < 12.0 => 118.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_to_people_with_the_unit_of_an_age_that_is_not_in_years() {
        assert_eq!(Measure::Age.shown(2.0 / 12.0), "age 2 months");
        assert_eq!(Measure::Age.shown(10.0 / 365.25), "age 10 days");
        assert_eq!(Measure::Age.shown(61.0), "age 61");
        assert_eq!(Measure::HeartRate.shown(45.0), "heart rate 45");
        assert_eq!(Measure::Temperature.shown(38.600_000_1), "temperature 38.6");
    }
}
