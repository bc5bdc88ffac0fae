//! q216: severity of injury.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::support::{self, Known, unreviewed, whole};

const REGIONS: [&str; 6] = ["head", "face", "chest", "abdomen", "extremities", "external"];

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    eye: i64,
    verbal: i64,
    motor: i64,
    systolic_mmhg: f64,
    respiratory_rate_per_min: f64,
    ais: BTreeMap<String, i64>,
    age_yr: f64,
    mechanism: Mechanism,
    pupils_unreactive: i64,
}

#[derive(Words, Clone, Copy)]
enum Mechanism {
    Blunt,
    Penetrating,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    gcs: i64,
    gcs_p: i64,
    rts: f64,
    iss: i64,
    survival: Option<f64>,
    class: Class,
}

#[derive(Words, Clone, Copy)]
enum Class {
    Mild,
    Moderate,
    Severe,
}

/// Computes the scores.
///
/// # Errors
/// `Invalid` for a region or grade that the abbreviated injury scale does not have, and for values that are not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    support::SYSTOLIC.check(cx, "systolic", input.systolic_mmhg)?;
    support::BREATHS.check(cx, "respiratory_rate", input.respiratory_rate_per_min)?;
    for (region, grade) in &input.ais {
        if !REGIONS.contains(&region.as_str()) {
            let text = format!("is no region of the injury severity score; regions are {}", REGIONS.join(", "));
            return Err(Failure::invalid(&["ais", region.as_str()], text));
        }
        if !(0..=6).contains(grade) {
            return Err(Failure::invalid(
                &["ais", region.as_str()],
                "must be from 0 (no injury) to 6 (not survivable)",
            ));
        }
    }
    let known = injuries(&input);
    let total = input.eye + input.verbal + input.motor;
    let iss = known.score("iss")?.value.ok_or_else(|| Failure::internal("iss has no value"))?;
    if input.ais.is_empty() {
        cx.warn("missing: no injury is graded, so iss is 0 and no survival is computed");
    }
    let known = known.number("gcs", total as f64).number("iss", Some(iss).filter(|_| !input.ais.is_empty()));
    let rts = known.score("rts")?.value.ok_or_else(|| Failure::internal("rts has no value"))?;
    cx.step("iss", whole(iss), "");
    if input.age_yr == 40.0 {
        cx.warn("default: an age that is not given is 40 years");
    }
    cx.assume("Pupils that are not given react.");
    unreviewed(cx, "survival is for the audit of groups (coefficients of 1995), not for one patient");
    Ok(Output {
        gcs: total,
        gcs_p: total - input.pupils_unreactive,
        rts,
        iss: whole(iss),
        survival: known.value(cx, "triss")?,
        class: match total {
            ..=8 => Class::Severe,
            9..=12 => Class::Moderate,
            _ => Class::Mild,
        },
    })
}

fn injuries(input: &Input) -> Known {
    let mut known = Known::default()
        .number("systolic_mmhg", input.systolic_mmhg)
        .number("respiratory_rate", input.respiratory_rate_per_min)
        .number("age_years", input.age_yr)
        .word("mechanism", input.mechanism.word());
    for region in REGIONS {
        let grade = input.ais.get(region).copied().unwrap_or(0);
        known = known.number(&format!("ais_{region}"), grade as f64);
    }
    known
}
