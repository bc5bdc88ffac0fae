//! q221: stroke and bleeding in atrial fibrillation.

use muster_engine::prelude::*;

use crate::support::{Known, Sex, unreviewed, whole};

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    age_yr: f64,
    sex: Sex,
    heart_failure: bool,
    hypertension: bool,
    diabetes: bool,
    stroke: bool,
    vascular_disease: bool,
    uncontrolled_bp: bool,
    renal: bool,
    liver: bool,
    bleeding: bool,
    labile_inr: bool,
    drugs: bool,
    alcohol: bool,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    cha2ds2_vasc: i64,
    stroke_rate_percent_yr: Option<f64>,
    has_bled: i64,
    bleed_rate_per_100py: Option<f64>,
    advice: &'static str,
}

/// Fields and inputs of CHA2DS2-VASc.
const STROKE: [(&str, &str); 5] = [
    ("heart_failure", "congestive_heart_failure"),
    ("hypertension", "hypertension"),
    ("diabetes", "diabetes"),
    ("stroke", "stroke_tia_thromboembolism"),
    ("vascular_disease", "vascular_disease"),
];
/// Fields and inputs of HAS-BLED.
const BLEEDING: [(&str, &str); 8] = [
    ("uncontrolled_bp", "uncontrolled_hypertension"),
    ("renal", "abnormal_renal_function"),
    ("liver", "abnormal_liver_function"),
    ("stroke", "stroke"),
    ("bleeding", "bleeding_history"),
    ("labile_inr", "labile_inr"),
    ("drugs", "antiplatelet_or_nsaid"),
    ("alcohol", "alcohol_excess"),
];

/// Computes both scores with their published yearly rates.
///
/// # Errors
/// `Internal` only.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let known = Known::default()
        .number("age_years", input.age_yr)
        .word("sex", input.sex.word())
        .flag("congestive_heart_failure", input.heart_failure)
        .flag("hypertension", input.hypertension)
        .flag("diabetes", input.diabetes)
        .flag("stroke_tia_thromboembolism", input.stroke)
        .flag("vascular_disease", input.vascular_disease)
        .flag("uncontrolled_hypertension", input.uncontrolled_bp)
        .flag("abnormal_renal_function", input.renal)
        .flag("abnormal_liver_function", input.liver)
        .flag("stroke", input.stroke)
        .flag("bleeding_history", input.bleeding)
        .flag("labile_inr", input.labile_inr)
        .flag("antiplatelet_or_nsaid", input.drugs)
        .flag("alcohol_excess", input.alcohol);
    known.absent(cx, "cha2ds2_vasc", &STROKE)?;
    known.absent(cx, "has_bled", &BLEEDING)?;
    let total = |id: &str| known.score(id)?.value.ok_or_else(|| Failure::internal(format!("{id} has no value")));
    let (stroke, bleeding) = (total("cha2ds2_vasc")?, total("has_bled")?);
    let rate = |id: &str, score: &str, value: f64| Known::default().number(score, value).score(id).map(|s| s.value);
    unreviewed(cx, "the advice restates the ESC guideline of 2020 for non-valvular atrial fibrillation");
    Ok(Output {
        cha2ds2_vasc: whole(stroke),
        stroke_rate_percent_yr: rate("af_stroke_rate", "cha2ds2_vasc", stroke)?,
        has_bled: whole(bleeding),
        bleed_rate_per_100py: rate("af_bleed_rate", "has_bled", bleeding)?,
        advice: advice(stroke, input.sex),
    })
}

/// The classes of the guideline count without the point of sex.
fn advice(stroke: f64, sex: Sex) -> &'static str {
    match stroke - f64::from(u8::from(sex == Sex::Female)) {
        without if without >= 2.0 => {
            "ESC 2020: oral anticoagulation is recommended; bleeding risks that can be mended are addressed, and a high \
             HAS-BLED is no reason to withhold it"
        }
        without if without >= 1.0 => {
            "ESC 2020: oral anticoagulation should be considered, by individual benefit and preference"
        }
        _ => "ESC 2020: no antithrombotic treatment for prevention of stroke; risk is assessed again over time",
    }
}
