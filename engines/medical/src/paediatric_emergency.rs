//! q230: emergency values of a child.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::child_nutrition::growth;
use crate::support::{Known, unreviewed};

/// Ranges of vital signs by age.
const SIGNS: &str = include_str!("../data/vital_signs.csv");
/// From about this weight, in kg, the doses of adults are compared.
const ADULT: f64 = 50.0;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    age_months: Option<f64>,
    length_cm: Option<f64>,
    weight_kg: Option<f64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    weight_kg: f64,
    vitals: Option<BTreeMap<&'static str, Vec<f64>>>,
    tube_uncuffed_mm: Option<f64>,
    tube_cuffed_mm: Option<f64>,
    tube_depth_cm: Option<f64>,
    defibrillation_j: f64,
    fluid_bolus_ml: f64,
    adrenaline_ug: f64,
    glucose_10: f64,
    gcs_hint: &'static str,
}

/// Gives the values for the measured weight, else the weight by length, else by age.
///
/// # Errors
/// `Invalid` without any measure, `NoAnswer` for an age for which there is no formula of the weight.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let known = Known::default().number("age_months", input.age_months);
    let by_age = known.score("weight_apls")?.unrounded;
    let weight = weight(&input, by_age, cx)?;
    let dosed = Known::default().number("weight_kg", weight);
    let dose = |id: &str| dosed.value(cx, id)?.ok_or_else(|| Failure::internal(format!("{id} has no value")));
    let tube = |id: &str| if input.age_months.is_some() { known.value(cx, id) } else { Ok(None) };
    if weight >= ADULT {
        cx.warn(format!(
            "adult: from {ADULT} kg compare each dose with that of adults, which is the most that is given"
        ));
    }
    if input.age_months.is_none() {
        cx.warn("missing: tubes and vital signs go by age, which is not known");
    }
    unreviewed(cx, "values restate APLS and the RCUK guideline of 2021; a second person checks each dose");
    Ok(Output {
        weight_kg: weight,
        vitals: input.age_months.and_then(vitals),
        tube_uncuffed_mm: tube("tube_uncuffed")?,
        tube_cuffed_mm: tube("tube_cuffed")?,
        tube_depth_cm: tube("tube_depth")?,
        defibrillation_j: dose("defibrillation_joules")?,
        fluid_bolus_ml: dose("fluid_bolus_ml")?,
        adrenaline_ug: dose("adrenaline_arrest_ug")?,
        glucose_10: dose("glucose_10_ml")?,
        gcs_hint: match input.age_months {
            Some(months) if months < 60.0 => "below 5 years the verbal points of the paediatric coma scale are used",
            Some(_) => "from 5 years the coma scale of adults is used",
            None => {
                "below 5 years the verbal points of the paediatric coma scale are used, from 5 years those of adults"
            }
        },
    })
}

fn weight(input: &Input, by_age: Option<f64>, cx: &Context) -> Result<f64, Failure> {
    if let Some(weight) = input.weight_kg {
        if by_age.is_some_and(|expected| !(0.4..=2.5).contains(&(weight / expected))) {
            cx.warn("contradiction: the weight is far from that of the age: check kg and months");
        }
        return Ok(weight);
    }
    if let Some(length) = input.length_cm {
        let median = growth::median_weight(length);
        if let Some(weight) = median {
            cx.warn("estimated: the weight is the median of the WHO for the length, of boys and girls");
            return Ok(weight);
        }
        if by_age.is_none() {
            let text =
                format!("the WHO's weights for length are for 45 to 120 cm, and the length is {length} cm: weigh");
            return Err(Failure::no_answer(NoAnswer::OutsideValidity, text));
        }
    }
    let Some(months) = input.age_months else {
        return Err(Failure::invalid(&["weight"], "is missing: give weight, length or age_months"));
    };
    cx.warn("estimated: the weight is that of APLS for the age; a measured weight or a tape is better");
    by_age.ok_or_else(|| {
        let text = format!("the weight by age ends at 12 years, and the age is {months} months: weigh");
        Failure::no_answer(NoAnswer::OutsideValidity, text)
    })
}

/// Ranges of the last row whose age is reached.
fn vitals(months: f64) -> Option<BTreeMap<&'static str, Vec<f64>>> {
    let rows = SIGNS.lines().skip(2).map(|line| line.split(',').filter_map(|cell| cell.parse().ok()).collect());
    let row: Vec<f64> = rows.filter(|row: &Vec<f64>| row.first().is_some_and(|from| months >= 12.0 * from)).last()?;
    let names = ["heart_rate", "respiratory_rate", "systolic"];
    Some(names.into_iter().zip(row.get(1..)?.chunks(2).map(<[f64]>::to_vec)).collect())
}
