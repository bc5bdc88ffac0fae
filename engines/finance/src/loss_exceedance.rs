//! q124: loss exceedance.

use muster_engine::prelude::*;
use muster_kernel_numeric::sample::Sampler;
use muster_kernel_numeric::summary::sum;

use crate::support::LARGEST;

const MAX_EVENTS: usize = 20_000;
const MAX_PERIODS: usize = 200;
/// Most simulated events.
const MAX_DRAWS: f64 = 5_000_000.0;
/// Most simulated losses with a deviation: each is a quantile of a beta distribution.
const MAX_BETA: f64 = 300_000.0;
/// Largest possible loss of an event by its mean, where it has a deviation.
const EXPOSURE: f64 = 5.0;
const TOP: usize = 10;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    events: Vec<Event>,
    deductible: f64,
    limit: Option<f64>,
    share: f64,
    return_periods_yr: Vec<f64>,
    years: i64,
    seed: i64,
}

#[derive(Input)]
struct Event {
    id: String,
    rate_per_yr: f64,
    loss: f64,
    sd: Option<f64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    aal: f64,
    sd: f64,
    oep: Vec<Occurrence>,
    aep: Vec<Aggregate>,
    top_events: Vec<Top>,
}

#[derive(Output)]
struct Occurrence {
    period_yr: f64,
    loss: f64,
}

#[derive(Output)]
struct Aggregate {
    period_yr: f64,
    loss: f64,
    tvar: f64,
}

#[derive(Output)]
struct Top {
    id: String,
    share: f64,
}

/// Terms of the contract, of each event.
struct Terms {
    deductible: f64,
    limit: f64,
    share: f64,
}

impl Terms {
    fn net(&self, loss: f64) -> f64 {
        (loss - self.deductible).clamp(0.0, self.limit) * self.share
    }
}

/// Computes the curves.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let events = &input.events;
    if events.len() > MAX_EVENTS || input.return_periods_yr.len() > MAX_PERIODS {
        return Err(Failure::too_large(format!("at most {MAX_EVENTS} events and {MAX_PERIODS} return periods")));
    }
    if let Some(at) = input.return_periods_yr.iter().position(|p| !(*p >= 1.0 && *p <= 1e9)) {
        return Err(Failure::invalid(&["return_periods", &at.to_string()], "must be from 1 to 1e9"));
    }
    for (at, event) in events.iter().enumerate() {
        let wrong = |member: &str, problem: &str| Err(Failure::invalid(&["events", &at.to_string(), member], problem));
        if !(0.0..=1e4).contains(&event.rate_per_yr) {
            return wrong("rate", "must be from 0 to 10000");
        }
        if !(0.0..=LARGEST).contains(&event.loss) {
            return wrong("loss", "must be from 0 to 1e30");
        }
        // A beta distribution on 0 to five times the mean cannot spread more than twice the mean.
        if event.sd.is_some_and(|sd| !(0.0..2.0 * event.loss.max(f64::MIN_POSITIVE)).contains(&sd)) {
            return wrong("sd", "must be from 0 to below twice the loss");
        }
    }
    let terms = Terms { deductible: input.deductible, limit: input.limit.unwrap_or(f64::INFINITY), share: input.share };
    let uncertain = events.iter().any(|e| e.sd.is_some_and(|sd| sd > 0.0));
    let moments: Vec<(f64, f64)> = events.iter().map(|e| net_moments(e, &terms)).collect();
    let parts: Vec<f64> = events.iter().zip(&moments).map(|(e, (mean, _))| e.rate_per_yr * mean).collect();
    let aal = sum(parts.iter().copied());
    // A compound Poisson sum has the variance Σ rate·E[loss²].
    let variance = sum(events.iter().zip(&moments).map(|(e, (_, square))| e.rate_per_yr * square));
    if !(aal.is_finite() && variance.is_finite()) {
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, "the losses are beyond double precision"));
    }
    let years = input.years.clamp(0, 1_000_000) as usize;
    let mut output = Output { aal, sd: variance.sqrt(), oep: Vec::new(), aep: Vec::new(), top_events: Vec::new() };
    output.top_events = top(events, &parts, aal);
    if uncertain && years == 0 && !events.is_empty() {
        cx.warn("oep: without simulated years it is of the events' mean losses");
    }
    let simulated = simulate(&input, &terms, years, cx)?;
    output.oep = match &simulated {
        // With uncertain losses the largest of each simulated year stands for the formula.
        Some((_, largest)) if uncertain => input
            .return_periods_yr
            .iter()
            .map(|period| Occurrence { period_yr: *period, loss: at_period(largest, *period) })
            .collect(),
        _ => occurrence(events, &terms, &input.return_periods_yr),
    };
    if let Some((totals, _)) = &simulated {
        output.aep = input
            .return_periods_yr
            .iter()
            .map(|period| Aggregate {
                period_yr: *period,
                loss: at_period(totals, *period),
                tvar: tail_mean(totals, *period),
            })
            .collect();
        if input.return_periods_yr.iter().any(|period| *period * 10.0 > years as f64) {
            cx.warn("few_years: fewer than ten simulated years are beyond a return period; raise `years`");
        }
    }
    Ok(output)
}

/// Mean and mean square of an event's net loss. With a deviation the net loss is integrated over the beta
/// distribution's quantiles.
fn net_moments(event: &Event, terms: &Terms) -> (f64, f64) {
    let plain = terms.deductible == 0.0 && terms.limit == f64::INFINITY;
    match event.sd.filter(|sd| *sd > 0.0) {
        None => {
            let net = terms.net(event.loss);
            (net, net * net)
        }
        Some(sd) if plain => {
            let share = terms.share;
            (event.loss * share, share * share * (event.loss * event.loss + sd * sd))
        }
        Some(sd) => {
            const STEPS: usize = 64;
            let (a, b) = shape(event.loss, sd);
            let losses = (0..STEPS).map(|k| {
                let p = (k as f64 + 0.5) / STEPS as f64;
                terms.net(EXPOSURE * event.loss * muster_kernel_numeric::dist::beta_quantile(p, a, b))
            });
            let (mut mean, mut square) = (0.0, 0.0);
            for net in losses {
                mean += net / STEPS as f64;
                square += net * net / STEPS as f64;
            }
            (mean, square)
        }
    }
}

/// Shape of the beta distribution of a loss on 0 to five times its mean.
fn shape(mean: f64, sd: f64) -> (f64, f64) {
    let m = 1.0 / EXPOSURE;
    let cv = sd / mean;
    let total = (1.0 - m) / (m * cv * cv) - 1.0;
    (m * total, (1.0 - m) * total)
}

/// Losses by return period from 1 − exp(−Σ rate of larger losses): the least loss that is exceeded less often.
fn occurrence(events: &[Event], terms: &Terms, periods: &[f64]) -> Vec<Occurrence> {
    let mut losses: Vec<(f64, f64)> = events.iter().map(|e| (terms.net(e.loss), e.rate_per_yr)).collect();
    losses.sort_by(|a, b| b.0.total_cmp(&a.0));
    let loss_at = |period: f64| {
        // Exceeding it has the chance 1/period at most.
        let allowed = -(-1.0 / period).ln_1p();
        let mut rate = 0.0;
        for (loss, more) in &losses {
            rate += more;
            if rate > allowed * (1.0 + 1e-12) {
                return *loss;
            }
        }
        0.0
    };
    periods.iter().map(|period| Occurrence { period_yr: *period, loss: loss_at(*period) }).collect()
}

/// Yearly sums and yearly largest losses, in rising order.
type Years = (Vec<f64>, Vec<f64>);

fn simulate(input: &Input, terms: &Terms, years: usize, cx: &Context) -> Result<Option<Years>, Failure> {
    let events = &input.events;
    let rate = sum(events.iter().map(|e| e.rate_per_yr));
    if years == 0 {
        return Ok(None);
    }
    let uncertain = sum(events.iter().filter(|e| e.sd.is_some_and(|sd| sd > 0.0)).map(|e| e.rate_per_yr));
    if rate * years as f64 > MAX_DRAWS || uncertain * years as f64 > MAX_BETA {
        return Err(Failure::too_large(format!(
            "years times the sum of rates: at most {MAX_DRAWS} events, {MAX_BETA} of them with a deviation"
        )));
    }
    let mut cumulative = Vec::with_capacity(events.len());
    let mut total = 0.0;
    for event in events {
        total += event.rate_per_yr;
        cumulative.push(total);
    }
    let mut sampler = Sampler::new(input.seed);
    let (mut totals, mut largest) = (Vec::with_capacity(years), Vec::with_capacity(years));
    for year in 0..years {
        if year % 10_000 == 0 {
            cx.progress(year as u64, years as u64, "simulating years");
        }
        let (mut sum, mut most) = (0.0, 0.0_f64);
        for _ in 0..sampler.poisson(rate) {
            let place = sampler.uniform() * total;
            let at = cumulative.partition_point(|c| *c <= place).min(events.len().saturating_sub(1));
            let Some(event) = events.get(at) else { continue };
            let gross = match event.sd.filter(|sd| *sd > 0.0) {
                Some(sd) => {
                    let (a, b) = shape(event.loss, sd);
                    EXPOSURE * event.loss * sampler.beta(a, b)
                }
                None => event.loss,
            };
            let net = terms.net(gross);
            sum += net;
            most = most.max(net);
        }
        totals.push(sum);
        largest.push(most);
    }
    totals.sort_by(f64::total_cmp);
    largest.sort_by(f64::total_cmp);
    Ok(Some((totals, largest)))
}

/// Place of the value that one in `period` years exceeds or reaches.
fn place(count: usize, period: f64) -> usize {
    let beyond = (count as f64 / period + 1e-9).floor() as usize;
    count - beyond.clamp(1, count)
}

fn at_period(sorted: &[f64], period: f64) -> f64 {
    sorted.get(place(sorted.len(), period)).copied().unwrap_or(0.0)
}

/// The mean of the years from that of the return period on.
fn tail_mean(sorted: &[f64], period: f64) -> f64 {
    let tail = sorted.get(place(sorted.len(), period)..).unwrap_or_default();
    sum(tail.iter().copied()) / tail.len().max(1) as f64
}

fn top(events: &[Event], parts: &[f64], aal: f64) -> Vec<Top> {
    let mut all: Vec<(&Event, f64)> = events.iter().zip(parts.iter().copied()).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let share = |part: f64| if aal > 0.0 { part / aal } else { 0.0 };
    all.into_iter().take(TOP).map(|(e, part)| Top { id: e.id.clone(), share: share(part) }).collect()
}
