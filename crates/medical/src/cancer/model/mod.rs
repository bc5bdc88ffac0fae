//! Published cancer risk models. A value is given only with every input and
//! inside the population that the model was made for.

mod additive;
mod bcrat;
mod constants;
mod features;
mod logistic;

pub use constants::{Constants, ModelConstants, Race};
pub use features::{Feature, Features};

use features::Taker;

/// Ids of the models, in the order of answers.
pub const IDS: [&str; 6] = ["plcom2012", "bcrat", "brock", "mayo", "rmi", "abcd"];

/// What a model says of some inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResult {
    pub id: &'static str,
    pub name: &'static str,
    /// The patient is, as far as known, of the model's population.
    pub applicable: bool,
    pub reason: String,
    /// A probability from 0 to 1, a percentage or points: see `unit`.
    pub value: Option<f64>,
    pub unit: &'static str,
    pub horizon_years: Option<f64>,
    pub missing: Vec<String>,
    pub band: Option<&'static str>,
    /// What the authors or a guideline connect with the band.
    pub recommendation: Option<&'static str>,
    /// Terms of the sum, by input.
    pub contributions: Vec<(&'static str, f64)>,
    pub caveat: &'static str,
}

impl ModelResult {
    /// Whether the value is in a band from which the authors or a guideline act.
    #[must_use]
    pub fn notable(&self) -> bool {
        let low = ["below 1.51 %", "below 1.67 % in 5 years", "no band for this horizon", "below 10 %", "200 or below"];
        self.band.is_some_and(|band| !low.contains(&band) && band != "below 4.75")
    }

    const fn new(id: &'static str, name: &'static str, unit: &'static str, caveat: &'static str) -> Self {
        Self {
            id,
            name,
            applicable: true,
            reason: String::new(),
            value: None,
            unit,
            horizon_years: None,
            missing: Vec::new(),
            band: None,
            recommendation: None,
            contributions: Vec::new(),
            caveat,
        }
    }

    fn not_applicable(mut self, reason: &str) -> Self {
        self.applicable = false;
        reason.clone_into(&mut self.reason);
        self
    }

    /// Ends with what is missing or invalid.
    fn incomplete(mut self, taker: Taker<'_>) -> Self {
        self.reason = if taker.invalid.is_empty() {
            format!("inputs are missing: {}", taker.missing.join(", "))
        } else {
            taker.invalid.join("; ")
        };
        self.missing = taker.missing;
        self
    }

    fn finished(mut self, value: f64, band: (&'static str, &'static str)) -> Self {
        "all inputs are known and inside the model's population".clone_into(&mut self.reason);
        self.value = Some(value);
        self.band = Some(band.0);
        self.recommendation = Some(band.1);
        self
    }
}

/// Computes a model; `None` where there is none of that id. The ids of the
/// engine `cancer-risk` (`mayo-nodule`, `plco-m2012`, `abcd-dermoscopy`,
/// `ovarian-rmi`) are read too.
#[must_use]
pub fn evaluate(constants: &Constants, id: &str, features: &Features) -> Option<ModelResult> {
    Some(match id {
        "plcom2012" | "plco-m2012" => logistic::plcom2012(constants.model("plcom2012")?, features),
        "brock" => logistic::brock(constants.model("brock")?, features),
        "mayo" | "mayo-nodule" => logistic::mayo(constants.model("mayo")?, features),
        "rmi" | "ovarian-rmi" => additive::rmi(constants.model("rmi")?, features),
        "abcd" | "abcd-dermoscopy" => additive::abcd(constants.model("abcd")?, features),
        "bcrat" | "bcrat_gail" => bcrat::bcrat(constants.model("bcrat")?, &constants.races, features),
        _ => return None,
    })
}
