//! q223: kidney function and acute kidney injury.

use muster_engine::prelude::*;

use crate::support::{self, Known, Sex, unreviewed, whole};

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    creatinine_mg_dl: f64,
    age_yr: f64,
    sex: Sex,
    weight_kg: Option<f64>,
    cystatin_c_mg_l: Option<f64>,
    baseline_creatinine_mg_dl: Option<f64>,
    urine_ml_kg_h: Option<f64>,
    urine_hours: Option<f64>,
    acr_mg_g: Option<f64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    egfr_ml_min_1_73m2: f64,
    egfr_cr_cys_ml_min_1_73m2: Option<f64>,
    crcl_ml_min: Option<f64>,
    ckd_stage: String,
    albuminuria: Option<String>,
    aki_stage: Option<i64>,
}

/// Estimates the filtration rate and stages chronic disease and acute injury.
///
/// # Errors
/// `Invalid` for values that are not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    support::CREATININE.check(cx, "creatinine", input.creatinine_mg_dl)?;
    support::WEIGHT.check(cx, "weight", input.weight_kg)?;
    support::CYSTATIN.check(cx, "cystatin_c", input.cystatin_c_mg_l)?;
    support::CREATININE.check(cx, "baseline_creatinine", input.baseline_creatinine_mg_dl)?;
    support::ACR.check(cx, "acr", input.acr_mg_g)?;
    for (field, value, most) in
        [("urine_ml_kg_h", input.urine_ml_kg_h, 50.0), ("urine_hours", input.urine_hours, 168.0)]
    {
        if value.is_some_and(|value| !(0.0..=most).contains(&value)) {
            return Err(Failure::invalid(&[field], format!("must be from 0 to {most}")));
        }
    }
    let known = Known::default()
        .number("creatinine_mg_dl", input.creatinine_mg_dl)
        .number("age_years", input.age_yr)
        .word("sex", input.sex.word())
        .number("weight_kg", input.weight_kg)
        .number("cystatin_c_mg_l", input.cystatin_c_mg_l)
        .number("baseline_creatinine_mg_dl", input.baseline_creatinine_mg_dl)
        .number("urine_ml_kg_h", input.urine_ml_kg_h)
        .number("urine_hours", input.urine_hours)
        .number("acr_mg_g", input.acr_mg_g);
    let egfr = known.value(cx, "ckd_epi_2021")?;
    let combined = known.value(cx, "ckd_epi_2021_cystatin")?;
    // KDIGO 2024 prefers the estimate from both markers where there is one.
    let staged = if combined.is_some() { "ckd_epi_2021_cystatin" } else { "ckd_epi_2021" };
    let stage = known.score(staged)?.band.ok_or_else(|| Failure::internal("there is no stage"))?;
    cx.assume("A stage of chronic disease needs the finding for 3 months or longer.");
    unreviewed(cx, "stages are those of KDIGO; the estimates do not hold in acute kidney injury");
    Ok(Output {
        egfr_ml_min_1_73m2: egfr.ok_or_else(|| Failure::internal("there is no estimate"))?,
        egfr_cr_cys_ml_min_1_73m2: combined,
        crcl_ml_min: known.value(cx, "cockcroft_gault")?,
        ckd_stage: stage,
        albuminuria: known.score("albuminuria_acr")?.band,
        aki_stage: injury(&input, &known, cx)?,
    })
}

/// Stage of acute injury; none where neither a baseline nor the urine is known.
fn injury(input: &Input, known: &Known, cx: &Context) -> Result<Option<i64>, Failure> {
    let urine = input.urine_ml_kg_h.is_some() && input.urine_hours.is_some();
    if input.urine_ml_kg_h.is_some() != input.urine_hours.is_some() {
        cx.warn("missing: the urine counts only with both urine_ml_kg_h and urine_hours");
    }
    if input.baseline_creatinine_mg_dl.is_none() && !urine {
        return Ok(None);
    }
    Ok(known.least(cx, "kdigo")?.and_then(|score| score.min).map(whole))
}
