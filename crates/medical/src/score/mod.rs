//! Published scores, each as an interval over what is not known: the only
//! implementation in the product.
//!
//! An additive score sums the least and the most points of every item. A
//! formula has a value where all its inputs are known, and bounds without
//! them only where the publication limits its inputs (MELD).

mod bleeding;
mod burns;
mod cardiac;
mod cardiovascular;
mod chemistry;
mod clot;
mod coma;
mod definition;
mod dosing;
mod evaluate;
mod infection;
mod inputs;
mod interval;
mod kidney;
mod known;
mod liver;
mod mental;
mod neoplasm;
mod news2;
mod paediatric;
mod pneumonia;
mod qt;
mod rhythm;
mod sofa;
mod stroke;
mod trauma;
mod units;

pub use definition::{Input, InputKind, Need};
pub use inputs::{Inputs, Value};
pub use interval::Interval;

use definition::Definition;
use serde::Serialize;
use std::sync::LazyLock;

/// Where a score was published.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Source {
    pub id: &'static str,
    pub title: &'static str,
    pub year: u16,
    pub url: &'static str,
}

/// Points of one item of an additive score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Item {
    /// Name of the item, mostly that of its input.
    pub name: &'static str,
    /// Least and most points over what is not known.
    pub points: Interval,
}

/// A score over its known inputs.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    pub id: &'static str,
    pub name: &'static str,
    pub engine: Option<&'static str>,
    /// Value, only with every input. Rounded half away from zero.
    pub value: Option<f64>,
    /// Least value that the missing inputs allow; none where there is no bound.
    pub min: Option<f64>,
    /// Greatest value that the missing inputs allow.
    pub max: Option<f64>,
    pub unit: &'static str,
    /// Band of the publication, where both ends share it.
    pub band: Option<String>,
    pub possible_bands: Vec<String>,
    /// `complete`, `partial`, `insufficient` or `not_applicable`.
    pub status: &'static str,
    pub reason: Option<String>,
    pub used: Vec<String>,
    pub missing: Vec<String>,
    pub source: Source,
    pub cite: Vec<usize>,
    pub caveat: Option<String>,
    /// Value before rounding.
    #[serde(skip)]
    pub unrounded: Option<f64>,
    /// Points by item of an additive score; empty for a formula.
    #[serde(skip)]
    pub items: Vec<Item>,
}

/// Every score, by family.
static FAMILIES: &[&[Definition]] = &[
    news2::SCORES,
    infection::SCORES,
    sofa::SCORES,
    coma::SCORES,
    trauma::SCORES,
    burns::SCORES,
    cardiac::SCORES,
    clot::SCORES,
    rhythm::SCORES,
    cardiovascular::SCORES,
    kidney::SCORES,
    liver::SCORES,
    bleeding::SCORES,
    pneumonia::SCORES,
    stroke::SCORES,
    chemistry::SCORES,
    qt::SCORES,
    dosing::SCORES,
    paediatric::SCORES,
    mental::SCORES,
    neoplasm::SCORES,
];

/// Other ids under which a score is known.
const ALIASES: &[(&str, &str)] = &[
    ("kdigo_aki", "kdigo"),
    ("timi", "timi_ua_nstemi"),
    ("ascvd_pce", "ascvd_pce_2013"),
    ("corrected_sodium", "corrected_sodium_hillier"),
];

static IDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| definitions().map(|d| d.id).collect());

fn definitions() -> impl Iterator<Item = &'static Definition> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

fn definition(id: &str) -> Option<&'static Definition> {
    let id = ALIASES.iter().find(|(alias, _)| *alias == id).map_or(id, |(_, id)| id);
    definitions().find(|d| d.id == id)
}

/// Computes a score; nothing where there is none of that id.
///
/// An input that is not finite, outside its plausible range or of another
/// kind counts as missing, and `reason` says so.
#[must_use]
pub fn evaluate(id: &str, inputs: &Inputs) -> Option<Score> {
    definition(id).map(|d| evaluate::evaluate(d, inputs))
}

/// The least value of a score over what is not known: `min` of [`evaluate`].
#[must_use]
pub fn least(id: &str, inputs: &Inputs) -> Option<f64> {
    definition(id).and_then(|d| evaluate::least(d, inputs))
}

/// The inputs that a score reads; nothing where there is none of that id.
#[must_use]
pub fn inputs(id: &str) -> Option<&'static [Input]> {
    definition(id).map(|d| d.inputs)
}

/// The ids of all scores.
#[must_use]
pub fn all() -> &'static [&'static str] {
    &IDS
}
