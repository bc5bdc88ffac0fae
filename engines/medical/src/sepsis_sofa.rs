//! q215: sepsis scores.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_medical::score::Score;

use crate::support::{self, Known, field, points, unreviewed, whole};

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    pao2_fio2_mmhg: Option<f64>,
    ventilated: bool,
    platelets_1e9_l: Option<f64>,
    bilirubin_mg_dl: Option<f64>,
    map_mmhg: Option<f64>,
    vasopressor: Option<Vasopressor>,
    gcs: Option<i64>,
    creatinine_mg_dl: Option<f64>,
    urine_output_ml_d: Option<f64>,
    baseline_sofa: i64,
    respiratory_rate_per_min: Option<f64>,
    systolic_mmhg: Option<f64>,
    heart_rate_per_min: Option<f64>,
    temperature_deg_c: Option<f64>,
    wbc_1e9_l: Option<f64>,
    lactate_mmol_l: Option<f64>,
    suspected_infection: bool,
}

#[derive(Input)]
struct Vasopressor {
    agent: Agent,
    dose_ug_kg_min: f64,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
enum Agent {
    None,
    Dopamine,
    Dobutamine,
    Norepinephrine,
    Epinephrine,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    sofa: i64,
    organs: BTreeMap<String, i64>,
    delta: i64,
    qsofa: i64,
    sirs: i64,
    sepsis: bool,
    septic_shock: Option<bool>,
    missing: Vec<String>,
}

/// Computes SOFA, qSOFA and SIRS; what is missing counts as normal and is listed.
///
/// # Errors
/// `Invalid` for values that are not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input, cx)?;
    let (agent, dose) = match &input.vasopressor {
        Some(Vasopressor { agent, dose_ug_kg_min }) => (*agent, *dose_ug_kg_min),
        None => (Agent::None, 0.0),
    };
    let mut known = Known::default()
        .number("pao2_fio2_mmhg", input.pao2_fio2_mmhg)
        .flag("ventilated", input.ventilated)
        .number("platelets_10e9_l", input.platelets_1e9_l)
        .number("bilirubin_mg_dl", input.bilirubin_mg_dl)
        .number("map_mmhg", input.map_mmhg)
        .number("vasopressor_ug_kg_min", Some(dose).filter(|_| agent != Agent::None))
        .number("gcs", input.gcs.map(|points| points as f64))
        .number("creatinine_mg_dl", input.creatinine_mg_dl)
        .number("urine_ml_per_day", input.urine_output_ml_d)
        .number("respiratory_rate", input.respiratory_rate_per_min)
        .number("systolic_mmhg", input.systolic_mmhg)
        .number("heart_rate_bpm", input.heart_rate_per_min)
        .number("temperature_c", input.temperature_deg_c)
        .number("wbc_10e9_l", input.wbc_1e9_l);
    if input.vasopressor.is_some() {
        known = known.word("vasopressor", agent.word());
    }
    let sofa = counted(&known, cx, "sofa")?;
    known.absent(cx, "sofa", &[("ventilated", "ventilated")])?;
    let (qsofa, sirs) = (counted(&known, cx, "qsofa")?, counted(&known, cx, "sirs")?);
    cx.assume("The patient is 18 years or older: the scores are for adults.");
    let total = least(&sofa);
    let delta = total - input.baseline_sofa;
    if delta < 0 {
        cx.warn("baseline: the baseline is above the present score; what is missing may be why");
    }
    let sepsis = input.suspected_infection && delta >= 2;
    if input.baseline_sofa == 0 {
        cx.warn("default: the baseline is 0, as Sepsis-3 has it where no organ dysfunction was known before");
    }
    if input.suspected_infection {
        cx.warn("default: infection is suspected unless suspected_infection is false");
    }
    unreviewed(cx, "sepsis and septic shock are the criteria of Sepsis-3, not a diagnosis");
    let mut missing: Vec<String> = Vec::new();
    for name in sofa.missing.iter().chain(&qsofa.missing).chain(&sirs.missing) {
        let name = field(name).to_owned();
        if !missing.contains(&name) {
            missing.push(name);
        }
    }
    Ok(Output {
        sofa: total,
        organs: points(&sofa),
        delta,
        qsofa: least(&qsofa),
        sirs: least(&sirs),
        sepsis,
        septic_shock: shock(sepsis, agent, &input, cx),
        missing,
    })
}

fn check(input: &Input, cx: &Context) -> Result<(), Failure> {
    support::OXYGENATION.check(cx, "pao2_fio2", input.pao2_fio2_mmhg)?;
    support::PLATELETS.check(cx, "platelets", input.platelets_1e9_l)?;
    support::BILIRUBIN.check(cx, "bilirubin", input.bilirubin_mg_dl)?;
    support::MEAN_PRESSURE.check(cx, "map", input.map_mmhg)?;
    support::CREATININE.check(cx, "creatinine", input.creatinine_mg_dl)?;
    support::URINE_DAY.check(cx, "urine_output", input.urine_output_ml_d)?;
    support::BREATHS.check(cx, "respiratory_rate", input.respiratory_rate_per_min)?;
    support::SYSTOLIC.check(cx, "systolic", input.systolic_mmhg)?;
    support::HEART_RATE.check(cx, "heart_rate", input.heart_rate_per_min)?;
    support::TEMPERATURE.check(cx, "temperature", input.temperature_deg_c)?;
    support::LEUCOCYTES.check(cx, "wbc", input.wbc_1e9_l)?;
    support::LACTATE.check(cx, "lactate", input.lactate_mmol_l)?;
    if let Some(Vasopressor { agent, dose_ug_kg_min: dose }) = &input.vasopressor {
        if !(0.0..=100.0).contains(dose) {
            let text = format!("{dose} ug/kg/min is not plausible (0 to 100): divide ug/min by the weight in kg");
            return Err(Failure::invalid(&["vasopressor", "dose"], text));
        }
        if *agent != Agent::None && *agent != Agent::Dobutamine && *dose == 0.0 {
            let text = "is 0 although an agent is named: give the rate, or the agent `none`";
            return Err(Failure::invalid(&["vasopressor", "dose"], text));
        }
    }
    Ok(())
}

fn counted(known: &Known, cx: &Context, id: &str) -> Result<Score, Failure> {
    known.least(cx, id)?.ok_or_else(|| Failure::internal(format!("{id} has no bounds")))
}

fn least(score: &Score) -> i64 {
    score.min.map_or(0, whole)
}

/// Sepsis with a vasopressor for a mean pressure of 65 mmHg and lactate above 2 mmol/L; none while the lactate decides
/// and is not known.
fn shock(sepsis: bool, agent: Agent, input: &Input, cx: &Context) -> Option<bool> {
    if sepsis && input.vasopressor.is_none() {
        cx.warn("missing: a vasopressor decides on septic shock; none is counted, as none was given");
    }
    // Dobutamine is an inotrope: it does not hold the pressure.
    if !sepsis || matches!(agent, Agent::None | Agent::Dobutamine) {
        return Some(false);
    }
    if input.lactate_mmol_l.is_none() {
        cx.warn("missing: lactate decides on septic shock");
    }
    input.lactate_mmol_l.map(|lactate| lactate > 2.0)
}
