//! q54: cascading infrastructure failure.

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;
use muster_kernel_choice::{Graph, at, set};

use crate::bounds::at_most;
use crate::lowlink::parts;

const MAX_NODES: usize = 5_000;
const MAX_EDGES: usize = 50_000;

/// A node with its load and what it can carry.
#[derive(Input)]
pub struct Node {
    id: String,
    load: f64,
    capacity: f64,
}

/// A link over which load moves.
#[derive(Input)]
pub struct Edge {
    from: String,
    to: String,
}

/// A node that fails with another one.
#[derive(Input)]
pub struct Dependency {
    dependent: String,
    on: String,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    dependencies: Vec<Dependency>,
    initial: Vec<String>,
}

/// Why a node fails.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It was lost at first.
    Initial,
    /// It carries more than its capacity.
    Overload,
    /// What it depends on failed.
    Dependency,
    /// All its neighbours failed, while others of its network are left.
    Isolated,
}

/// A failure.
#[derive(Output)]
pub struct Failed {
    node: String,
    step: u32,
    cause: Cause,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    failed: Vec<Failed>,
    survivors: Vec<String>,
    fraction_lost: f64,
}

/// State of the cascade. Nodes have the numbers of `graph`.
struct Cascade {
    graph: Graph,
    load: Vec<f64>,
    capacity: Vec<f64>,
    dependents: Vec<Vec<usize>>,
    part: Vec<usize>,
    failed: Vec<bool>,
    /// Failures in their order.
    log: Vec<(usize, u32, Cause)>,
}

/// Moves the load of failed nodes to their surviving neighbours, in proportion to capacity, until nothing fails.
///
/// # Errors
/// A negative number, an id that occurs twice or is unknown, too large a network.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let mut cascade = build(&input)?;
    let overloaded = input.nodes.iter().filter(|node| node.load > node.capacity).count();
    if overloaded > 0 {
        cx.warn(format!("overloaded: {overloaded} nodes carry more than their capacity before anything is lost"));
    }
    for (index, name) in input.initial.iter().enumerate() {
        let unknown = || Failure::invalid(&["initial", &index.to_string()], "is the id of no node");
        let node = cascade.graph.find(name).ok_or_else(unknown)?;
        cascade.fail(node, 0, Cause::Initial);
    }
    let mut from = 0;
    for step in 1.. {
        let fresh: Vec<usize> = cascade.log.iter().skip(from).map(|(node, ..)| *node).collect();
        from = cascade.log.len();
        cascade.step(&fresh, step);
        if cascade.log.len() == from {
            break;
        }
    }
    let count = cascade.graph.len();
    let survivors = (0..count).filter(|node| !at(&cascade.failed, *node));
    Ok(Output {
        survivors: cascade.graph.names(survivors),
        fraction_lost: if count > 0 { cascade.log.len() as f64 / count as f64 } else { 0.0 },
        failed: cascade
            .log
            .iter()
            .map(|(node, step, cause)| Failed {
                node: cascade.graph.name(*node).to_owned(),
                step: *step,
                cause: *cause,
            })
            .collect(),
    })
}

impl Cascade {
    fn fail(&mut self, node: usize, step: u32, cause: Cause) {
        if !at(&self.failed, node) {
            set(&mut self.failed, node, true);
            self.log.push((node, step, cause));
        }
    }

    /// Makes one step after the failures `fresh` of the step before.
    fn step(&mut self, fresh: &[usize], step: u32) {
        self.share(fresh);
        for node in 0..self.graph.len() {
            if !at(&self.failed, node) && at(&self.load, node) > at(&self.capacity, node) {
                self.fail(node, step, Cause::Overload);
            }
        }
        // Dependents of what failed now or before, and theirs.
        let mut queue: Vec<usize> = self.log.iter().map(|(node, ..)| *node).collect();
        while let Some(node) = queue.pop() {
            for dependent in self.dependents.get(node).cloned().unwrap_or_default() {
                if !at(&self.failed, dependent) {
                    self.fail(dependent, step, Cause::Dependency);
                    queue.push(dependent);
                }
            }
        }
        let mut left: BTreeMap<usize, usize> = BTreeMap::new();
        for node in (0..self.graph.len()).filter(|node| !at(&self.failed, *node)) {
            *left.entry(at(&self.part, node)).or_default() += 1;
        }
        for node in 0..self.graph.len() {
            let arcs = self.graph.out(node);
            let alone = !arcs.is_empty() && arcs.iter().all(|arc| at(&self.failed, arc.to));
            let others = left.get(&at(&self.part, node)).copied().unwrap_or(0);
            if alone && others > 1 && !at(&self.failed, node) {
                self.fail(node, step, Cause::Isolated);
                left.entry(at(&self.part, node)).and_modify(|left| *left -= 1);
            }
        }
    }

    /// Shares out the loads of failed nodes: in proportion to capacity, evenly where all are 0. What has no surviving
    /// neighbour is lost.
    fn share(&mut self, fresh: &[usize]) {
        for &node in fresh {
            let takers: BTreeSet<usize> =
                self.graph.out(node).iter().map(|arc| arc.to).filter(|to| !at(&self.failed, *to)).collect();
            let total: f64 = takers.iter().map(|taker| at(&self.capacity, *taker)).sum();
            for taker in &takers {
                let share = if total > 0.0 { at(&self.capacity, *taker) / total } else { 1.0 / takers.len() as f64 };
                let load = at(&self.load, *taker) + at(&self.load, node) * share;
                set(&mut self.load, *taker, load);
            }
        }
    }
}

fn build(input: &Input) -> Result<Cascade, Failure> {
    at_most(input.nodes.len(), MAX_NODES, "nodes")?;
    at_most(input.edges.len(), MAX_EDGES, "edges")?;
    at_most(input.dependencies.len(), MAX_EDGES, "dependencies")?;
    let mut graph = Graph::new();
    for (index, node) in input.nodes.iter().enumerate() {
        let index = index.to_string();
        if graph.find(&node.id).is_some() {
            return Err(Failure::invalid(&["nodes", &index, "id"], "occurs twice"));
        }
        for (member, value) in [("load", node.load), ("capacity", node.capacity)] {
            if value < 0.0 {
                return Err(Failure::invalid(&["nodes", &index, member], "must not be negative"));
            }
        }
        graph.node(&node.id);
    }
    for (index, edge) in input.edges.iter().enumerate() {
        let find = |member: &str, name: &str| {
            let loc = ["edges", &index.to_string(), member];
            graph.find(name).ok_or_else(|| Failure::invalid(&loc, "is the id of no node"))
        };
        let (from, to) = (find("from", &edge.from)?, find("to", &edge.to)?);
        if from != to {
            graph.add(from, to, 1.0, false);
        }
    }
    let mut dependents = vec![Vec::new(); graph.len()];
    for (index, dependency) in input.dependencies.iter().enumerate() {
        let find = |member: &str, name: &str| {
            let loc = ["dependencies", &index.to_string(), member];
            graph.find(name).ok_or_else(|| Failure::invalid(&loc, "is the id of no node"))
        };
        let (dependent, on) = (find("dependent", &dependency.dependent)?, find("on", &dependency.on)?);
        if let Some(list) = dependents.get_mut(on) {
            list.push(dependent);
        }
    }
    let mut part = vec![0; graph.len()];
    for (number, nodes) in parts(&graph, None).into_iter().enumerate() {
        nodes.into_iter().for_each(|node| set(&mut part, node, number));
    }
    Ok(Cascade {
        load: input.nodes.iter().map(|node| node.load).collect(),
        capacity: input.nodes.iter().map(|node| node.capacity).collect(),
        failed: vec![false; graph.len()],
        log: Vec::new(),
        graph,
        dependents,
        part,
    })
}
