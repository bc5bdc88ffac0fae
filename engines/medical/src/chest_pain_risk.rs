//! q219: risk in chest pain.

use muster_engine::prelude::*;

use crate::support::{Known, unreviewed, whole};

const MAX_TROPONIN_RATIO: f64 = 1e6;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    age_yr: f64,
    history: i64,
    ecg: i64,
    troponin_ratio_xuln: f64,
    risk_factors: i64,
    known_cad: bool,
    aspirin_7d: bool,
    severe_angina: bool,
    st_deviation: bool,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    heart: i64,
    heart_risk: String,
    timi: i64,
    timi_risk_percent: f64,
    pathway: &'static str,
}

/// Computes HEART and TIMI.
///
/// # Errors
/// `Invalid` for a troponin that is not a ratio.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.troponin_ratio_xuln > MAX_TROPONIN_RATIO {
        let text = "is not plausible: divide the troponin by the upper limit of the assay, in the same unit";
        return Err(Failure::invalid(&["troponin_ratio"], text));
    }
    if input.st_deviation && input.ecg < 2 {
        cx.warn("contradiction: st_deviation is true, for which the ecg of HEART has 2 points");
    }
    let known = Known::default()
        .number("age_years", input.age_yr)
        .number("history", input.history as f64)
        .number("ecg", input.ecg as f64)
        .number("risk_factor_count", input.risk_factors as f64)
        .flag("known_cad", input.known_cad)
        .number("troponin_ratio", input.troponin_ratio_xuln)
        .flag("aspirin_use_past_7_days", input.aspirin_7d)
        .flag("severe_angina", input.severe_angina)
        .flag("st_deviation", input.st_deviation);
    let findings = [
        ("known_cad", "known_cad"),
        ("aspirin_7d", "aspirin_use_past_7_days"),
        ("severe_angina", "severe_angina"),
        ("st_deviation", "st_deviation"),
    ];
    known.absent(cx, "timi_ua_nstemi", &findings)?;
    if input.risk_factors == 0 {
        cx.warn("absent: no risk factor is counted, 0 being the default");
    }
    let heart = known.score("heart")?;
    let timi = known.score("timi_ua_nstemi")?.value;
    let (Some(total), Some(band), Some(timi)) = (heart.value, heart.band, timi) else {
        return Err(Failure::internal("a score has no value with all inputs"));
    };
    let risk = Known::default().number("timi_ua_nstemi", timi).score("timi_risk_14d")?.value;
    unreviewed(cx, "the pathway restates the publication; ST elevation and instability are treated at once instead");
    Ok(Output {
        heart: whole(total),
        heart_risk: band,
        timi: whole(timi),
        timi_risk_percent: risk.ok_or_else(|| Failure::internal("there is no risk"))?,
        pathway: match total {
            total if total >= 7.0 => "Six 2008, 7 to 10 points: early invasive strategies",
            total if total >= 4.0 => "Six 2008, 4 to 6 points: admission for observation",
            _ => "Six 2008, 0 to 3 points: supports early discharge",
        },
    })
}
