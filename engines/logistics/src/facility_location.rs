//! q68: facility location and coverage.

use muster_engine::prelude::*;
use muster_kernel_choice::{Graph, shortest_paths};
use muster_kernel_earth as earth;

use crate::bounds::{at_most, distinct, not_negative, position, positive};

const MAX_DEMAND: usize = 1_000;
const MAX_CANDIDATES: usize = 200;
const MAX_ROADS: usize = 5_000;
/// Longest road, in km.
const MAX_ROAD_KM: f64 = 100_000.0;
/// Distance of a place to which no road leads, in km: more than all roads together.
const UNREACHED_KM: f64 = 1e9;
/// Choices up to which all are tried.
const MAX_CHOICES: f64 = 200_000.0;
/// Choices times demand points.
const MAX_STEPS: f64 = 50_000_000.0;
const MAX_SWAP_ROUNDS: usize = 100;

/// A place with demand. Its position is needed where there are no roads.
#[derive(Input)]
pub struct Demand {
    id: String,
    lat: Option<f64>,
    lon: Option<f64>,
    weight: f64,
}

/// A possible site; a fixed one is there already and counts among the p.
#[derive(Input)]
pub struct Candidate {
    id: String,
    lat: Option<f64>,
    lon: Option<f64>,
    fixed: Option<bool>,
}

/// A road that is passed both ways, between places and junctions by their ids.
#[derive(Input)]
pub struct Road {
    from: String,
    to: String,
    length_km: f64,
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

/// Input of the engine. Without candidates each place of demand is one; with roads distances are those along them.
#[derive(Input)]
pub struct Input {
    demand: Vec<Demand>,
    candidates: Option<Vec<Candidate>>,
    roads: Option<Vec<Road>>,
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
/// A p that cannot be met, a missing radius or position, a negative weight, a place that no road reaches, too large an
/// input.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let of_demand: Vec<Candidate>;
    let sites = match &input.candidates {
        Some(candidates) => candidates,
        None => {
            let site = |place: &Demand| Candidate { id: place.id.clone(), lat: place.lat, lon: place.lon, fixed: None };
            of_demand = input.demand.iter().map(site).collect();
            &of_demand
        }
    };
    let problem = Problem::new(&input, sites)?;
    let fixed: Vec<usize> =
        sites.iter().enumerate().filter(|(_, site)| site.fixed.unwrap_or(false)).map(|(index, _)| index).collect();
    let free: Vec<usize> = (0..sites.len()).filter(|index| !fixed.contains(index)).collect();
    let Some(open) = input.p.checked_sub(fixed.len()).filter(|open| *open <= free.len()) else {
        let message = format!("must be between the {} fixed sites and the {} candidates", fixed.len(), sites.len());
        return Err(Failure::invalid(&["p"], message));
    };
    let choices = choices(free.len(), open);
    let optimal = choices <= MAX_CHOICES && choices * input.demand.len() as f64 * input.p as f64 <= MAX_STEPS;
    let mut selected =
        if optimal { problem.all(&fixed, &free, open) } else { problem.exchange(&fixed, &free, open, cx) };
    selected.sort_unstable();
    let nearest = problem.nearest(&selected);
    let mut allocation = Vec::with_capacity(nearest.len());
    let mut unreached = Vec::new();
    for (place, (site, distance)) in input.demand.iter().zip(&nearest) {
        if *distance < UNREACHED_KM {
            let site = sites.get(*site).map(|site| site.id.clone()).unwrap_or_default();
            allocation.push(Allocation { demand: place.id.clone(), site, distance_km: *distance });
        } else {
            unreached.push(place.id.as_str());
        }
    }
    if !unreached.is_empty() {
        let places = unreached.join(", ");
        if input.objective != Objective::MaxCover {
            let message = format!("no road leads from a selected site to {places}: add roads or sites, or raise p");
            return Err(Failure::no_answer(NoAnswer::Infeasible, message));
        }
        cx.warn(format!("unreached: no road leads from a selected site to {places}"));
    }
    let total: f64 = input.demand.iter().map(|place| place.weight).sum();
    let covered = input.demand.iter().zip(&nearest).filter(|(_, (_, distance))| *distance <= problem.radius);
    let covered: f64 = covered.map(|(place, _)| place.weight).sum();
    Ok(Output {
        allocation,
        objective_value: problem.cost(&selected).abs(),
        covered_share: input.radius_km.map(|_| if total > 0.0 { (covered / total).min(1.0) } else { 1.0 }),
        selected: selected.iter().filter_map(|index| sites.get(*index)).map(|site| site.id.clone()).collect(),
        optimal,
    })
}

/// Number of choices, or infinity.
fn choices(of: usize, open: usize) -> f64 {
    (0..open).fold(1.0, |product, step| product * (of - step) as f64 / (step + 1) as f64).round()
}

/// Distances on the ellipsoid in km, by site and place.
fn by_air(demand: &[Demand], sites: &[Candidate]) -> Result<Vec<Vec<f64>>, Failure> {
    let known = |list: &str, index: usize, lat: Option<f64>, lon: Option<f64>| {
        let place = [list, &index.to_string()];
        match (lat, lon) {
            (Some(lat), Some(lon)) => position(&place, lat, lon),
            _ => Err(Failure::invalid(&place, "needs lat and lon, as there are no roads")),
        }
    };
    let places = demand.iter().enumerate().map(|(index, place)| known("demand", index, place.lat, place.lon));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let row = |(index, site): (usize, &Candidate)| {
        let at = known("candidates", index, site.lat, site.lon)?;
        Ok(places.iter().map(|place| earth::inverse(at, *place).distance / 1_000.0).collect())
    };
    sites.iter().enumerate().map(row).collect()
}

/// Lengths of the shortest ways along roads in km, by site and place.
fn by_road(demand: &[Demand], sites: &[Candidate], roads: &[Road]) -> Result<Vec<Vec<f64>>, Failure> {
    at_most(roads.len(), MAX_ROADS, "roads")?;
    let mut graph = Graph::new();
    let places: Vec<usize> = demand.iter().map(|place| graph.node(&place.id)).collect();
    let starts: Vec<usize> = sites.iter().map(|site| graph.node(&site.id)).collect();
    for (index, road) in roads.iter().enumerate() {
        if !(0.0..=MAX_ROAD_KM).contains(&road.length_km) {
            let message = format!("must be between 0 and {MAX_ROAD_KM}");
            return Err(Failure::invalid(&["roads", &index.to_string(), "length"], message));
        }
        let (from, to) = (graph.node(&road.from), graph.node(&road.to));
        graph.add(from, to, road.length_km, false);
    }
    let row = |start: &usize| {
        let costs = shortest_paths(&graph, *start, |_, _| true).cost;
        let length = |place: &usize| costs.get(*place).copied().filter(|cost| cost.is_finite());
        places.iter().map(|place| length(place).unwrap_or(UNREACHED_KM)).collect()
    };
    Ok(starts.iter().map(row).collect())
}

impl<'a> Problem<'a> {
    fn new(input: &'a Input, sites: &[Candidate]) -> Result<Self, Failure> {
        at_most(input.demand.len(), MAX_DEMAND, "demand points")?;
        at_most(sites.len(), MAX_CANDIDATES, "candidates")?;
        distinct("demand", input.demand.iter().map(|place| place.id.as_str()))?;
        distinct("candidates", sites.iter().map(|site| site.id.as_str()))?;
        if input.objective == Objective::MaxCover {
            positive(&["radius"], input.radius_km.unwrap_or(0.0))?;
        }
        for (index, place) in input.demand.iter().enumerate() {
            not_negative(["demand", &index.to_string(), "weight"], place.weight)?;
        }
        let distance = match &input.roads {
            Some(roads) => by_road(&input.demand, sites, roads)?,
            None => by_air(&input.demand, sites)?,
        };
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
