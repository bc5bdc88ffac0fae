//! What a score is: its inputs, its source and how it is computed.

use super::interval::Interval;
use super::known::Known;
use super::{Item, Source};

/// Values that an input takes.
#[derive(Debug, Clone, Copy)]
pub enum InputKind {
    /// A number within bounds that are plausible, both included.
    Number { low: f64, high: f64 },
    /// A whole number within bounds, both included.
    Whole { low: f64, high: f64 },
    /// True or false.
    Flag,
    /// A word of a list with its code; the code itself is read too, unless it
    /// is negative.
    Choice(&'static [(&'static str, f64)]),
}

/// How far a score needs an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Without it the score has no value.
    Required,
    /// Absent, the score's own rule for it applies.
    Optional,
    /// Decides only whether the score applies.
    Population,
    /// Stands for other inputs that are then not missing.
    InPlaceOf(&'static [&'static str]),
}

/// An input of a score.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    pub name: &'static str,
    pub kind: InputKind,
    pub need: Need,
    /// Other names with the factor to this input's unit.
    pub aliases: &'static [(&'static str, f64)],
}

impl Input {
    pub(super) const fn alias(self, aliases: &'static [(&'static str, f64)]) -> Self {
        Self { aliases, ..self }
    }

    pub(super) const fn optional(self) -> Self {
        Self { need: Need::Optional, ..self }
    }

    pub(super) const fn population(self) -> Self {
        Self { need: Need::Population, ..self }
    }

    pub(super) const fn in_place_of(self, names: &'static [&'static str]) -> Self {
        Self { need: Need::InPlaceOf(names), ..self }
    }
}

pub(super) const fn number(name: &'static str, low: f64, high: f64) -> Input {
    Input { name, kind: InputKind::Number { low, high }, need: Need::Required, aliases: &[] }
}

pub(super) const fn whole(name: &'static str, low: f64, high: f64) -> Input {
    Input { name, kind: InputKind::Whole { low, high }, need: Need::Required, aliases: &[] }
}

pub(super) const fn flag(name: &'static str) -> Input {
    Input { name, kind: InputKind::Flag, need: Need::Required, aliases: &[] }
}

pub(super) const fn choice(name: &'static str, words: &'static [(&'static str, f64)]) -> Input {
    Input { name, kind: InputKind::Choice(words), need: Need::Required, aliases: &[] }
}

/// Codes of `sex`.
pub(super) const SEX: Input =
    choice("sex", &[("male", 0.0), ("female", 1.0), ("man", 0.0), ("woman", 1.0), ("m", 0.0), ("f", 1.0)]);
/// Age in years.
pub(super) const AGE: Input = number("age_years", 0.0, 120.0).alias(&[("age", 1.0)]);

/// A published score.
pub(super) struct Definition {
    pub id: &'static str,
    pub name: &'static str,
    /// Engine of the catalogue that serves it.
    pub engine: Option<&'static str>,
    pub unit: &'static str,
    /// Decimal places of the value.
    pub decimals: i32,
    pub source: Source,
    pub inputs: &'static [Input],
    pub caveat: Option<&'static str>,
    pub compute: fn(&Known) -> Outcome,
}

/// What a score comes to over its known inputs.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// All values that the unknown inputs allow; none where there is no bound.
    pub bounds: Option<Interval>,
    pub items: Vec<Item>,
    /// Bands that the bounds reach, from the lowest.
    pub bands: Vec<&'static str>,
    pub not_applicable: Option<&'static str>,
    /// Why a value is not there although every input is.
    pub reason: Option<&'static str>,
    pub caveat: Option<&'static str>,
}

impl Outcome {
    /// The patient is outside the score's population.
    pub fn not_applicable(reason: &'static str) -> Self {
        Self { not_applicable: Some(reason), ..Self::default() }
    }

    /// The sum of items.
    pub fn sum<const N: usize>(items: [(&'static str, Interval); N]) -> Self {
        let items: Vec<Item> = items.into_iter().map(|(name, points)| Item { name, points }).collect();
        let bounds = items.iter().map(|item| item.points).fold(Interval::exactly(0.0), Interval::plus);
        Self { bounds: Some(bounds), items, ..Self::default() }
    }

    /// A formula's value, nothing where an input is unknown.
    pub fn formula(value: Option<f64>) -> Self {
        Self { bounds: value.filter(|value| value.is_finite()).map(Interval::exactly), ..Self::default() }
    }

    /// A formula that has bounds without all inputs.
    pub fn bounded(bounds: Interval) -> Self {
        Self { bounds: Some(bounds), ..Self::default() }
    }

    /// Adds bands, each from its lowest value (included) up to the next.
    pub fn bands(mut self, bands: &[(f64, &'static str)]) -> Self {
        let Some(bounds) = self.bounds else { return self };
        let index = |value: f64| bands.iter().rposition(|(from, _)| value >= *from).unwrap_or(0);
        let reached = index(bounds.min)..=index(bounds.max);
        self.bands = bands.get(reached).unwrap_or_default().iter().map(|(_, band)| *band).collect();
        self
    }
}
