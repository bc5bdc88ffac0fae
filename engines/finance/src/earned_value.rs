//! q125: earned value.

use muster_engine::prelude::*;
use muster_kernel_numeric::summary::sum;

use crate::support::{LARGEST, finite};

const MAX_TASKS: usize = 20_000;
/// Indices below this are behind or over; below the second, far.
const BEHIND: f64 = 0.95;
const FAR: f64 = 0.8;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    tasks: Vec<Task>,
    period_elapsed: Option<f64>,
    planned_duration: Option<f64>,
}

#[derive(Input)]
struct Task {
    id: String,
    budget: f64,
    planned_percent: f64,
    complete_percent: f64,
    actual: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    pv: f64,
    ev: f64,
    ac: f64,
    cpi: Option<f64>,
    spi: Option<f64>,
    eac: Option<f64>,
    etc: Option<f64>,
    vac: Option<f64>,
    tcpi: Option<f64>,
    earned_schedule: Option<f64>,
    tasks: Vec<Status>,
}

#[derive(Output)]
struct Status {
    id: String,
    cpi: f64,
    spi: f64,
    status: String,
}

/// Computes performance and forecasts.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` (no tasks).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.tasks.len() > MAX_TASKS {
        return Err(Failure::too_large(format!("tasks: at most {MAX_TASKS}")));
    }
    if input.tasks.is_empty() {
        return Err(Failure::no_answer(NoAnswer::TooFew, "tasks is empty"));
    }
    for (at, task) in input.tasks.iter().enumerate() {
        let wrong = |member: &str, problem: &str| Err(Failure::invalid(&["tasks", &at.to_string(), member], problem));
        if !(0.0..=LARGEST).contains(&task.budget) {
            return wrong("budget", "must be from 0 to 1e30");
        }
        if !(0.0..=LARGEST).contains(&task.actual) {
            return wrong("actual", "must be from 0 to 1e30");
        }
        if !(0.0..=100.0).contains(&task.planned_percent) {
            return wrong("planned_percent", "must be from 0 to 100");
        }
        if !(0.0..=100.0).contains(&task.complete_percent) {
            return wrong("complete_percent", "must be from 0 to 100");
        }
    }
    let total = |of: fn(&Task) -> f64| sum(input.tasks.iter().map(of));
    let budget = total(|t| t.budget);
    let pv = total(|t| t.budget * t.planned_percent / 100.0);
    let ev = total(|t| t.budget * t.complete_percent / 100.0);
    let ac = total(|t| t.actual);
    let cpi = ratio(ev, ac);
    let eac = cpi.filter(|cpi| *cpi > 0.0).and_then(|cpi| finite(budget / cpi));
    if eac.is_none() {
        cx.warn("eac: nothing is earned or spent yet, so there is no forecast at completion");
    }
    let tcpi = if budget > ac { finite((budget - ev) / (budget - ac)) } else { None };
    if tcpi.is_none() {
        cx.warn("tcpi: the budget is spent, so no performance meets it");
    }
    Ok(Output {
        pv,
        ev,
        ac,
        cpi,
        spi: ratio(ev, pv),
        eac,
        etc: eac.map(|eac| eac - ac),
        vac: eac.map(|eac| budget - eac),
        tcpi,
        earned_schedule: earned_schedule(&input, pv, ev, budget)?,
        tasks: input.tasks.iter().map(|task| status(task, cx)).collect(),
    })
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    if whole > 0.0 { finite(part / whole) } else { None }
}

/// The time at which the plan earns what is earned (Lipke 2003): the plan is straight from the start to now, and from
/// now to its end.
fn earned_schedule(input: &Input, pv: f64, ev: f64, budget: f64) -> Result<Option<f64>, Failure> {
    let Some(elapsed) = input.period_elapsed else { return Ok(None) };
    if !(0.0..=1e9).contains(&elapsed) {
        return Err(Failure::invalid(&["period_elapsed"], "must be from 0 to 1e9"));
    }
    if input.planned_duration.is_some_and(|d| !(d > 0.0 && d <= 1e9)) {
        return Err(Failure::invalid(&["planned_duration"], "must be positive and at most 1e9"));
    }
    if ev <= pv {
        return Ok(finite(elapsed * ev / pv));
    }
    let Some(duration) = input.planned_duration.filter(|d| *d > elapsed) else { return Ok(None) };
    Ok(finite(elapsed + (duration - elapsed) * (ev - pv) / (budget - pv)))
}

/// A task that has neither plan nor cost yet performs as planned: its indices are 1.
fn status(task: &Task, cx: &Context) -> Status {
    let planned = task.budget * task.planned_percent / 100.0;
    let earned = task.budget * task.complete_percent / 100.0;
    let index = |whole: f64| ratio(earned, whole).unwrap_or(1.0);
    let (cpi, spi) = (index(task.actual), index(planned));
    if task.actual == 0.0 && earned > 0.0 {
        cx.warn(format!("no_cost: {} is partly complete and has no cost, so its cpi is 1", task.id));
    }
    let status = match () {
        () if task.complete_percent >= 100.0 => "complete",
        () if task.complete_percent == 0.0 && task.actual == 0.0 && task.planned_percent == 0.0 => "not-started",
        () if cpi < FAR || spi < FAR => "critical",
        () if cpi < BEHIND && spi < BEHIND => "over-budget-and-late",
        () if cpi < BEHIND => "over-budget",
        () if spi < BEHIND => "late",
        () => "on-track",
    };
    Status { id: task.id.clone(), cpi, spi, status: status.to_owned() }
}
