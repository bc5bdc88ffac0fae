//! q235: projection of an outbreak, and its reproduction number over time.

mod reproduction;
mod seir;

use muster_engine::prelude::*;

use reproduction::SerialInterval;
use seir::Model;

const MAX_CASES: usize = 5_000;
const MAX_COUNT: f64 = 1e9;
const MAX_INTERVENTIONS: usize = 200;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    cases: Vec<f64>,
    population: i64,
    r0: Option<f64>,
    latent_days: f64,
    infectious_days: f64,
    serial_interval: Interval,
    initial_infected: f64,
    interventions: Vec<Intervention>,
    days: i64,
    hospital_share: f64,
    stay_days: f64,
    window: i64,
}

#[derive(Input)]
struct Interval {
    mean: f64,
    sd: f64,
}

#[derive(Input)]
struct Intervention {
    day: f64,
    factor: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    series: Vec<Day>,
    peak: Option<Peak>,
    final_size: Option<f64>,
    rt: Vec<Estimate>,
    doubling_days: Option<f64>,
    herd_threshold: Option<f64>,
}

#[derive(Output, Clone, Copy)]
struct Day {
    day: f64,
    s: f64,
    e: f64,
    i: f64,
    r: f64,
    hospital: f64,
}

#[derive(Output, Clone, Copy)]
struct Peak {
    day: f64,
    infectious: f64,
    hospital: f64,
}

#[derive(Output)]
struct Estimate {
    day: i64,
    mean: f64,
    low: f64,
    high: f64,
}

/// Projects with `r0`, and estimates the reproduction number from `cases`.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` for cases of fewer days than the window.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let interval = check(&input)?;
    let mut output = Output {
        series: Vec::new(),
        peak: None,
        final_size: None,
        rt: Vec::new(),
        doubling_days: None,
        herd_threshold: None,
    };
    let mut growth = None;
    if !input.cases.is_empty() {
        output.rt = reproduction::estimate(&input.cases, &interval, input.window, cx)?;
        // Wallinga and Lipsitch: growth of a reproduction number under a gamma interval.
        growth = output.rt.last().map(|last| interval.growth(last.mean));
    }
    if let Some(r0) = input.r0 {
        let model = Model::of(&input, r0);
        let projection = model.project(input.days, cx);
        output.final_size = Some(projection.attacked);
        output.peak = Some(projection.peak);
        output.series = projection.series;
        output.herd_threshold = Some((1.0 - 1.0 / r0).max(0.0)).filter(|threshold| threshold.is_finite());
        cx.step("final_size_relation", seir::final_size(r0), "");
        growth = growth.or(Some(model.growth()));
    }
    output.doubling_days = growth.filter(|rate| *rate > 1e-9).map(|rate| std::f64::consts::LN_2 / rate);
    Ok(output)
}

fn check(input: &Input) -> Result<SerialInterval, Failure> {
    if input.cases.is_empty() && input.r0.is_none() {
        return Err(Failure::invalid(&["r0"], "is missing: give r0 for a projection, cases for an estimate, or both"));
    }
    if input.cases.len() > MAX_CASES {
        return Err(Failure::too_large(format!("cases of more than {MAX_CASES} days")));
    }
    if input.interventions.len() > MAX_INTERVENTIONS {
        return Err(Failure::too_large(format!("more than {MAX_INTERVENTIONS} interventions")));
    }
    for (at, count) in input.cases.iter().enumerate() {
        if !(0.0..=MAX_COUNT).contains(count) {
            return Err(Failure::invalid(&["cases", &at.to_string()], format!("must be from 0 to {MAX_COUNT}")));
        }
    }
    for (at, intervention) in input.interventions.iter().enumerate() {
        let place = at.to_string();
        if !(0.0..=1e6).contains(&intervention.day) {
            return Err(Failure::invalid(&["interventions", &place, "day"], "must be from 0 to 1000000 days"));
        }
        if !(0.0..=10.0).contains(&intervention.factor) {
            let text = "must be from 0 to 10: the factor of transmission from this day on";
            return Err(Failure::invalid(&["interventions", &place, "factor"], text));
        }
    }
    if !(0.0..=input.population as f64).contains(&input.initial_infected) {
        return Err(Failure::invalid(&["initial_infected"], "must be from 0 to the population"));
    }
    if !(0.1..=1000.0).contains(&input.stay_days) {
        return Err(Failure::invalid(&["stay_days"], "must be from 0.1 to 1000 days"));
    }
    SerialInterval::new(input.serial_interval.mean, input.serial_interval.sd)
}
