//! q214: NEWS2 early warning score.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::support::{Known, points, unreviewed, whole};

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    respiratory_rate_per_min: f64,
    spo2_percent: f64,
    oxygen: bool,
    systolic_mmhg: f64,
    heart_rate_per_min: f64,
    consciousness: Consciousness,
    temperature_deg_c: f64,
    scale2: bool,
}

#[derive(Words, Clone, Copy)]
#[wire(case = "upper")]
enum Consciousness {
    A,
    C,
    V,
    P,
    U,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    score: i64,
    points: BTreeMap<String, i64>,
    red_flag: bool,
    risk: Risk,
    response: &'static str,
}

#[derive(Words, Clone, Copy)]
#[wire(case = "kebab")]
enum Risk {
    Low,
    LowMedium,
    Medium,
    High,
}

/// Scores the vital signs.
///
/// # Errors
/// `Internal` only.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let known = Known::default()
        .number("respiratory_rate", input.respiratory_rate_per_min)
        .number("spo2_percent", input.spo2_percent)
        .word("spo2_scale", if input.scale2 { "2" } else { "1" })
        .flag("supplemental_oxygen", input.oxygen)
        .number("systolic_mmhg", input.systolic_mmhg)
        .number("heart_rate_bpm", input.heart_rate_per_min)
        .word("acvpu", input.consciousness.word())
        .number("temperature_c", input.temperature_deg_c);
    let score = known.score("news2")?;
    known.absent(cx, "news2", &[("oxygen", "supplemental_oxygen"), ("consciousness", "acvpu")])?;
    cx.assume("The patient is 16 years or older and not pregnant: NEWS2 is not for others.");
    let total = score.value.ok_or_else(|| Failure::internal("news2 has no value with all inputs"))?;
    let mut points = points(&score);
    if let Some(oxygen) = points.remove("supplemental_oxygen") {
        points.insert("oxygen".to_owned(), oxygen);
    }
    let red_flag = points.values().any(|points| *points >= 3);
    if input.scale2 {
        cx.warn("scale2: SpO2 scale 2 is for confirmed hypercapnic respiratory failure with a target of 88 to 92 %");
    }
    unreviewed(cx, "the response is restated from chart 4 of the RCP's report");
    Ok(Output {
        score: whole(total),
        points,
        red_flag,
        risk: risk(total, red_flag),
        response: response(total, red_flag),
    })
}

fn risk(total: f64, red_flag: bool) -> Risk {
    match total {
        total if total >= 7.0 => Risk::High,
        total if total >= 5.0 => Risk::Medium,
        _ if red_flag => Risk::LowMedium,
        _ => Risk::Low,
    }
}

fn response(total: f64, red_flag: bool) -> &'static str {
    match total {
        total if total >= 7.0 => {
            "RCP 2017, emergency response: continuous monitoring; emergency assessment by a team with critical care \
             competencies"
        }
        total if total >= 5.0 => {
            "RCP 2017, urgent response: observations at least hourly; urgent assessment by a clinician or team with core \
             competencies in the care of acutely ill patients"
        }
        _ if red_flag => {
            "RCP 2017, a parameter of 3: observations at least hourly; urgent review by a clinician, who decides on \
             escalation"
        }
        total if total >= 1.0 => {
            "RCP 2017: observations at least every 4 to 6 hours; a registered nurse assesses the patient"
        }
        _ => "RCP 2017: observations at least every 12 hours",
    }
}
