//! q220: probability of venous thromboembolism.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::support::{self, Known, unreviewed, whole};

/// Criteria of pulmonary embolism, with the inputs of the scores that they answer.
const EMBOLISM: &[(&str, &[&str])] = &[
    ("dvt_signs", &["clinical_signs_dvt"]),
    ("pe_most_likely", &["pe_most_likely"]),
    ("immobilised", &["immobilisation_or_surgery"]),
    ("previous_vte", &["previous_vte", "previous_pe", "previous_dvt"]),
    ("haemoptysis", &["haemoptysis"]),
    ("malignancy", &["malignancy"]),
    ("leg_swelling", &["unilateral_leg_swelling"]),
    ("surgery_or_trauma", &["recent_surgery_or_trauma"]),
    ("hormone_use", &["hormone_use"]),
    ("surgery_or_fracture", &["surgery_or_fracture_1m"]),
    ("leg_pain", &["unilateral_leg_pain"]),
    ("palpation_pain_and_oedema", &["pain_on_palpation_and_unilateral_oedema"]),
];
/// Criteria of deep vein thrombosis.
const THROMBOSIS: &[(&str, &[&str])] = &[
    ("active_cancer", &["active_cancer"]),
    ("paralysis_or_plaster", &["paralysis_or_plaster"]),
    ("bedridden_or_surgery", &["bedridden_3d", "major_surgery_12w"]),
    ("localised_tenderness", &["localised_tenderness"]),
    ("entire_leg_swollen", &["entire_leg_swollen"]),
    ("calf_swelling", &["calf_swelling_gt3cm"]),
    ("pitting_oedema", &["pitting_oedema"]),
    ("collateral_veins", &["collateral_veins"]),
    ("previous_dvt", &["previous_dvt"]),
    ("alternative_as_likely", &["alternative_diagnosis_as_likely"]),
];

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    condition: Condition,
    age_yr: f64,
    heart_rate_per_min: Option<f64>,
    spo2_percent: Option<f64>,
    criteria: BTreeMap<String, bool>,
    d_dimer_ng_ml: Option<f64>,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Pe,
    Dvt,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    wells: f64,
    wells_class: String,
    perc_negative: Option<bool>,
    revised_geneva: Option<i64>,
    d_dimer_threshold_ng_ml: f64,
    advice: String,
}

/// Computes the scores of the condition.
///
/// # Errors
/// `Invalid` for a criterion that the condition does not have, and for values that are not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    support::HEART_RATE.check(cx, "heart_rate", input.heart_rate_per_min)?;
    support::SATURATION.check(cx, "spo2", input.spo2_percent)?;
    support::D_DIMER.check(cx, "d_dimer", input.d_dimer_ng_ml)?;
    let embolism = input.condition == Condition::Pe;
    let criteria = if embolism { EMBOLISM } else { THROMBOSIS };
    let mut known = Known::default()
        .number("age_years", input.age_yr)
        .number("heart_rate_bpm", input.heart_rate_per_min)
        .number("spo2_percent", input.spo2_percent);
    for (name, value) in &input.criteria {
        let Some((_, inputs)) = criteria.iter().find(|(criterion, _)| criterion == name) else {
            let names: Vec<&str> = criteria.iter().map(|(criterion, _)| *criterion).collect();
            let text = format!("is no criterion of {}; criteria are {}", input.condition.word(), names.join(", "));
            return Err(Failure::invalid(&["criteria", name.as_str()], text));
        };
        for input in *inputs {
            known = known.flag(input, *value);
        }
    }
    let id = if embolism { "wells_pe" } else { "wells_dvt" };
    let Some(wells) = known.least(cx, id)? else {
        let text = "the score is not for this patient: a heart rate of 0 is cardiac arrest";
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, text));
    };
    let class = wells.possible_bands.join(" or ");
    let threshold = known.score("d_dimer_age_adjusted")?.value;
    let threshold = threshold.ok_or_else(|| Failure::internal("there is no threshold"))?;
    let perc_negative = if embolism { perc(&known)? } else { None };
    let geneva = if embolism { known.score("revised_geneva")?.value.map(whole) } else { None };
    if !embolism && input.age_yr > 50.0 {
        cx.warn("extrapolated: the age-adjusted limit of D-dimer was validated for pulmonary embolism");
    }
    unreviewed(cx, "the advice restates the publications of the scores");
    let likely = wells.possible_bands.iter().any(|band| band == "likely");
    Ok(Output {
        wells: wells.min.unwrap_or_default(),
        wells_class: class,
        perc_negative,
        revised_geneva: geneva,
        d_dimer_threshold_ng_ml: threshold,
        advice: advice(embolism, likely, input.d_dimer_ng_ml.map(|value| value < threshold), perc_negative),
    })
}

/// Whether no criterion of PERC is met; none while one that is not known decides.
fn perc(known: &Known) -> Result<Option<bool>, Failure> {
    let score = known.score("perc")?;
    Ok(match (score.min, score.max) {
        (Some(min), _) if min > 0.0 => Some(false),
        (_, Some(0.0)) => Some(true),
        _ => None,
    })
}

fn advice(embolism: bool, likely: bool, d_dimer_low: Option<bool>, perc_negative: Option<bool>) -> String {
    let imaging = if embolism { "CT pulmonary angiography or another imaging test" } else { "compression ultrasound" };
    let (source, condition) =
        if embolism { ("Wells 2000", "pulmonary embolism") } else { ("Wells 2003", "deep vein thrombosis") };
    let mut text = match (likely, d_dimer_low) {
        (true, _) => format!("{source}: {condition} is likely or cannot be called unlikely yet: {imaging}"),
        (false, None) => format!("{source}: {condition} is unlikely: D-dimer decides on {imaging}"),
        (false, Some(true)) => {
            format!("{source}: unlikely, and D-dimer below the limit: the strategy counts {condition} as excluded")
        }
        (false, Some(false)) => format!("{source}: unlikely, but D-dimer not below the limit: {imaging}"),
    };
    if perc_negative == Some(true) {
        text.push_str(
            ". Kline 2004: PERC is negative, which excludes only where the clinician's own estimate is below 15 %",
        );
    }
    text
}
