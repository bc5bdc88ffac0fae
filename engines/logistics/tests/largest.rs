//! The largest inputs that the long engines take: `cargo nextest run --release -p muster-engines-logistics --run-ignored only`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a measurement")]

use muster_engine::testing::measure;
use muster_engines_logistics::FAMILY;
use muster_kernel_numeric::sample::Sampler;
use serde_json::{Map, Value, json};

#[test]
#[ignore = "in release"]
fn routes() {
    let mut sampler = Sampler::new(1);
    let stops: Vec<Value> = (0..200)
        .map(|at| {
            let (lat, lon, ready) = (sampler.uniform(), sampler.uniform(), sampler.uniform() * 400.0);
            json!({ "id": at.to_string(), "lat": lat, "lon": lon, "demand": 1.0 + 9.0 * sampler.uniform(), "ready": ready, "due": ready + 120.0, "service": 5 })
        })
        .collect();
    let vehicles = |count: usize| -> Vec<Value> {
        (0..count).map(|at| json!({ "id": at.to_string(), "capacity": 1_200 / count, "shift": 700 })).collect()
    };
    for count in [3, 20, 50] {
        let input = json!({ "depot": { "lat": 0.5, "lon": 0.5 }, "stops": stops, "vehicles": vehicles(count) });
        measure(&FAMILY, 64, &format!("{count} vehicles with windows"), input);
    }
    let free: Vec<Value> = stops
        .iter()
        .map(|stop| json!({ "id": stop["id"], "lat": stop["lat"], "lon": stop["lon"], "demand": 1 }))
        .collect();
    let one =
        json!({ "depot": { "lat": 0.5, "lon": 0.5 }, "stops": free, "vehicles": [{ "id": "v", "capacity": 1e6 }] });
    measure(&FAMILY, 64, "one vehicle", one);
}

#[test]
#[ignore = "in release"]
fn evacuation() {
    let grid = |side: usize, people: f64, minutes: f64, capacity: f64| {
        let mut edges = Vec::new();
        let node = |x: usize, y: usize| format!("{x},{y}");
        for x in 0..side {
            for y in 0..side {
                for (to_x, to_y) in [(x + 1, y), (x, y + 1)].into_iter().filter(|(x, y)| *x < side && *y < side) {
                    let long = minutes + ((x * 7 + y * 3) % 5) as f64;
                    edges.push(
                        json!({ "from": node(x, y), "to": node(to_x, to_y), "minutes": long, "capacity": capacity }),
                    );
                    edges.push(
                        json!({ "from": node(to_x, to_y), "to": node(x, y), "minutes": long, "capacity": capacity }),
                    );
                }
            }
        }
        edges.truncate(500);
        let sources: Vec<Value> = (0..side * side - 1)
            .take(200)
            .map(|at| json!({ "node": node(at / side, at % side), "people": people }))
            .collect();
        json!({ "edges": edges, "sources": sources, "sinks": [node(side - 1, side - 1), node(0, side - 1)] })
    };
    measure(&FAMILY, 65, "a grid", grid(11, 3_000.0, 2.0, 900.0));
    measure(&FAMILY, 65, "a grid with long queues", grid(11, 300_000.0, 1.0, 400.0));
    let one = json!({ "edges": [{ "from": "a", "to": "s", "minutes": 1, "capacity": 1 }], "sources": [{ "node": "a", "people": 900 }], "sinks": ["s"] });
    measure(&FAMILY, 65, "one link for days", one);
}

#[test]
#[ignore = "in release"]
fn casualties() {
    let arrivals: Vec<Value> = (0..2_000)
        .map(|at| json!({ "minute": at % 50, "category": (["red", "yellow", "green"][at % 3]), "count": 10 }))
        .collect();
    let stages: Vec<Value> = (0..30)
        .map(|at| json!({ "id": at.to_string(), "servers": 3, "mean_minutes": 5, "distribution": "lognormal" }))
        .collect();
    let route: Vec<String> = (0..48).map(|at: usize| (at % 30).to_string()).collect();
    let routing = json!({ "red": route, "yellow": route, "green": route });
    measure(
        &FAMILY,
        73,
        "2,000,000 visits",
        json!({ "arrivals": arrivals, "stages": stages, "routing": routing, "replications": 2 }),
    );
}

#[test]
#[ignore = "in release"]
fn drift() {
    measure(
        &FAMILY,
        76,
        "10,000,000 steps",
        json!({
            "last_known": { "lat": 50, "lon": 0 }, "time": "2026-01-01T00:00:00Z", "target_time": "2026-01-31T00:00:00Z",
            "wind": [{ "time": "2026-01-01T00:00:00Z", "speed": 10, "from": 200 }], "particles": 2_300,
        }),
    );
}

#[test]
#[ignore = "in release"]
fn schedules() {
    let mut sampler = Sampler::new(2);
    let jobs: Vec<Value> = (0..500)
        .map(|at| {
            let after: Vec<String> = (0..10).filter(|_| at > 0).map(|_| sampler.index(at).to_string()).collect();
            json!({ "id": at.to_string(), "duration": sampler.index(50), "release": sampler.index(100), "due": sampler.index(2_000), "after": after })
        })
        .collect();
    let resources: Vec<Value> = (0..50).map(|at| json!({ "id": at.to_string() })).collect();
    for objective in ["makespan", "total-tardiness", "max-lateness"] {
        measure(&FAMILY, 78, objective, json!({ "jobs": jobs, "resources": resources, "objective": objective }));
        let few = json!({ "jobs": jobs, "resources": [{ "id": "a" }, { "id": "b" }], "objective": objective });
        measure(&FAMILY, 78, &format!("{objective} on two"), few);
    }
    let ten: Vec<Value> = (0..10)
        .map(|at| json!({ "id": at.to_string(), "duration": 5 + sampler.index(5), "release": sampler.index(30), "due": 20 + sampler.index(60) }))
        .collect();
    measure(
        &FAMILY,
        78,
        "ten jobs",
        json!({ "jobs": ten, "resources": [{ "id": "a" }], "objective": "total-tardiness" }),
    );
}

/// A program with random coefficients in a box.
fn program(variables: usize, rows: usize, each: usize, op: &str, integers: usize) -> Value {
    let mut sampler = Sampler::new(3);
    let name = |at: usize| format!("x{at}");
    let objective: Map<String, Value> = (0..variables).map(|at| (name(at), json!(1.0 + sampler.uniform()))).collect();
    let constraints: Vec<Value> = (0..rows)
        .map(|row| {
            let terms: Map<String, Value> = (0..each)
                .map(|_| (name(sampler.index(variables)), json!((sampler.uniform() * 100.0).ceil())))
                .collect();
            json!({ "name": row.to_string(), "coefficients": terms, "op": op, "rhs": (each * 25) as f64 + 0.5 })
        })
        .collect();
    let bounds: Map<String, Value> = (0..variables).map(|at| (name(at), json!([0, 3]))).collect();
    let integers: Vec<String> = (0..integers).map(name).collect();
    json!({ "sense": "max", "objective": objective, "constraints": constraints, "bounds": bounds, "integers": integers, "time_limit": 60 })
}

#[test]
#[ignore = "in release"]
fn programs() {
    measure(&FAMILY, 79, "1,000 variables, 500 constraints", program(1_000, 500, 40, "le", 0));
    measure(&FAMILY, 79, "1,000 integers, 500 constraints", program(1_000, 500, 40, "le", 1_000));
    measure(&FAMILY, 79, "50 integers, 30 constraints", program(50, 30, 20, "le", 50));
    let mut torn = program(1_000, 99, 200, "le", 500);
    let all: Map<String, Value> = (0..1_000).map(|at| (format!("x{at}"), json!(1))).collect();
    torn["constraints"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "name": "all", "coefficients": all, "op": "ge", "rhs": 2_900 }));
    measure(&FAMILY, 79, "a contradiction of 100 constraints", torn);
}

#[test]
#[ignore = "in release"]
fn cargo() {
    let mut sampler = Sampler::new(4);
    // Values near weights make the search long (Pisinger 2005).
    let items: Vec<Value> = (0..500)
        .map(|at| {
            let weight = 100 + sampler.index(900);
            json!({ "id": at.to_string(), "weight": weight, "volume": 100 + sampler.index(900), "value": weight + 100, "quantity": 1 + at % 3 })
        })
        .collect();
    let of = |items: &[Value], mode: &str| json!({ "items": items, "vehicle": { "weight": 5_000.5, "volume": 5_000 }, "mode": mode });
    measure(&FAMILY, 80, "500 items", of(&items, "best-value"));
    measure(&FAMILY, 80, "1,000 pieces", of(&items, "fewest-vehicles"));
    measure(&FAMILY, 80, "30 pieces", of(items.get(..15).unwrap(), "fewest-vehicles"));
    let many = json!({ "items": [{ "id": "a", "weight": 0.001, "quantity": 100_000 }, { "id": "b", "weight": 0.0011, "value": 1.1, "quantity": 100_000 }], "vehicle": { "weight": 123.4567 } });
    measure(&FAMILY, 80, "200,000 pieces", many);
}
