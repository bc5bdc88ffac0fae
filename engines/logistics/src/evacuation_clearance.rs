//! q65: evacuation clearance time.

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;
use muster_kernel_choice::{FlowNetwork, Graph};

use crate::bounds::{at_most, not_negative};

const MAX_EDGES: usize = 500;
const MAX_ENDS: usize = 200;
/// Arcs of the network of all times.
const MAX_ARCS: usize = 60_000;
/// Longest step in minutes; more needs a smaller network.
const MAX_STEP: f64 = 64.0;
/// Longest time on a link, and most people.
const MAX_MINUTES: f64 = 10_000.0;
const MAX_PEOPLE: f64 = 1e8;
const MAX_POINTS: usize = 200;
const MAX_BOTTLENECKS: usize = 10;
/// Vehicles that may be missing because sums are rounded, as a share.
const NEAR: f64 = 1e-9;

#[derive(Input)]
pub struct Input {
    edges: Vec<EdgeIn>,
    sources: Vec<Source>,
    sinks: Vec<String>,
    occupancy_people_veh: f64,
    mobilisation_min: f64,
}

#[derive(Input)]
struct EdgeIn {
    from: String,
    to: String,
    minutes: f64,
    capacity_veh_h: f64,
}

#[derive(Input)]
struct Source {
    node: String,
    people: f64,
}

#[derive(Output)]
pub struct Output {
    clearance_minutes_min: f64,
    timeline: Vec<Point>,
    bottlenecks: Vec<Bottleneck>,
    flows: Vec<Flow>,
}

#[derive(Output)]
struct Point {
    minute: f64,
    evacuated: f64,
}

#[derive(Output)]
struct Bottleneck {
    from: String,
    to: String,
    utilisation: f64,
}

#[derive(Output)]
struct Flow {
    from: String,
    to: String,
    vehicles: f64,
}

struct Edge {
    from: usize,
    to: usize,
    minutes: f64,
    /// Vehicles in a minute.
    rate: f64,
}

struct Network {
    nodes: usize,
    edges: Vec<Edge>,
    /// Node and vehicles.
    sources: Vec<(usize, f64)>,
    sinks: Vec<usize>,
    total: f64,
}

/// Finds the shortest time in which all vehicles are at a sink.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` where a source has no way out.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let (network, graph) = network(&input)?;
    if network.total == 0.0 {
        let timeline = vec![Point { minute: 0.0, evacuated: 0.0 }];
        return Ok(Output { clearance_minutes_min: 0.0, timeline, bottlenecks: Vec::new(), flows: Vec::new() });
    }
    let longest = network.longest_way(&graph, &input)?;
    let mut step = 1.0;
    let solved = loop {
        if let Some(solved) = network.solve(step, longest, cx) {
            break solved;
        }
        step *= 2.0;
        if step > MAX_STEP {
            return Err(Failure::too_large(
                "the network is too large for the time that it takes: leave out links, or divide it",
            ));
        }
    };
    if step > 1.0 {
        cx.warn(format!("coarse: times are multiples of {step} minutes, because the evacuation is long"));
    }
    if network.edges.iter().any(|edge| (edge.minutes / step).fract() > 0.0) {
        cx.warn(format!("rounded: times on links were rounded up to multiples of {step} min"));
    }
    cx.step("step", step, "min");
    Ok(output(&input, &network, &solved, step))
}

fn network(input: &Input) -> Result<(Network, Graph), Failure> {
    at_most(input.edges.len(), MAX_EDGES, "edges")?;
    at_most(input.sources.len(), MAX_ENDS, "sources")?;
    at_most(input.sinks.len(), MAX_ENDS, "sinks")?;
    let mut graph = Graph::new();
    let mut edges = Vec::new();
    for (at, edge) in input.edges.iter().enumerate() {
        let at = at.to_string();
        not_negative(["edges", &at, "minutes"], edge.minutes)?;
        not_negative(["edges", &at, "capacity"], edge.capacity_veh_h)?;
        if edge.minutes > MAX_MINUTES {
            return Err(Failure::invalid(&["edges", &at, "minutes"], format!("must be at most {MAX_MINUTES}")));
        }
        if edge.capacity_veh_h > MAX_PEOPLE {
            return Err(Failure::invalid(&["edges", &at, "capacity"], format!("must be at most {MAX_PEOPLE}")));
        }
        let (from, to) = (graph.node(&edge.from), graph.node(&edge.to));
        if edge.capacity_veh_h > 0.0 {
            graph.add(from, to, edge.minutes, true);
        }
        edges.push(Edge { from, to, minutes: edge.minutes, rate: edge.capacity_veh_h / 60.0 });
    }
    let sinks: BTreeSet<usize> = input.sinks.iter().map(|sink| graph.node(sink)).collect();
    let mut sources: BTreeMap<usize, f64> = BTreeMap::new();
    for (at, source) in input.sources.iter().enumerate() {
        let at = at.to_string();
        not_negative(["sources", &at, "people"], source.people)?;
        if source.people > MAX_PEOPLE {
            return Err(Failure::invalid(&["sources", &at, "people"], format!("must be at most {MAX_PEOPLE}")));
        }
        let node = graph.node(&source.node);
        // People at a sink are safe.
        if !sinks.contains(&node) {
            *sources.entry(node).or_default() += source.people / input.occupancy_people_veh;
        }
    }
    sources.retain(|_, vehicles| *vehicles > 0.0);
    let total = sources.values().sum();
    let network = Network {
        nodes: graph.len(),
        edges,
        sources: sources.into_iter().collect(),
        sinks: sinks.into_iter().collect(),
        total,
    };
    Ok((network, graph))
}

/// Flow at the shortest horizon.
struct Solved {
    steps: usize,
    /// Vehicles over each edge.
    over: Vec<f64>,
    /// Vehicles that arrive in each step.
    arriving: Vec<f64>,
}

impl Network {
    /// The longest of the quickest ways of the sources, in minutes (Bellman and Ford, from the sinks backwards).
    fn longest_way(&self, graph: &Graph, input: &Input) -> Result<f64, Failure> {
        let mut best = vec![f64::INFINITY; self.nodes];
        for sink in &self.sinks {
            if let Some(value) = best.get_mut(*sink) {
                *value = 0.0;
            }
        }
        for _ in 0..self.nodes {
            let mut changed = false;
            for edge in self.edges.iter().filter(|edge| edge.rate > 0.0) {
                let through = best.get(edge.to).copied().unwrap_or(f64::INFINITY) + edge.minutes;
                if let Some(value) = best.get_mut(edge.from).filter(|value| through < **value) {
                    *value = through;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let mut longest = 0.0_f64;
        for (node, _) in &self.sources {
            let minutes = best.get(*node).copied().unwrap_or(f64::INFINITY);
            if minutes == f64::INFINITY {
                let name = graph.name(*node);
                let what =
                    if input.sinks.is_empty() { "there is no sink" } else { "no way with capacity leads to a sink" };
                return Err(Failure::no_answer(NoAnswer::Infeasible, format!("from {name}: {what}")));
            }
            longest = longest.max(minutes);
        }
        Ok(longest)
    }

    fn steps_of(&self, edge: &Edge, step: f64) -> usize {
        (edge.minutes / step - NEAR).ceil().max(0.0) as usize
    }

    /// The flow at the least number of steps; `None` if the network of so many steps is too large.
    fn solve(&self, step: f64, longest: f64, cx: &Context) -> Option<Solved> {
        let arcs = self.edges.len() + self.sources.len() + self.sinks.len();
        let most = MAX_ARCS / arcs.max(1);
        // What leaves in one step arrives in the same at best.
        let mut low = (longest / step).floor() as usize;
        let mut high = (low + 1).max(1);
        let mut tries = 0;
        loop {
            if high > most {
                if low >= most {
                    return None;
                }
                high = most;
            }
            tries += 1;
            cx.progress(tries, 0, "finding a time that suffices");
            if self.suffices(high, step) {
                break;
            }
            if high == most {
                return None;
            }
            low = high;
            high *= 2;
        }
        while high - low > 1 {
            tries += 1;
            cx.progress(tries, 0, "finding the shortest time");
            let middle = low + (high - low) / 2;
            if self.suffices(middle, step) {
                high = middle;
            } else {
                low = middle;
            }
        }
        let (flow, added, _) = self.flow(high, step);
        let mut over = vec![0.0; self.edges.len()];
        for (arc, edge) in &added {
            if let Some(sum) = edge.and_then(|edge| over.get_mut(edge)) {
                *sum += flow.flow(*arc);
            }
        }
        let mut arriving = vec![0.0; high];
        let sinks = added.iter().filter(|(_, edge)| edge.is_none());
        for (at, (arc, _)) in sinks.enumerate() {
            if let Some(sum) = arriving.get_mut(at % high) {
                *sum += flow.flow(*arc);
            }
        }
        Some(Solved { steps: high, over, arriving })
    }

    fn suffices(&self, steps: usize, step: f64) -> bool {
        let (_, _, sent) = self.flow(steps, step);
        sent >= self.total * (1.0 - NEAR)
    }

    /// The network of all times: a node for each place and step. Vehicles wait at their source only: waiting on the way
    /// does not let more arrive (Hoppe and Tardos 2000, section 2). Returns the arcs of edges with their numbers, and of the
    /// sinks, step by step, without.
    fn flow(&self, steps: usize, step: f64) -> (FlowNetwork, Vec<(usize, Option<usize>)>, f64) {
        let gates = 2 + self.sources.len();
        let node = |place: usize, at: usize| gates + place * steps + at;
        let mut network = FlowNetwork::new(gates + self.nodes * steps);
        let mut added = Vec::new();
        for (gate, (place, vehicles)) in self.sources.iter().enumerate() {
            network.add(0, 2 + gate, *vehicles, 0.0);
            for at in 0..steps {
                network.add(2 + gate, node(*place, at), f64::INFINITY, 0.0);
            }
        }
        for (number, edge) in self.edges.iter().enumerate().filter(|(_, edge)| edge.rate > 0.0 && edge.from != edge.to)
        {
            let long = self.steps_of(edge, step);
            for at in 0..steps.saturating_sub(long) {
                added.push((
                    network.add(node(edge.from, at), node(edge.to, at + long), edge.rate * step, 0.0),
                    Some(number),
                ));
            }
        }
        for sink in &self.sinks {
            for at in 0..steps {
                added.push((network.add(node(*sink, at), 1, f64::INFINITY, 0.0), None));
            }
        }
        let sent = network.maximum(0, 1);
        (network, added, sent)
    }
}

fn output(input: &Input, network: &Network, solved: &Solved, step: f64) -> Output {
    let people = input.occupancy_people_veh;
    let every = solved.steps.div_ceil(MAX_POINTS).max(1);
    let mut sum = 0.0;
    let mut timeline = vec![Point { minute: input.mobilisation_min, evacuated: 0.0 }];
    for (at, arriving) in solved.arriving.iter().enumerate() {
        sum += arriving * people;
        if (at + 1) % every == 0 || at + 1 == solved.steps {
            timeline.push(Point { minute: input.mobilisation_min + (at + 1) as f64 * step, evacuated: sum });
        }
    }
    let used = || input.edges.iter().zip(&network.edges).zip(&solved.over).filter(|(_, vehicles)| **vehicles > NEAR);
    let mut bottlenecks: Vec<Bottleneck> = used()
        .map(|((given, edge), vehicles)| {
            // What enters late does not arrive.
            let open = solved.steps.saturating_sub(network.steps_of(edge, step)) as f64 * step;
            let utilisation = (vehicles / (edge.rate * open)).min(1.0);
            Bottleneck { from: given.from.clone(), to: given.to.clone(), utilisation }
        })
        .collect();
    bottlenecks.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    bottlenecks.truncate(MAX_BOTTLENECKS);
    let flows = used().map(|((given, _), vehicles)| Flow {
        from: given.from.clone(),
        to: given.to.clone(),
        vehicles: *vehicles,
    });
    Output {
        clearance_minutes_min: input.mobilisation_min + solved.steps as f64 * step,
        timeline,
        bottlenecks,
        flows: flows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// From, to, minutes, capacity in vehicles a minute; place 0 is the sink, sources follow.
    type Link = (usize, usize, u8, u8);

    fn links() -> impl Strategy<Value = Vec<Link>> {
        prop::collection::vec((0_usize..5, 0_usize..5, 0_u8..6, 1_u8..5), 1..10)
    }

    fn clearance(links: &[Link], vehicles: &[u8]) -> Option<Value> {
        let edges: Vec<Value> = links
            .iter()
            .map(|(from, to, minutes, rate)| {
                json!({ "from": from.to_string(), "to": to.to_string(), "minutes": minutes, "capacity": u32::from(*rate) * 60 })
            })
            .collect();
        let sources: Vec<Value> = vehicles
            .iter()
            .enumerate()
            .map(|(at, people)| json!({ "node": (at + 1).to_string(), "people": people }))
            .collect();
        let input = json!({ "edges": edges, "sources": sources, "sinks": ["0"], "occupancy": 1, "mobilisation": 0 });
        match crate::FAMILY.run(65, input, &Context::default()) {
            Ok(output) => Some(output),
            Err(Failure::NoAnswer { .. }) => None,
            Err(failure) => panic!("{failure:?}"),
        }
    }

    /// Vehicles that arrive within so many steps where they may wait everywhere, minute by minute.
    fn arriving(links: &[Link], vehicles: &[u8], steps: usize) -> f64 {
        let node = |place: usize, at: usize| 2 + place * steps + at;
        let mut network = FlowNetwork::new(2 + 5 * steps);
        for (at, vehicles) in vehicles.iter().enumerate() {
            network.add(0, node(at + 1, 0), f64::from(*vehicles), 0.0);
        }
        for place in 0..5 {
            for at in 1..steps {
                network.add(node(place, at - 1), node(place, at), f64::INFINITY, 0.0);
            }
        }
        for (from, to, minutes, rate) in links.iter().filter(|(from, to, ..)| from != to) {
            for at in 0..steps.saturating_sub(usize::from(*minutes)) {
                network.add(node(*from, at), node(*to, at + usize::from(*minutes)), f64::from(*rate), 0.0);
            }
        }
        network.add(node(0, steps - 1), 1, f64::INFINITY, 0.0);
        network.maximum(0, 1)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn no_shorter_time_suffices_even_where_vehicles_may_wait(
            links in links(), vehicles in prop::collection::vec(0_u8..30, 1..4),
        ) {
            if let Some(output) = clearance(&links, &vehicles) {
                let total: f64 = vehicles.iter().map(|vehicles| f64::from(*vehicles)).sum();
                let steps = output["clearance_minutes"].as_f64().unwrap() as usize;
                if total > 0.0 {
                    prop_assert!(arriving(&links, &vehicles, steps) >= total - 1e-6);
                    prop_assert!(steps == 1 || arriving(&links, &vehicles, steps - 1) < total - 1e-6);
                }
                let flows = output["flows"].as_array().unwrap();
                let sum = |end: &str, place: usize| -> f64 {
                    let name = json!(place.to_string());
                    let at = flows.iter().filter(|flow| flow[end] == name);
                    at.map(|flow| flow["vehicles"].as_f64().unwrap()).sum()
                };
                for place in 0..5_usize {
                    let begins = place.checked_sub(1).and_then(|at| vehicles.get(at)).map_or(0.0, |n| f64::from(*n));
                    let ends = if place == 0 { total } else { 0.0 };
                    prop_assert!((sum("to", place) + begins - sum("from", place) - ends).abs() < 1e-6);
                }
            }
        }

        /// Ford and Fulkerson 1958: of the flows that send d along ways of t minutes for the rest of the time, the best
        /// carries as much as any. With the cheapest flows of each amount d this is the maximum of T d - cost(d).
        #[test]
        fn one_source_is_cleared_as_by_temporally_repeated_flows(links in links(), vehicles in 1_u8..60) {
            if let Some(output) = clearance(&links, &[vehicles]) {
                let steps = output["clearance_minutes"].as_f64().unwrap();
                let repeated = |steps: f64| {
                    (1..=40).fold(0.0, |most: f64, amount| {
                        let mut network = FlowNetwork::new(5);
                        for (from, to, minutes, rate) in &links {
                            network.add(*from, *to, f64::from(*rate), f64::from(*minutes));
                        }
                        let (sent, spent) = network.cheapest(1, 0, f64::from(amount));
                        most.max(sent * steps - spent)
                    })
                };
                prop_assert!(repeated(steps) >= f64::from(vehicles) - 1e-6);
                prop_assert!(repeated(steps - 1.0) < f64::from(vehicles) - 1e-6);
            }
        }
    }
}
