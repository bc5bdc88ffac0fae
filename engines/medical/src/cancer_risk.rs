//! q236: risk models of cancer.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use muster_engine::prelude::*;
use muster_medical::cancer::model::{Constants, Features, evaluate};
use muster_medical::data;

use crate::support::unreviewed;

/// None only where the data in the program is not well formed, which a test of the medical crate excludes.
static CONSTANTS: LazyLock<Option<Constants>> =
    LazyLock::new(|| Constants::parse(data::CANCER_MODELS, data::BCRAT).ok());

/// Names of the features of each model. A name that is none of them is refused, lest a finding be lost; one of another
/// model is not used, with a warning.
const MAYO: &[&str] = &["age", "smoker", "cancer_history", "diameter_mm", "spiculated", "upper_lobe"];
const BROCK: &[&str] = &[
    "age",
    "sex",
    "family_lung_cancer",
    "emphysema",
    "diameter_mm",
    "nodule_type",
    "upper_lobe",
    "nodule_count",
    "spiculated",
];
const PLCO: &[&str] = &[
    "age",
    "race",
    "education_level",
    "bmi",
    "copd",
    "cancer_history",
    "family_lung_cancer",
    "current_smoker",
    "cigarettes_per_day",
    "years_smoked",
    "years_quit",
];
const DERMOSCOPY: &[&str] = &["asymmetry", "border", "colours", "structures"];
const OVARY: &[&str] = &["ultrasound_features", "postmenopausal", "ca125"];

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    model: Model,
    features: Map<String, Value>,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
enum Model {
    #[wire(name = "brock")]
    Brock,
    #[wire(name = "mayo-nodule")]
    Mayo,
    #[wire(name = "plco-m2012")]
    Plco,
    #[wire(name = "abcd-dermoscopy")]
    Dermoscopy,
    #[wire(name = "ovarian-rmi")]
    Ovary,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    probability: Option<f64>,
    score: Option<f64>,
    category: Option<&'static str>,
    recommendation: Option<&'static str>,
    contributions: Option<BTreeMap<&'static str, f64>>,
    missing: Vec<String>,
}

/// Computes a model; with a feature missing there is no value, and `missing` names it.
///
/// # Errors
/// `Invalid` for a feature that the model does not have or a value out of its range, `NoAnswer` outside the population.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let names = match input.model {
        Model::Brock => BROCK,
        Model::Mayo => MAYO,
        Model::Plco => PLCO,
        Model::Dermoscopy => DERMOSCOPY,
        Model::Ovary => OVARY,
    };
    let of_others: Vec<&str> = input.features.keys().map(String::as_str).filter(|name| !names.contains(name)).collect();
    for (name, value) in &input.features {
        let of_another = [MAYO, BROCK, PLCO, DERMOSCOPY, OVARY].iter().any(|names| names.contains(&name.as_str()));
        if !names.contains(&name.as_str()) && !of_another {
            let text = format!("is no feature of {}; features are {}", input.model.word(), names.join(", "));
            return Err(Failure::invalid(&["features", name.as_str()], text));
        }
        if value.is_array() || value.is_object() {
            return Err(Failure::invalid(&["features", name.as_str()], "must be a number, true, false or a word"));
        }
    }
    if !of_others.is_empty() {
        cx.warn(format!("not_used: {} has no {}", input.model.word(), of_others.join(", ")));
    }
    let constants = CONSTANTS.as_ref().ok_or_else(|| Failure::internal("the constants are not well formed"))?;
    let features = Features::from_json(&input.features);
    let result = evaluate(constants, input.model.word(), &features)
        .ok_or_else(|| Failure::internal(format!("there is no model {}", input.model.word())))?;
    if !result.applicable {
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, format!("{}: {}", result.name, result.reason)));
    }
    if result.value.is_none() && result.missing.is_empty() {
        return Err(Failure::invalid(&["features"], result.reason));
    }
    if !result.missing.is_empty() {
        cx.warn(format!("missing: {} has no value without {}", input.model.word(), result.missing.join(", ")));
    }
    cx.assume(result.caveat);
    unreviewed(cx, "categories and recommendations restate the publications");
    let is_probability = result.unit == "probability";
    Ok(Output {
        probability: result.value.filter(|_| is_probability),
        score: result.value.filter(|_| !is_probability),
        category: result.band,
        recommendation: result.recommendation,
        contributions: result.value.map(|_| result.contributions.iter().copied().collect()),
        missing: result.missing,
    })
}
