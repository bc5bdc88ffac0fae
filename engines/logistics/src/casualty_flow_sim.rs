//! q73: casualty flow simulation.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use muster_engine::prelude::*;
use muster_kernel_numeric::sample::Sampler;
use muster_kernel_numeric::summary;

use crate::bounds::{at_most, distinct, not_negative};

const MAX_STAGES: usize = 30;
const MAX_ARRIVALS: usize = 2_000;
const MAX_STEPS: usize = 50;
/// Visits of all patients to stages in all replications.
const MAX_VISITS: u64 = 2_000_000;
const MAX_MINUTES: f64 = 1e6;
/// Standard deviation of the logarithm of lognormal times: their coefficient of variation is 0.5.
const LOG_VARIANCE: f64 = 0.223_143_551_314_209_76;

#[derive(Input)]
pub struct Input {
    arrivals: Vec<Arrival>,
    stages: Vec<StageIn>,
    routing: BTreeMap<String, Vec<String>>,
    max_wait_min: BTreeMap<String, f64>,
    replications: u32,
    seed: i64,
}

#[derive(Input)]
struct Arrival {
    minute: f64,
    category: Category,
    count: i64,
}

/// In order of priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
enum Category {
    Red,
    Yellow,
    Green,
}

#[derive(Input)]
struct StageIn {
    id: String,
    servers: i64,
    mean_minutes: f64,
    distribution: Option<Distribution>,
}

#[derive(Debug, Clone, Copy, Words)]
enum Distribution {
    Exponential,
    Lognormal,
    Constant,
}

#[derive(Output)]
pub struct Output {
    stages: Vec<StageOut>,
    categories: Vec<CategoryOut>,
    finished_minute_min: f64,
}

#[derive(Output)]
struct StageOut {
    id: String,
    mean_wait_min: f64,
    p95_wait_min: f64,
    utilisation: f64,
    max_queue: usize,
}

#[derive(Output)]
struct CategoryOut {
    category: &'static str,
    mean_total_min: f64,
    exceeded: f64,
}

/// Something that happens: the earliest first, of equal ones in the order in which they were planned.
#[derive(Debug, Clone, Copy)]
struct Event {
    time: f64,
    order: u64,
    patient: usize,
    /// Whether the patient is done with a stage, or comes to the first one.
    done: bool,
}

/// A patient who waits: the most urgent first, then who came first.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    category: Category,
    since: f64,
    patient: usize,
}

struct Patient {
    category: Category,
    arrived: f64,
    step: usize,
    waited: f64,
}

struct Stage {
    servers: usize,
    mean: f64,
    distribution: Distribution,
}

/// Sums over all replications.
struct Totals {
    stages: Vec<StageTotals>,
    /// Minutes from arrival to end, patients, and patients who waited longer than is permitted.
    categories: BTreeMap<Category, (f64, u64, u64)>,
    finished: f64,
}

#[derive(Clone, Default)]
struct StageTotals {
    waits: Vec<f64>,
    utilisation: f64,
    longest: usize,
}

/// Simulates patients on their ways through stages.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let (stages, routes) = check(&input)?;
    let mut totals =
        Totals { stages: vec![StageTotals::default(); stages.len()], categories: BTreeMap::new(), finished: 0.0 };
    for replication in 0..input.replications {
        if replication % 10 == 0 {
            cx.progress(replication.into(), input.replications.into(), "simulating");
        }
        Simulation::new(&input, &stages, &routes, replication).run(&mut totals);
    }
    let runs = f64::from(input.replications);
    let stages_out = input.stages.iter().zip(&totals.stages).map(|(stage, totals)| {
        let sorted = summary::sorted(&totals.waits);
        let of_waits = |statistic: &dyn Fn(&[f64]) -> f64| if sorted.is_empty() { 0.0 } else { statistic(&sorted) };
        StageOut {
            id: stage.id.clone(),
            mean_wait_min: of_waits(&summary::mean),
            p95_wait_min: of_waits(&|sorted| summary::quantile_sorted(sorted, 0.95)),
            utilisation: totals.utilisation / runs,
            max_queue: totals.longest,
        }
    });
    let categories = totals.categories.iter().map(|(category, (sum, count, exceeded))| CategoryOut {
        category: category.word(),
        mean_total_min: sum / *count as f64,
        exceeded: *exceeded as f64 / runs,
    });
    Ok(Output {
        stages: stages_out.collect(),
        categories: categories.collect(),
        finished_minute_min: totals.finished / runs,
    })
}

type Routes = BTreeMap<Category, Vec<usize>>;

fn check(input: &Input) -> Result<(Vec<Stage>, Routes), Failure> {
    at_most(input.stages.len(), MAX_STAGES, "stages")?;
    at_most(input.arrivals.len(), MAX_ARRIVALS, "arrivals")?;
    distinct("stages", input.stages.iter().map(|stage| stage.id.as_str()))?;
    let mut stages = Vec::new();
    for (at, stage) in input.stages.iter().enumerate() {
        let at = at.to_string();
        if !(1..=10_000).contains(&stage.servers) {
            return Err(Failure::invalid(&["stages", &at, "servers"], "must be 1 to 10,000"));
        }
        not_negative(["stages", &at, "mean_minutes"], stage.mean_minutes)?;
        if stage.mean_minutes > MAX_MINUTES {
            return Err(Failure::invalid(&["stages", &at, "mean_minutes"], format!("must be at most {MAX_MINUTES}")));
        }
        stages.push(Stage {
            servers: usize::try_from(stage.servers).unwrap_or(1),
            mean: stage.mean_minutes,
            distribution: stage.distribution.unwrap_or(Distribution::Exponential),
        });
    }
    let mut routes = Routes::new();
    for (name, route) in &input.routing {
        let category = Category::ALL.iter().find(|(_, word)| word == name).map(|(category, _)| *category);
        let category = category.ok_or_else(|| Failure::invalid(&["routing", name], "must be red, yellow or green"))?;
        at_most(route.len(), MAX_STEPS, "steps of a route")?;
        let mut steps = Vec::new();
        for (at, id) in route.iter().enumerate() {
            let stage = input.stages.iter().position(|stage| stage.id == *id);
            steps.push(stage.ok_or_else(|| Failure::invalid(&["routing", name, &at.to_string()], "is no stage"))?);
        }
        routes.insert(category, steps);
    }
    for (name, minutes) in &input.max_wait_min {
        if !Category::ALL.iter().any(|(_, word)| word == name) {
            return Err(Failure::invalid(&["max_wait", name], "must be red, yellow or green"));
        }
        if *minutes < 0.0 {
            return Err(Failure::invalid(&["max_wait", name], "must not be negative"));
        }
    }
    let mut visits = 0_u64;
    for (at, arrival) in input.arrivals.iter().enumerate() {
        let at = at.to_string();
        if !(0.0..=MAX_MINUTES).contains(&arrival.minute) {
            return Err(Failure::invalid(&["arrivals", &at, "minute"], format!("must be 0 to {MAX_MINUTES}")));
        }
        if !(0..=1_000_000).contains(&arrival.count) {
            return Err(Failure::invalid(&["arrivals", &at, "count"], "must be 0 to 1,000,000"));
        }
        let steps = routes.get(&arrival.category).map(Vec::len);
        let steps = steps.ok_or_else(|| {
            Failure::invalid(&["routing"], format!("has no route for {}, which arrives", arrival.category.word()))
        })?;
        visits += arrival.count.unsigned_abs() * (steps as u64 + 1) * u64::from(input.replications);
    }
    if visits > MAX_VISITS {
        return Err(Failure::too_large(format!("more than {MAX_VISITS} visits to stages: choose fewer replications")));
    }
    Ok((stages, routes))
}

/// One replication.
struct Simulation<'a> {
    input: &'a Input,
    routes: &'a Routes,
    stations: Vec<Station<'a>>,
    patients: Vec<Patient>,
    events: BinaryHeap<Event>,
    planned: u64,
}

/// A stage at work.
struct Station<'a> {
    stage: &'a Stage,
    queue: BinaryHeap<Waiting>,
    free: usize,
    busy: f64,
    /// A stream for each stage: another number of servers meets the same times of treatment.
    stream: Sampler,
}

impl<'a> Simulation<'a> {
    fn new(input: &'a Input, stages: &'a [Stage], routes: &'a Routes, replication: u32) -> Self {
        let station = |(at, stage): (usize, &'a Stage)| {
            let run = i64::from(replication) * MAX_STAGES as i64 + at as i64;
            let stream = Sampler::new(input.seed.wrapping_mul(1_000_003).wrapping_add(run));
            Station { stage, queue: BinaryHeap::new(), free: stage.servers, busy: 0.0, stream }
        };
        let stations = stages.iter().enumerate().map(station).collect();
        let mut simulation =
            Self { input, routes, stations, patients: Vec::new(), events: BinaryHeap::new(), planned: 0 };
        for arrival in &input.arrivals {
            for _ in 0..arrival.count {
                simulation.plan(arrival.minute, simulation.patients.len(), false);
                let patient = Patient { category: arrival.category, arrived: arrival.minute, step: 0, waited: 0.0 };
                simulation.patients.push(patient);
            }
        }
        simulation
    }

    fn plan(&mut self, time: f64, patient: usize, done: bool) {
        self.events.push(Event { time, order: self.planned, patient, done });
        self.planned += 1;
    }

    fn run(mut self, totals: &mut Totals) {
        let (mut begun, mut last) = (f64::INFINITY, 0.0_f64);
        while let Some(event) = self.events.pop() {
            begun = begun.min(event.time);
            last = last.max(event.time);
            self.happen(event, totals);
            // Who comes at the same moment is not counted before all of them came.
            if self.events.peek().is_none_or(|next| next.time > event.time) {
                for (station, totals) in self.stations.iter().zip(&mut totals.stages) {
                    totals.longest = totals.longest.max(station.queue.len());
                }
            }
        }
        for (station, totals) in self.stations.iter().zip(&mut totals.stages) {
            if last > begun {
                totals.utilisation += station.busy / (station.stage.servers as f64 * (last - begun));
            }
        }
        totals.finished += last;
    }

    fn happen(&mut self, event: Event, totals: &mut Totals) {
        let Some(patient) = self.patients.get_mut(event.patient) else { return };
        let route = self.routes.get(&patient.category).map(Vec::as_slice).unwrap_or_default();
        let mut left = None;
        if event.done {
            left = route.get(patient.step).copied();
            patient.step += 1;
        }
        let entered = route.get(patient.step).copied();
        if let Some(station) = left.and_then(|stage| self.stations.get_mut(stage)) {
            station.free += 1;
        }
        match entered.and_then(|stage| self.stations.get_mut(stage)) {
            Some(station) => {
                station.queue.push(Waiting { category: patient.category, since: event.time, patient: event.patient });
            }
            None => {
                let (sum, count, exceeded) = totals.categories.entry(patient.category).or_default();
                *sum += event.time - patient.arrived;
                *count += 1;
                let most = self.input.max_wait_min.get(patient.category.word());
                *exceeded += u64::from(most.is_some_and(|most| patient.waited > *most));
            }
        }
        // The stage that was left comes first, so that its server is not idle.
        for stage in left.into_iter().chain(entered) {
            self.serve(stage, event.time, totals);
        }
    }

    /// Free servers take who waits.
    fn serve(&mut self, stage: usize, now: f64, totals: &mut Totals) {
        while let Some(station) = self.stations.get_mut(stage).filter(|station| station.free > 0) {
            let Some(next) = station.queue.pop() else { break };
            let time = station.stage.time(&mut station.stream);
            station.free -= 1;
            station.busy += time;
            let wait = now - next.since;
            if let Some(totals) = totals.stages.get_mut(stage) {
                totals.waits.push(wait);
            }
            if let Some(patient) = self.patients.get_mut(next.patient) {
                patient.waited += wait;
            }
            self.plan(now + time, next.patient, true);
        }
    }
}

impl Stage {
    fn time(&self, stream: &mut Sampler) -> f64 {
        match self.distribution {
            Distribution::Constant => self.mean,
            Distribution::Exponential => self.mean * stream.exponential(),
            Distribution::Lognormal => {
                self.mean * libm::exp(LOG_VARIANCE.sqrt() * stream.normal() - LOG_VARIANCE / 2.0)
            }
        }
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    /// The heap returns the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time).then(other.order.cmp(&self.order))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        let urgency = other.category.cmp(&self.category);
        urgency.then(other.since.total_cmp(&self.since)).then(other.patient.cmp(&self.patient))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// M/M/c: the mean wait in 20 Poisson streams of 2,000 arrivals, by Erlang's formula C (as q69 computes it). The standard
    /// error of the streams is 3 %.
    #[test]
    fn long_queues_wait_as_erlang_says() {
        for (servers, load, expected) in [(1, 0.5, 1.0), (2, 1.2, 0.5625)] {
            let waits = (0..20).map(|stream| {
                let mut sampler = Sampler::new(stream);
                let mut minute = 0.0;
                let arrivals: Vec<Value> = (0..2_000)
                    .map(|_| {
                        minute += sampler.exponential() / load;
                        json!({ "minute": minute, "category": "green", "count": 1 })
                    })
                    .collect();
                let input = json!({
                    "arrivals": arrivals, "stages": [{ "id": "s", "servers": servers, "mean_minutes": 1 }],
                    "routing": { "green": ["s"] }, "replications": 10, "seed": stream,
                });
                let output = crate::FAMILY.run(73, input, &Context::default()).unwrap();
                output["stages"][0]["mean_wait"].as_f64().unwrap()
            });
            let wait = waits.sum::<f64>() / 20.0;
            assert!((wait / expected - 1.0).abs() < 0.09, "{servers} {wait}");
        }
    }

    #[test]
    fn red_goes_first_and_more_servers_never_wait_longer() {
        let with = |servers: u32| {
            let input = json!({
                "arrivals": [{ "minute": 0, "category": "green", "count": 20 }, { "minute": 5, "category": "red", "count": 5 }],
                "stages": [{ "id": "s", "servers": servers, "mean_minutes": 10 }],
                "routing": { "red": ["s"], "green": ["s"] }, "replications": 50,
            });
            crate::FAMILY.run(73, input, &Context::default()).unwrap()
        };
        let (one, two) = (with(1), with(2));
        assert!(one["categories"][0]["mean_total"].as_f64() < one["categories"][1]["mean_total"].as_f64());
        assert!(two["stages"][0]["mean_wait"].as_f64() < one["stages"][0]["mean_wait"].as_f64());
    }
}
