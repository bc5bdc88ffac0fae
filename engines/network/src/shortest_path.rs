//! q47: shortest and alternative paths.

use std::collections::BTreeSet;

use muster_engine::prelude::*;
use muster_kernel_choice::{Graph, at, shortest_paths, simple_paths};

use crate::bounds::{at_most, edge_problem, unknown_node};

const MAX_EDGES: usize = 20_000;
/// Each alternative costs a search from each node of the one before.
const MAX_EDGES_ALTERNATIVES: usize = 3_000;

/// An edge, which may be passed both ways unless it is `oneway`.
#[derive(Input)]
pub struct Edge {
    from: String,
    to: String,
    cost: f64,
    id: Option<String>,
    oneway: Option<bool>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    edges: Vec<Edge>,
    source: String,
    target: Option<String>,
    closed: Vec<String>,
    k: usize,
    reach: Option<f64>,
}

/// A path to the target.
#[derive(Output)]
pub struct PathFound {
    nodes: Vec<String>,
    cost: f64,
}

/// A node within reach.
#[derive(Output)]
pub struct Reached {
    node: String,
    cost: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    paths: Vec<PathFound>,
    reachable: Vec<Reached>,
    unreachable: Vec<String>,
}

/// Finds the cheapest paths, and what is reached within a cost: all nodes if neither a target nor `reach` is given.
///
/// # Errors
/// A negative cost, an unknown node, too many edges.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let alternatives = input.target.is_some() && input.k > 1;
    at_most(input.edges.len(), if alternatives { MAX_EDGES_ALTERNATIVES } else { MAX_EDGES }, "edges")?;
    let mut graph = Graph::new();
    for (index, edge) in input.edges.iter().enumerate() {
        if edge.cost < 0.0 {
            return Err(edge_problem(index, "cost", "must not be negative"));
        }
        let (from, to) = (graph.node(&edge.from), graph.node(&edge.to));
        graph.add(from, to, edge.cost, edge.oneway.unwrap_or(false));
    }
    let source = graph.find(&input.source).ok_or_else(|| unknown_node("source", &input.source))?;
    let closed = closed(&input, cx);
    let tree = shortest_paths(&graph, source, |edge, _| !closed.contains(&edge));
    let paths = match &input.target {
        None => Vec::new(),
        Some(name) => {
            let target = graph.find(name).ok_or_else(|| unknown_node("target", name))?;
            simple_paths(&graph, source, target, input.k, &closed)
        }
    };
    let mut reached: Vec<usize> = match (input.reach, &input.target) {
        (Some(reach), _) => (0..graph.len()).filter(|node| at(&tree.cost, *node) <= reach).collect(),
        (None, None) => (0..graph.len()).filter(|node| at(&tree.cost, *node).is_finite()).collect(),
        (None, Some(_)) => Vec::new(),
    };
    reached.sort_by(|one, other| at(&tree.cost, *one).total_cmp(&at(&tree.cost, *other)));
    let cut_off = (0..graph.len()).filter(|node| at(&tree.cost, *node).is_infinite());
    Ok(Output {
        paths: paths.into_iter().map(|path| PathFound { nodes: graph.names(path.nodes), cost: path.cost }).collect(),
        reachable: reached
            .iter()
            .map(|node| Reached { node: graph.name(*node).to_owned(), cost: at(&tree.cost, *node) })
            .collect(),
        unreachable: graph.names(cut_off),
    })
}

/// Returns the numbers of the closed edges: those with an id in `closed`, and those without one that are named `from-to`
/// there, or `to-from` if they may be passed both ways.
fn closed(input: &Input, cx: &Context) -> BTreeSet<usize> {
    let mut edges = BTreeSet::new();
    for name in &input.closed {
        let found = input.edges.iter().enumerate().filter(|(_, edge)| match &edge.id {
            Some(id) => id == name,
            None => {
                let both = !edge.oneway.unwrap_or(false);
                *name == format!("{}-{}", edge.from, edge.to) || both && *name == format!("{}-{}", edge.to, edge.from)
            }
        });
        let before = edges.len();
        edges.extend(found.map(|(index, _)| index));
        if edges.len() == before {
            cx.warn(format!("unknown: closed has {name}, which is the id of no further edge"));
        }
    }
    edges
}
