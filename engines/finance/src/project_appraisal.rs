//! q123: project appraisal.

use muster_engine::prelude::*;
use muster_kernel_numeric::root::brent;
use muster_kernel_numeric::summary::sum;

use crate::support::{check_amounts, finite};

const MAX_PERIODS: usize = 1_000;
/// Internal rates are looked for between these, on a grid of growth factors.
const RATES: (f64, f64) = (-0.99, 100.0);
const GRID: usize = 2_000;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    costs: Vec<f64>,
    benefits: Vec<f64>,
    discount_rate: f64,
    finance_rate: Option<f64>,
    reinvest_rate: Option<f64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    npv: f64,
    irr: Option<f64>,
    mirr: Option<f64>,
    payback: Option<f64>,
    discounted_payback: Option<f64>,
    bcr: Option<f64>,
    sensitivity: Vec<Point>,
    irr_unique: Option<bool>,
}

#[derive(Output)]
struct Point {
    rate: f64,
    npv: f64,
}

/// Appraises the project; the first period is not discounted.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check_amounts(&input.costs, "costs", MAX_PERIODS)?;
    check_amounts(&input.benefits, "benefits", MAX_PERIODS)?;
    let periods = input.costs.len().max(input.benefits.len());
    if periods == 0 {
        return Err(Failure::no_answer(NoAnswer::TooFew, "costs and benefits are empty"));
    }
    if input.costs.iter().any(|c| *c < 0.0) {
        cx.warn("costs: some are negative; costs are given as positive numbers");
    }
    for (name, rate) in [("finance_rate", input.finance_rate), ("reinvest_rate", input.reinvest_rate)] {
        if rate.is_some_and(|r| !(-0.9..=10.0).contains(&r)) {
            return Err(Failure::invalid(&[name], "must be from -0.9 to 10"));
        }
    }
    let at = |list: &[f64], t: usize| list.get(t).copied().unwrap_or(0.0);
    let flows: Vec<f64> = (0..periods).map(|t| at(&input.benefits, t) - at(&input.costs, t)).collect();
    let rate = input.discount_rate;
    let present = npv(&flows, rate);
    let npv_here = finite(present)
        .ok_or_else(|| Failure::no_answer(NoAnswer::OutsideValidity, "the present value is not a number"))?;
    let roots = internal_rates(&flows);
    if roots.len() > 1 {
        let list: Vec<String> = roots.iter().map(|r| format!("{r:.6}")).collect();
        cx.warn(format!("several_irr: the flows change sign more than once, internal rates are {}", list.join(", ")));
    }
    let mirr = mirr(&flows, input.finance_rate.unwrap_or(rate), input.reinvest_rate.unwrap_or(rate)).and_then(finite);
    let discounted: Vec<f64> = flows.iter().enumerate().map(|(t, f)| f * factor(rate, t)).collect();
    let (costs, benefits) = (npv(&input.costs, rate), npv(&input.benefits, rate));
    let steps = (-5..=5).map(|k| rate + f64::from(k) * 0.01).filter(|r| *r > -1.0);
    let sensitivity = steps.filter_map(|rate| Some(Point { rate, npv: finite(npv(&flows, rate))? })).collect();
    Ok(Output {
        npv: npv_here,
        irr: nearest(&roots, rate),
        mirr,
        payback: payback(&flows),
        discounted_payback: payback(&discounted),
        bcr: finite(benefits / costs).filter(|_| costs > 0.0),
        sensitivity,
        irr_unique: (!roots.is_empty()).then_some(roots.len() == 1),
    })
}

fn factor(rate: f64, t: usize) -> f64 {
    (1.0 + rate).powi(-(t as i32))
}

fn npv(flows: &[f64], rate: f64) -> f64 {
    sum(flows.iter().enumerate().map(|(t, f)| f * factor(rate, t)))
}

/// All rates at which the present value changes sign. The grid is even in the logarithm of 1 + rate, where neighbouring
/// roots of a flow are apart.
fn internal_rates(flows: &[f64]) -> Vec<f64> {
    if !flows.iter().any(|f| *f > 0.0) || !flows.iter().any(|f| *f < 0.0) {
        return Vec::new();
    }
    // Flows are scaled, and the later ones count from the largest term, so that values stay numbers.
    let scale = flows.iter().fold(0.0_f64, |m, f| m.max(f.abs()));
    let last = flows.len() as f64 - 1.0;
    let value = |log: f64| {
        let shift = if log < 0.0 { log * last } else { 0.0 };
        sum(flows.iter().enumerate().map(|(t, f)| f / scale * (shift - log * t as f64).exp()))
    };
    let (low, high) = ((1.0 + RATES.0).ln(), (1.0 + RATES.1).ln());
    let place = |k: usize| low + (high - low) * k as f64 / GRID as f64;
    let mut roots: Vec<f64> = Vec::new();
    for k in 0..GRID {
        let (a, b) = (place(k), place(k + 1));
        let (fa, fb) = (value(a), value(b));
        let root = if fa == 0.0 {
            Some(a)
        } else if fa * fb < 0.0 {
            brent(value, a, b, 1e-15)
        } else {
            None
        };
        roots.extend(root.map(f64::exp_m1));
    }
    // A root at the flat end of a very long flow is rounding only.
    roots.retain(|r| r.is_finite());
    roots.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    roots
}

/// The rate nearest to the discount rate.
fn nearest(roots: &[f64], rate: f64) -> Option<f64> {
    roots.iter().copied().min_by(|a, b| (a - rate).abs().total_cmp(&(b - rate).abs()))
}

/// Final value of the positive flows by present value of the negative ones, as a rate.
fn mirr(flows: &[f64], finance: f64, reinvest: f64) -> Option<f64> {
    let periods = flows.len() as f64 - 1.0;
    let out: Vec<f64> = flows.iter().map(|f| f.min(0.0)).collect();
    let back: Vec<f64> = flows.iter().map(|f| f.max(0.0)).collect();
    let (spent, earned) = (-npv(&out, finance), npv(&back, reinvest));
    (periods > 0.0 && spent > 0.0 && earned > 0.0)
        .then(|| (earned / spent).powf(1.0 / periods) * (1.0 + reinvest) - 1.0)
}

/// Time after which the sum stays above zero, straight between periods; `None` if it never does.
fn payback(flows: &[f64]) -> Option<f64> {
    let mut total = 0.0;
    let mut since: Option<f64> = None;
    for (t, flow) in flows.iter().enumerate() {
        let before = total;
        total += flow;
        if total < 0.0 {
            since = None;
        } else if since.is_none() {
            since = Some(if t == 0 || *flow <= 0.0 { t as f64 } else { t as f64 - 1.0 + (-before).max(0.0) / flow });
        }
    }
    since
}
