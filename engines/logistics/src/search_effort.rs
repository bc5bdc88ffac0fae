//! q74: search coverage and probability of detection.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::special::erf;

use crate::bounds::{at_most, distinct, not_negative, positive};

const MAX_REGIONS: usize = 1_000;
/// Halvings of the interval of the marginal gain.
const BISECTIONS: usize = 300;

/// A region. `poc` is the probability that the target is in it.
#[derive(Input)]
pub struct Region {
    id: String,
    area_km2: f64,
    poc: f64,
    sweep_width_m: Option<f64>,
    speed_km_h: Option<f64>,
}

/// Effort already spent in a region.
#[derive(Input)]
pub struct Searched {
    id: String,
    hours: f64,
}

/// How detection depends on coverage.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
#[wire(case = "kebab")]
pub enum Model {
    /// Random search.
    Exponential,
    /// Parallel sweeps, by eye.
    InverseCube,
    /// Everything within the sweep width.
    DefiniteRange,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    regions: Vec<Region>,
    sweep_width_m: f64,
    speed_km_h: f64,
    resource_hours_h: f64,
    model: Model,
    searched: Vec<Searched>,
}

/// Effort of a region. `poc_after` is the probability that the target is there although it was not found anywhere.
#[derive(Output)]
pub struct Allocation {
    id: String,
    hours: f64,
    coverage: f64,
    pod: f64,
    pos: f64,
    poc_after: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    allocation: Vec<Allocation>,
    total_pos: f64,
    even_split_pos: f64,
}

impl Model {
    /// Probability of detection at a coverage.
    fn pod(self, coverage: f64) -> f64 {
        match self {
            Self::Exponential => -libm::expm1(-coverage),
            Self::InverseCube => erf(std::f64::consts::PI.sqrt() / 2.0 * coverage),
            Self::DefiniteRange => coverage.min(1.0),
        }
    }

    /// Derivative of the probability, and the largest coverage at which it exceeds `slope`.
    fn coverage_at(self, slope: f64) -> f64 {
        match self {
            Self::Exponential => (-libm::log(slope)).max(0.0),
            // d/dC erf(√π C / 2) = exp(-π C² / 4).
            Self::InverseCube => (-4.0 / std::f64::consts::PI * libm::log(slope)).max(0.0).sqrt(),
            Self::DefiniteRange => {
                if slope < 1.0 {
                    1.0
                } else {
                    0.0
                }
            }
        }
    }
}

/// A region with its probability after what was searched, and coverage an hour.
struct Cell {
    poc: f64,
    rate: f64,
    done: f64,
}

/// Splits the hours so that the probability of success is largest: each region is searched until its marginal gain is
/// that of the others (Charnes and Cooper 1958; Stone 1975).
///
/// # Errors
/// Probabilities that are negative or exceed 1 together, an area of 0, unknown regions, too large an input.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let cells = cells(&input, cx)?;
    let hours = split(&cells, input.model, input.resource_hours_h);
    let even = input.resource_hours_h / cells.len() as f64;
    let pos = |cell: &Cell, hours: f64| cell.poc * input.model.gain(cell, hours);
    let total: f64 = cells.iter().zip(&hours).map(|(cell, hours)| pos(cell, *hours)).sum();
    let even_split_pos = cells.iter().map(|cell| pos(cell, even)).sum();
    let outside = 1.0 - cells.iter().map(|cell| cell.poc).sum::<f64>();
    cx.step("probability that the target is in no region", outside, "-");
    let allocation = input.regions.iter().zip(&cells).zip(&hours).map(|((region, cell), hours)| {
        let success = pos(cell, *hours);
        let coverage = cell.rate * hours;
        Allocation {
            id: region.id.clone(),
            hours: *hours,
            coverage,
            pod: input.model.gain(cell, *hours),
            pos: success,
            poc_after: if total < 1.0 { ((cell.poc - success) / (1.0 - total)).clamp(0.0, 1.0) } else { 0.0 },
        }
    });
    Ok(Output { allocation: allocation.collect(), total_pos: total, even_split_pos })
}

impl Model {
    /// Probability of detection by further hours, given none by the hours before.
    fn gain(self, cell: &Cell, hours: f64) -> f64 {
        let before = self.pod(cell.done);
        if before >= 1.0 { 0.0 } else { (self.pod(cell.done + cell.rate * hours) - before) / (1.0 - before) }
    }
}

fn cells(input: &Input, cx: &Context) -> Result<Vec<Cell>, Failure> {
    at_most(input.regions.len(), MAX_REGIONS, "regions")?;
    distinct("regions", input.regions.iter().map(|region| region.id.as_str()))?;
    if input.regions.is_empty() {
        return Err(Failure::invalid(&["regions"], "is empty: a region at least is needed"));
    }
    let mut spent: BTreeMap<&str, f64> = BTreeMap::new();
    for (index, searched) in input.searched.iter().enumerate() {
        let index = index.to_string();
        not_negative(["searched", &index, "hours"], searched.hours)?;
        if !input.regions.iter().any(|region| region.id == searched.id) {
            return Err(Failure::invalid(&["searched", &index, "id"], "is the id of no region"));
        }
        *spent.entry(&searched.id).or_default() += searched.hours;
    }
    let mut cells = Vec::with_capacity(input.regions.len());
    for (index, region) in input.regions.iter().enumerate() {
        let index = index.to_string();
        positive(&["regions", &index, "area"], region.area_km2)?;
        not_negative(["regions", &index, "poc"], region.poc)?;
        let width = region.sweep_width_m.unwrap_or(input.sweep_width_m);
        let speed = region.speed_km_h.unwrap_or(input.speed_km_h);
        not_negative(["regions", &index, "sweep_width"], width)?;
        not_negative(["regions", &index, "speed"], speed)?;
        let rate = width / 1_000.0 * speed / region.area_km2;
        let done = rate * spent.get(region.id.as_str()).copied().unwrap_or(0.0);
        cells.push(Cell { poc: region.poc, rate, done });
    }
    let total: f64 = cells.iter().map(|cell| cell.poc).sum();
    if total > 1.0 + 1e-9 {
        return Err(Failure::invalid(
            &["regions"],
            format!("have probabilities that are {total} together, more than 1"),
        ));
    }
    // Bayes: what was searched without success becomes less probable, here and outside of the regions more.
    let found: f64 = cells.iter().map(|cell| cell.poc * input.model.pod(cell.done)).sum();
    if found > 0.0 {
        cx.step("probability of success of the search before", found, "-");
    }
    if found >= 1.0 {
        return Err(Failure::no_answer(
            NoAnswer::OutsideValidity,
            "what was searched would have found the target with certainty",
        ));
    }
    for cell in &mut cells {
        cell.poc *= (1.0 - input.model.pod(cell.done)) / (1.0 - found);
    }
    Ok(cells)
}

/// Hours of each region.
fn split(cells: &[Cell], model: Model, hours: f64) -> Vec<f64> {
    if model == Model::DefiniteRange {
        return greedy(cells, hours);
    }
    // Gain of an hour at the beginning, by poc and what is done.
    let scale = |cell: &Cell| {
        let left = 1.0 - model.pod(cell.done);
        if left > 0.0 { cell.poc * cell.rate / left } else { 0.0 }
    };
    let at = |marginal: f64| -> Vec<f64> {
        let needed = cells.iter().map(|cell| {
            let scale = scale(cell);
            if scale <= 0.0 || cell.rate <= 0.0 {
                return 0.0;
            }
            // Below it the slope of the detection function ends the search here.
            let coverage = model.coverage_at((marginal / scale).max(f64::MIN_POSITIVE));
            ((coverage - cell.done) / cell.rate).max(0.0)
        });
        needed.collect()
    };
    let (mut low, mut high) = (f64::MIN_POSITIVE, cells.iter().map(scale).fold(0.0, f64::max));
    if high <= 0.0 {
        return vec![hours / cells.len() as f64; cells.len()];
    }
    for _ in 0..BISECTIONS {
        // On a logarithmic scale: marginal gains span many orders.
        let middle = libm::exp(libm::log(low) + (libm::log(high) - libm::log(low)) / 2.0);
        if at(middle).iter().sum::<f64>() > hours { low = middle } else { high = middle }
    }
    let found = at(high);
    let used: f64 = found.iter().sum();
    // What rounding left is shared in proportion.
    if used > 0.0 { found.into_iter().map(|each| each * hours / used).collect() } else { found }
}

/// Definite range: regions with the largest gain an hour first, each until it is covered.
fn greedy(cells: &[Cell], hours: f64) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = cells
        .iter()
        .enumerate()
        .map(|(index, cell)| (index, cell.poc * cell.rate / (1.0 - cell.done).max(f64::MIN_POSITIVE)))
        .collect();
    order.sort_by(|one, other| other.1.total_cmp(&one.1));
    let mut found = vec![0.0; cells.len()];
    let mut left = hours;
    for (index, _) in order {
        let (Some(cell), Some(hours)) = (cells.get(index), found.get_mut(index)) else { continue };
        if cell.rate > 0.0 {
            *hours = ((1.0 - cell.done).max(0.0) / cell.rate).min(left);
            left -= *hours;
        }
    }
    found
}
