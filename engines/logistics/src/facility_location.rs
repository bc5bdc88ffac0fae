//! q68: facility location and coverage.

use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::bounds::{at_most, distinct, not_negative, position, positive};

const MAX_DEMAND: usize = 1_000;
const MAX_CANDIDATES: usize = 200;
/// Choices up to which all are tried.
const MAX_CHOICES: f64 = 200_000.0;
/// Choices times demand points.
const MAX_STEPS: f64 = 50_000_000.0;
const MAX_SWAP_ROUNDS: usize = 100;

/// A place with demand.
#[derive(Input)]
pub struct Demand {
    id: String,
    lat: f64,
    lon: f64,
    weight: f64,
}

/// A possible site; a fixed one is there already and counts among the p.
#[derive(Input)]
pub struct Candidate {
    id: String,
    lat: f64,
    lon: f64,
    fixed: Option<bool>,
}

/// What is to be best.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
#[wire(case = "kebab")]
pub enum Objective {
    /// Least weighted distance.
    PMedian,
    /// Least largest distance.
    PCenter,
    /// Most weight within the radius.
    MaxCover,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    demand: Vec<Demand>,
    candidates: Vec<Candidate>,
    p: usize,
    objective: Objective,
    radius_km: Option<f64>,
}

/// The nearest selected site of a place.
#[derive(Output)]
pub struct Allocation {
    demand: String,
    site: String,
    distance_km: f64,
}

/// Output of the engine. The covered share is absent without a radius.
#[derive(Output)]
pub struct Output {
    selected: Vec<String>,
    allocation: Vec<Allocation>,
    objective_value: f64,
    covered_share: Option<f64>,
    optimal: bool,
}

/// Distances by candidate and demand, and what is to be best.
struct Problem<'a> {
    input: &'a Input,
    distance: Vec<Vec<f64>>,
    radius: f64,
}

/// Chooses p sites: by trying all choices where they are few, else by adding the best and exchanging.
///
/// # Errors
/// A p that cannot be met, a missing radius, a negative weight, too large an input.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let problem = Problem::new(&input)?;
    let fixed: Vec<usize> = input
        .candidates
        .iter()
        .enumerate()
        .filter(|(_, site)| site.fixed.unwrap_or(false))
        .map(|(index, _)| index)
        .collect();
    let free: Vec<usize> = (0..input.candidates.len()).filter(|index| !fixed.contains(index)).collect();
    let Some(open) = input.p.checked_sub(fixed.len()).filter(|open| *open <= free.len()) else {
        let message =
            format!("must be between the {} fixed sites and the {} candidates", fixed.len(), input.candidates.len());
        return Err(Failure::invalid(&["p"], message));
    };
    let choices = choices(free.len(), open);
    let optimal = choices <= MAX_CHOICES && choices * input.demand.len() as f64 * input.p as f64 <= MAX_STEPS;
    let mut selected =
        if optimal { problem.all(&fixed, &free, open) } else { problem.exchange(&fixed, &free, open, cx) };
    selected.sort_unstable();
    let nearest = problem.nearest(&selected);
    let allocation = input.demand.iter().zip(&nearest).map(|(place, (site, distance))| Allocation {
        demand: place.id.clone(),
        site: input.candidates.get(*site).map(|site| site.id.clone()).unwrap_or_default(),
        distance_km: *distance,
    });
    let total: f64 = input.demand.iter().map(|place| place.weight).sum();
    let covered = input.demand.iter().zip(&nearest).filter(|(_, (_, distance))| *distance <= problem.radius);
    let covered: f64 = covered.map(|(place, _)| place.weight).sum();
    Ok(Output {
        allocation: allocation.collect(),
        objective_value: problem.cost(&selected).abs(),
        covered_share: input.radius_km.map(|_| if total > 0.0 { (covered / total).min(1.0) } else { 1.0 }),
        selected: selected
            .iter()
            .filter_map(|index| input.candidates.get(*index))
            .map(|site| site.id.clone())
            .collect(),
        optimal,
    })
}

/// Number of choices, or infinity.
fn choices(of: usize, open: usize) -> f64 {
    (0..open).fold(1.0, |product, step| product * (of - step) as f64 / (step + 1) as f64).round()
}

impl<'a> Problem<'a> {
    fn new(input: &'a Input) -> Result<Self, Failure> {
        at_most(input.demand.len(), MAX_DEMAND, "demand points")?;
        at_most(input.candidates.len(), MAX_CANDIDATES, "candidates")?;
        distinct("demand", input.demand.iter().map(|place| place.id.as_str()))?;
        distinct("candidates", input.candidates.iter().map(|site| site.id.as_str()))?;
        if input.objective == Objective::MaxCover {
            positive(&["radius"], input.radius_km.unwrap_or(0.0))?;
        }
        let mut places = Vec::with_capacity(input.demand.len());
        for (index, place) in input.demand.iter().enumerate() {
            not_negative(["demand", &index.to_string(), "weight"], place.weight)?;
            places.push(position(&["demand", &index.to_string()], place.lat, place.lon)?);
        }
        let mut distance = Vec::with_capacity(input.candidates.len());
        for (index, site) in input.candidates.iter().enumerate() {
            let at = position(&["candidates", &index.to_string()], site.lat, site.lon)?;
            distance.push(places.iter().map(|place| earth::inverse(at, *place).distance / 1_000.0).collect());
        }
        Ok(Self { input, distance, radius: input.radius_km.unwrap_or(0.0) })
    }

    fn away(&self, site: usize, place: usize) -> f64 {
        self.distance.get(site).and_then(|row| row.get(place)).copied().unwrap_or(f64::INFINITY)
    }

    /// Nearest selected site of each place, and its distance.
    fn nearest(&self, selected: &[usize]) -> Vec<(usize, f64)> {
        let nearest = |place: usize| {
            let sites = selected.iter().map(|site| (*site, self.away(*site, place)));
            sites.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 0.0))
        };
        (0..self.input.demand.len()).map(nearest).collect()
    }

    /// What is made small; covered weight counts negatively.
    fn cost(&self, selected: &[usize]) -> f64 {
        let weighted = self.input.demand.iter().enumerate().map(|(place, demand)| {
            let distance = selected.iter().map(|site| self.away(*site, place)).fold(f64::INFINITY, f64::min);
            (demand.weight, distance)
        });
        match self.input.objective {
            Objective::PMedian => {
                weighted.map(|(weight, distance)| if weight > 0.0 { weight * distance } else { 0.0 }).sum()
            }
            Objective::PCenter => weighted.map(|(_, distance)| distance).fold(0.0, f64::max),
            Objective::MaxCover => {
                -weighted.filter(|(_, distance)| *distance <= self.radius).map(|(weight, _)| weight).sum::<f64>()
            }
        }
    }

    /// The best of all choices; of equal ones the first in the order of the candidates.
    fn all(&self, fixed: &[usize], free: &[usize], open: usize) -> Vec<usize> {
        let mut indexes: Vec<usize> = (0..open).collect();
        let mut best: Option<(f64, Vec<usize>)> = None;
        loop {
            let chosen = indexes.iter().filter_map(|index| free.get(*index)).copied();
            let selected: Vec<usize> = fixed.iter().copied().chain(chosen).collect();
            let cost = self.cost(&selected);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, selected));
            }
            // The next choice: the last index that can move, and those after it as low as they can be.
            let movable = indexes.iter().enumerate().rev().find(|(place, index)| **index < free.len() - open + place);
            let Some((place, &index)) = movable else { break };
            for (step, entry) in indexes.iter_mut().skip(place).enumerate() {
                *entry = index + 1 + step;
            }
        }
        best.map(|(_, selected)| selected).unwrap_or_default()
    }

    /// Adds the best site one after the other, then exchanges a site for another while that helps (Teitz and Bart 1968).
    fn exchange(&self, fixed: &[usize], free: &[usize], open: usize, cx: &Context) -> Vec<usize> {
        let mut selected = fixed.to_vec();
        for step in 0..open {
            cx.progress(step as u64, open as u64, "adding sites");
            let rest = free.iter().filter(|site| !selected.contains(site));
            let added = rest.map(|site| {
                let with: Vec<usize> = selected.iter().copied().chain([*site]).collect();
                (self.cost(&with), *site)
            });
            if let Some((_, site)) = added.min_by(|one, other| one.0.total_cmp(&other.0)) {
                selected.push(site);
            }
        }
        let mut cost = self.cost(&selected);
        for round in 0..MAX_SWAP_ROUNDS {
            cx.progress(round as u64, MAX_SWAP_ROUNDS as u64, "exchanging sites");
            let mut improved = false;
            for &site in free {
                if selected.contains(&site) {
                    continue;
                }
                for place in fixed.len()..selected.len() {
                    let mut with = selected.clone();
                    if let Some(entry) = with.get_mut(place) {
                        *entry = site;
                    }
                    let next = self.cost(&with);
                    if next < cost * (1.0 - 1e-12) - 1e-12 || next < cost && cost < 0.0 {
                        (cost, selected, improved) = (next, with, true);
                        break;
                    }
                }
            }
            if !improved {
                break;
            }
        }
        selected
    }
}
