//! q63: shelter allocation.

use muster_engine::prelude::*;
use muster_kernel_choice::FlowNetwork;
use muster_kernel_earth as earth;

use crate::bounds::{at_most, distinct, position};

const MAX_GROUPS: usize = 500;
const MAX_SHELTERS: usize = 200;

/// People who need shelter.
#[derive(Input)]
pub struct Group {
    id: String,
    lat: f64,
    lon: f64,
    people: i64,
    needs: Option<Vec<String>>,
}

/// A shelter.
#[derive(Input)]
pub struct Shelter {
    id: String,
    lat: f64,
    lon: f64,
    capacity: i64,
    features: Option<Vec<String>>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    groups: Vec<Group>,
    shelters: Vec<Shelter>,
    max_distance_km: Option<f64>,
}

/// People of a group in a shelter.
#[derive(Output)]
pub struct Assignment {
    group: String,
    shelter: String,
    people: i64,
    distance_km: f64,
}

/// People without a shelter.
#[derive(Output)]
pub struct Unmet {
    group: String,
    people: i64,
    reason: &'static str,
}

/// How full a shelter is.
#[derive(Output)]
pub struct Load {
    shelter: String,
    people: i64,
    occupancy: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    assignments: Vec<Assignment>,
    unmet: Vec<Unmet>,
    load: Vec<Load>,
    person_km_km: f64,
}

/// Shelters as many people as possible at the least total distance. A shelter must have all features that a group needs.
///
/// # Errors
/// A negative count, an id that occurs twice, a position out of range, too large an input.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let pairs = pairs(&input)?;
    let (groups, shelters) = (input.groups.len(), input.shelters.len());
    let (source, sink) = (groups + shelters, groups + shelters + 1);
    let mut network = FlowNetwork::new(groups + shelters + 2);
    for (index, group) in input.groups.iter().enumerate() {
        network.add(source, index, group.people as f64, 0.0);
    }
    for (index, shelter) in input.shelters.iter().enumerate() {
        network.add(groups + index, sink, shelter.capacity as f64, 0.0);
    }
    let arcs: Vec<usize> =
        pairs.iter().map(|pair| network.add(pair.group, groups + pair.shelter, f64::INFINITY, pair.distance)).collect();
    let (_, cost) = network.cheapest(source, sink, f64::INFINITY);
    let mut sheltered = vec![0_i64; groups];
    let mut loads = vec![0_i64; shelters];
    let mut assignments = Vec::new();
    for (pair, arc) in pairs.iter().zip(arcs) {
        // Whole, as all capacities are.
        let people = network.flow(arc).round() as i64;
        let (Some(group), Some(shelter)) = (input.groups.get(pair.group), input.shelters.get(pair.shelter)) else {
            continue;
        };
        if people > 0 {
            if let (Some(sheltered), Some(load)) = (sheltered.get_mut(pair.group), loads.get_mut(pair.shelter)) {
                *sheltered += people;
                *load += people;
            }
            assignments.push(Assignment {
                group: group.id.clone(),
                shelter: shelter.id.clone(),
                people,
                distance_km: pair.distance,
            });
        }
    }
    let unmet = input.groups.iter().enumerate().zip(&sheltered).filter(|((_, group), done)| group.people > **done);
    let unmet = unmet.map(|((index, group), done)| Unmet {
        group: group.id.clone(),
        people: group.people - done,
        reason: if pairs.iter().any(|pair| pair.group == index) { "capacity" } else { "no suitable shelter in reach" },
    });
    let load = input.shelters.iter().zip(&loads).map(|(shelter, people)| Load {
        shelter: shelter.id.clone(),
        people: *people,
        occupancy: if shelter.capacity > 0 { *people as f64 / shelter.capacity as f64 } else { 0.0 },
    });
    cx.step("person-kilometres", cost, "km");
    Ok(Output { assignments, unmet: unmet.collect(), load: load.collect(), person_km_km: cost })
}

/// A group that may go to a shelter.
struct Pair {
    group: usize,
    shelter: usize,
    distance: f64,
}

fn pairs(input: &Input) -> Result<Vec<Pair>, Failure> {
    at_most(input.groups.len(), MAX_GROUPS, "groups")?;
    at_most(input.shelters.len(), MAX_SHELTERS, "shelters")?;
    distinct("groups", input.groups.iter().map(|group| group.id.as_str()))?;
    distinct("shelters", input.shelters.iter().map(|shelter| shelter.id.as_str()))?;
    // Up to here sums of people are exact.
    let count = |field: &str, index: usize, member: &str, value: i64| {
        let within = (0..=1_000_000_000).contains(&value);
        let loc = [field, &index.to_string(), member];
        if within { Ok(()) } else { Err(Failure::invalid(&loc, "must be between 0 and 1,000,000,000")) }
    };
    let mut places = Vec::with_capacity(input.shelters.len());
    for (index, shelter) in input.shelters.iter().enumerate() {
        count("shelters", index, "capacity", shelter.capacity)?;
        places.push(position(&["shelters", &index.to_string()], shelter.lat, shelter.lon)?);
    }
    let mut pairs = Vec::new();
    for (index, group) in input.groups.iter().enumerate() {
        count("groups", index, "people", group.people)?;
        let at = position(&["groups", &index.to_string()], group.lat, group.lon)?;
        for ((number, shelter), place) in input.shelters.iter().enumerate().zip(&places) {
            let features = shelter.features.as_deref().unwrap_or_default();
            let suits = group.needs.iter().flatten().all(|need| features.contains(need));
            let distance = earth::inverse(at, *place).distance / 1_000.0;
            if suits && input.max_distance_km.is_none_or(|most| distance <= most) {
                pairs.push(Pair { group: index, shelter: number, distance });
            }
        }
    }
    Ok(pairs)
}
