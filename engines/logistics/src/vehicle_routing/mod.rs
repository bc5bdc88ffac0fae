//! q64: vehicle routing with capacities and time windows.

mod fleet;
mod improve;
mod tour;

use muster_engine::prelude::{Context, Failure, Input, Output};
use muster_kernel_earth::{LatLon, inverse};

use crate::bounds::{at_most, distinct, not_negative, position, positive};
use fleet::{Fleet, Routes, Stop, Vehicle};

const MAX_STOPS: usize = 200;
const MAX_VEHICLES: usize = 50;
/// Longest time in minutes: a year.
const MAX_MINUTES: f64 = 525_600.0;
const MAX_SPEED: f64 = 1e5;
/// Stops up to which one vehicle's tour is proven.
const MAX_EXACT: usize = 12;

#[derive(Input)]
pub struct Input {
    depot: Depot,
    stops: Vec<StopIn>,
    vehicles: Vec<VehicleIn>,
    speed_km_h: f64,
    matrix_min: Option<Vec<Vec<f64>>>,
    seed: i64,
}

#[derive(Input)]
struct Depot {
    lat: f64,
    lon: f64,
}

#[derive(Input)]
struct StopIn {
    id: String,
    lat: f64,
    lon: f64,
    demand: f64,
    ready_min: Option<f64>,
    due_min: Option<f64>,
    service_min: Option<f64>,
}

#[derive(Input)]
struct VehicleIn {
    id: String,
    capacity: f64,
    shift_min: Option<f64>,
}

#[derive(Output)]
pub struct Output {
    routes: Vec<Route>,
    unserved: Vec<Unserved>,
    total_distance_km: f64,
    lower_bound_km: f64,
}

#[derive(Output)]
struct Route {
    vehicle: String,
    stops: Vec<String>,
    arrivals: Vec<f64>,
    load: f64,
    distance_km: f64,
    minutes_min: f64,
}

#[derive(Output)]
struct Unserved {
    id: String,
    reason: &'static str,
}

/// Plans rounds from the depot and back.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let fleet = fleet(&input)?;
    let exact = fleet.vehicles.len() == 1 && fleet.stops.len() <= MAX_EXACT && fleet.is_unconstrained();
    let routes = if exact {
        Routes { of: vec![tour::shortest(&fleet)], left: Vec::new() }
    } else {
        improve::best(&fleet, input.seed, cx)
    };
    let total = routes.of.iter().map(|route| fleet.distance(route)).sum::<f64>();
    let lower_bound = if exact { total } else { tour::bound(&fleet, &routes).min(total) };
    cx.step("gap_to_lower_bound", if total > 0.0 { 1.0 - lower_bound / total } else { 0.0 }, "");
    Ok(output(&input, &fleet, &routes, total, lower_bound))
}

fn output(input: &Input, fleet: &Fleet, routes: &Routes, total: f64, lower_bound: f64) -> Output {
    let id = |stop: &usize| input.stops.get(stop - 1).map_or_else(String::new, |stop| stop.id.clone());
    let route = |(vehicle, stops): (&VehicleIn, &Vec<usize>)| {
        let times = fleet.times(stops);
        Route {
            vehicle: vehicle.id.clone(),
            stops: stops.iter().map(id).collect(),
            arrivals: times.arrivals,
            load: fleet.load(stops),
            distance_km: fleet.distance(stops),
            minutes_min: times.end,
        }
    };
    let used = input.vehicles.iter().zip(&routes.of).filter(|(_, stops)| !stops.is_empty());
    let routes_out = used.map(route).collect();
    let unserved = routes.left.iter().map(|stop| Unserved { id: id(stop), reason: fleet.reason(*stop) });
    Output { routes: routes_out, unserved: unserved.collect(), total_distance_km: total, lower_bound_km: lower_bound }
}

/// Checks the input; distances are along the geodesic, or as far as one drives in the minutes of the matrix.
fn fleet(input: &Input) -> Result<Fleet, Failure> {
    at_most(input.stops.len(), MAX_STOPS, "stops")?;
    at_most(input.vehicles.len(), MAX_VEHICLES, "vehicles")?;
    if input.vehicles.is_empty() {
        return Err(Failure::invalid(&["vehicles"], "must have a vehicle"));
    }
    distinct("stops", input.stops.iter().map(|stop| stop.id.as_str()))?;
    distinct("vehicles", input.vehicles.iter().map(|vehicle| vehicle.id.as_str()))?;
    let mut places = vec![position(&["depot"], input.depot.lat, input.depot.lon)?];
    let mut stops = Vec::new();
    for (at, stop) in input.stops.iter().enumerate() {
        let at = at.to_string();
        places.push(position(&["stops", &at], stop.lat, stop.lon)?);
        not_negative(["stops", &at, "demand"], stop.demand)?;
        let (ready, due, service) = (stop.ready_min.unwrap_or(0.0), stop.due_min, stop.service_min.unwrap_or(0.0));
        for (name, value) in [("ready", ready), ("due", due.unwrap_or(0.0)), ("service", service)] {
            if !(0.0..=MAX_MINUTES).contains(&value) {
                return Err(Failure::invalid(&["stops", &at, name], format!("must be 0 to {MAX_MINUTES} minutes")));
            }
        }
        if due.is_some_and(|due| due < ready) {
            return Err(Failure::invalid(&["stops", &at, "due"], "must not be before ready"));
        }
        stops.push(Stop { demand: stop.demand, ready, due: due.unwrap_or(f64::INFINITY), service });
    }
    let mut vehicles = Vec::new();
    for (at, vehicle) in input.vehicles.iter().enumerate() {
        let at = at.to_string();
        not_negative(["vehicles", &at, "capacity"], vehicle.capacity)?;
        if let Some(shift) = vehicle.shift_min {
            positive(&["vehicles", &at, "shift"], shift)?;
        }
        vehicles.push(Vehicle { capacity: vehicle.capacity, shift: vehicle.shift_min.unwrap_or(f64::INFINITY) });
    }
    if input.speed_km_h > MAX_SPEED {
        return Err(Failure::invalid(&["speed"], format!("must be at most {MAX_SPEED} km/h")));
    }
    let per_minute = input.speed_km_h / 60.0;
    let minutes = match &input.matrix_min {
        Some(matrix) => matrix_of(matrix, places.len())?,
        None => places
            .iter()
            .map(|from| {
                let distance = |to: &LatLon| inverse(*from, *to).distance / 1_000.0;
                places.iter().map(|to| distance(to) / per_minute).collect()
            })
            .collect(),
    };
    Ok(Fleet { stops, vehicles, minutes, per_minute })
}

fn matrix_of(matrix: &[Vec<f64>], size: usize) -> Result<Vec<Vec<f64>>, Failure> {
    if matrix.len() != size {
        return Err(Failure::invalid(&["matrix"], format!("must have {size} rows: of the depot, then of the stops")));
    }
    for (at, row) in matrix.iter().enumerate() {
        let at_text = at.to_string();
        if row.len() != size {
            return Err(Failure::invalid(&["matrix", &at_text], format!("must have {size} members")));
        }
        if let Some(column) = row.iter().position(|value| !(0.0..=MAX_MINUTES).contains(value)) {
            let why = format!("must be 0 to {MAX_MINUTES} minutes");
            return Err(Failure::invalid(&["matrix", &at_text, &column.to_string()], why));
        }
    }
    let mut matrix = matrix.to_vec();
    for (at, row) in matrix.iter_mut().enumerate() {
        if let Some(own) = row.get_mut(at) {
            *own = 0.0;
        }
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// What is wrong with routes, found without the code that makes them, in the minutes of the matrix.
    fn faults(input: &Value, output: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        let stops = input["stops"].as_array().unwrap();
        let number = |id: &Value| stops.iter().position(|stop| stop["id"] == *id).unwrap() + 1;
        let minutes = |from: usize, to: usize| input["matrix"][from][to].as_f64().unwrap();
        let mut seen: Vec<&Value> = output["unserved"].as_array().unwrap().iter().map(|left| &left["id"]).collect();
        let mut total = 0.0;
        for route in output["routes"].as_array().unwrap() {
            let vehicle =
                input["vehicles"].as_array().unwrap().iter().find(|one| one["id"] == route["vehicle"]).unwrap();
            let (mut at, mut clock, mut load, mut driven) = (0, 0.0, 0.0, 0.0);
            for id in route["stops"].as_array().unwrap() {
                seen.push(id);
                let next = number(id);
                let stop = &stops[next - 1];
                driven += minutes(at, next);
                clock = f64::max(clock + minutes(at, next), stop["ready"].as_f64().unwrap_or(0.0));
                if clock > stop["due"].as_f64().unwrap_or(f64::INFINITY) + 1e-6 {
                    faults.push(format!("{id} is late"));
                }
                clock += stop["service"].as_f64().unwrap_or(0.0);
                load += stop["demand"].as_f64().unwrap();
                at = next;
            }
            driven += minutes(at, 0);
            clock += minutes(at, 0);
            if load > vehicle["capacity"].as_f64().unwrap() + 1e-9 {
                faults.push(format!("{} is too heavy", route["vehicle"]));
            }
            if clock > vehicle["shift"].as_f64().unwrap_or(f64::INFINITY) + 1e-6 {
                faults.push(format!("{} is away too long", route["vehicle"]));
            }
            if (clock - route["minutes"].as_f64().unwrap()).abs() > 1e-6
                || (load - route["load"].as_f64().unwrap()).abs() > 1e-9
            {
                faults.push(format!("{} is described wrongly", route["vehicle"]));
            }
            total += driven;
        }
        let mut names: Vec<String> = seen.iter().map(|id| id.to_string()).collect();
        names.sort();
        names.dedup();
        if names.len() != stops.len() || seen.len() != stops.len() {
            faults.push("a stop is missing or twice".to_owned());
        }
        let (found, bound) = (output["total_distance"].as_f64().unwrap(), output["lower_bound"].as_f64().unwrap());
        if (found - total).abs() > 1e-6 || bound > found + 1e-9 {
            faults.push(format!("{found} and {bound} for {total}"));
        }
        faults
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn routes_are_feasible_and_no_shorter_than_their_bound(
            stops in prop::collection::vec((0_u8..100, 0_u8..100, 0_u8..5, 0_u8..100, 20_u8..255, any::<bool>()), 0..18),
            vehicles in prop::collection::vec((0_u8..15, 50_u16..400), 1..4),
        ) {
            let places: Vec<(f64, f64)> = std::iter::once((50.0, 50.0)).chain(stops.iter().map(|stop| (stop.0.into(), stop.1.into()))).collect();
            let matrix: Vec<Vec<f64>> = places.iter().map(|a| places.iter().map(|b| f64::hypot(a.0 - b.0, a.1 - b.1)).collect()).collect();
            let stops: Vec<Value> = stops.iter().enumerate().map(|(at, (_, _, demand, ready, width, timed))| {
                let mut stop = json!({ "id": format!("s{at}"), "lat": 0, "lon": 0, "demand": demand, "service": 3 });
                if *timed {
                    stop["ready"] = json!(ready);
                    stop["due"] = json!(u16::from(*ready) + u16::from(*width));
                }
                stop
            }).collect();
            let vehicles: Vec<Value> = vehicles.iter().enumerate().map(|(at, (capacity, shift))| {
                json!({ "id": format!("v{at}"), "capacity": capacity, "shift": shift })
            }).collect();
            let input = json!({ "depot": { "lat": 0, "lon": 0 }, "stops": stops, "vehicles": vehicles, "matrix": matrix, "speed": 60 });
            let output = crate::FAMILY.run(64, input.clone(), &Context::default()).unwrap();
            prop_assert_eq!(faults(&input, &output), Vec::<String>::new());
        }
    }
}
