//! q222: ten-year cardiovascular risk.

use muster_engine::prelude::*;

use crate::support::{self, Known, Sex, unreviewed};

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    age_yr: f64,
    sex: Sex,
    race: Race,
    total_cholesterol_mg_dl: f64,
    hdl_mg_dl: f64,
    systolic_mmhg: f64,
    treated: bool,
    smoker: bool,
    diabetes: bool,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
#[wire(case = "kebab")]
enum Race {
    White,
    AfricanAmerican,
    Other,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    ascvd_percent: Option<f64>,
    framingham_percent: Option<f64>,
    heart_age_yr: Option<f64>,
    category: Option<Category>,
}

#[derive(Words, Clone, Copy)]
enum Category {
    Low,
    Borderline,
    Intermediate,
    High,
}

/// Computes the risks; one that is not for the age is left out.
///
/// # Errors
/// `Invalid` for values that are not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    support::CHOLESTEROL.check(cx, "total_cholesterol", input.total_cholesterol_mg_dl)?;
    support::HDL.check(cx, "hdl", input.hdl_mg_dl)?;
    if input.hdl_mg_dl >= input.total_cholesterol_mg_dl {
        return Err(Failure::invalid(&["hdl"], "must be below the total cholesterol, of which it is a part"));
    }
    if !(60.0..=300.0).contains(&input.systolic_mmhg) {
        let text = "must be from 60 to 300 mmHg; a value in kPa is multiplied by 7.5";
        return Err(Failure::invalid(&["systolic"], text));
    }
    if !(90.0..=200.0).contains(&input.systolic_mmhg) || !(130.0..=320.0).contains(&input.total_cholesterol_mg_dl) {
        cx.warn("extrapolated: the equations were made with pressures of 90 to 200 mmHg and cholesterol of 130 to 320 mg/dL");
    }
    let known = Known::default()
        .number("age_years", input.age_yr)
        .word("sex", input.sex.word())
        .word("race", &input.race.word().replace('-', "_"))
        .number("total_cholesterol_mg_dl", input.total_cholesterol_mg_dl)
        .number("hdl_mg_dl", input.hdl_mg_dl)
        .number("systolic_mmhg", input.systolic_mmhg)
        .flag("treated_bp", input.treated)
        .flag("smoker", input.smoker)
        .flag("diabetes", input.diabetes);
    let absent: Vec<&str> = [("treated", input.treated), ("smoker", input.smoker), ("diabetes", input.diabetes)]
        .iter()
        .filter(|(_, present)| !*present)
        .map(|(name, _)| *name)
        .collect();
    if !absent.is_empty() {
        cx.warn(format!("absent: {} count as absent, false being the default", absent.join(", ")));
    }
    if input.race == Race::Other {
        cx.warn(
            "extrapolated: other groups get the equation of white people, which may over- or understate their risk",
        );
    }
    unreviewed(cx, "risks are for people without earlier cardiovascular disease");
    Ok(Output {
        ascvd_percent: known.value(cx, "ascvd_pce_2013")?,
        framingham_percent: known.value(cx, "framingham_2008")?,
        heart_age_yr: known.value(cx, "framingham_heart_age")?,
        category: support::band(&known.score("ascvd_pce_2013")?),
    })
}
