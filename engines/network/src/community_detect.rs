//! q52: network communities.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_choice::{Graph, at, set};

use crate::bounds::{at_most, edge_problem};

const MAX_EDGES: usize = 10_000;
const MAX_NODES: usize = 2_000;
/// A gain below this is rounding.
const LEAST_GAIN: f64 = 1e-12;

/// An edge.
#[derive(Input)]
pub struct Edge {
    from: String,
    to: String,
    weight: Option<f64>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    edges: Vec<Edge>,
    resolution: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    communities: Vec<Vec<String>>,
    modularity: f64,
}

/// Weights as shares of the whole: those of node pairs and, twice, of nodes.
struct Weights {
    /// Share between two nodes, in both directions.
    between: Vec<BTreeMap<usize, f64>>,
    /// Share of a node's edges to itself.
    within: Vec<f64>,
    /// Share of the ends of edges at a node.
    degree: Vec<f64>,
}

/// Joins communities greedily (Clauset, Newman and Moore 2004), then moves single nodes once, each to the neighbouring
/// community with the largest gain. Ties go to the nodes mentioned first.
///
/// # Errors
/// A negative weight, no edge with a weight, too large a graph.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    at_most(input.edges.len(), MAX_EDGES, "edges")?;
    let mut graph = Graph::new();
    for (index, edge) in input.edges.iter().enumerate() {
        if edge.weight.is_some_and(|weight| weight < 0.0) {
            return Err(edge_problem(index, "weight", "must not be negative"));
        }
        graph.node(&edge.from);
        graph.node(&edge.to);
    }
    at_most(graph.len(), MAX_NODES, "nodes")?;
    let total: f64 = input.edges.iter().map(|edge| edge.weight.unwrap_or(1.0)).sum();
    if total <= 0.0 {
        return Err(Failure::invalid(&["edges"], "has no edge with a weight above 0"));
    }
    let weights = weights(&input.edges, &graph, total);
    let mut member_of = join(&weights, input.resolution);
    move_nodes(&weights, &mut member_of, input.resolution);
    let modularity = modularity(&weights, &member_of, input.resolution);
    let mut communities: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, community) in member_of.iter().enumerate() {
        communities.entry(*community).or_default().push(node);
    }
    let mut communities: Vec<Vec<usize>> = communities.into_values().collect();
    communities.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    Ok(Output { communities: communities.into_iter().map(|nodes| graph.names(nodes)).collect(), modularity })
}

fn weights(edges: &[Edge], graph: &Graph, total: f64) -> Weights {
    let count = graph.len();
    let mut weights =
        Weights { between: vec![BTreeMap::new(); count], within: vec![0.0; count], degree: vec![0.0; count] };
    for edge in edges {
        let share = edge.weight.unwrap_or(1.0) / total;
        let (Some(from), Some(to)) = (graph.find(&edge.from), graph.find(&edge.to)) else { continue };
        for (node, other) in [(from, to), (to, from)] {
            if let Some(degree) = weights.degree.get_mut(node) {
                *degree += share / 2.0;
            }
            if from != to
                && let Some(row) = weights.between.get_mut(node)
            {
                *row.entry(other).or_default() += share;
            }
        }
        if from == to
            && let Some(within) = weights.within.get_mut(from)
        {
            *within += share;
        }
    }
    weights
}

/// Joins the two communities with the largest gain until there is none, and returns the community of each node: the
/// number of its first node.
fn join(weights: &Weights, resolution: f64) -> Vec<usize> {
    let mut rows = weights.between.clone();
    let mut degree = weights.degree.clone();
    let mut member_of: Vec<usize> = (0..rows.len()).collect();
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for (one, row) in rows.iter().enumerate() {
            for (&other, share) in row.range(one + 1..) {
                let gain = share - 2.0 * resolution * at(&degree, one) * at(&degree, other);
                if best.is_none_or(|(most, ..)| gain > most) {
                    best = Some((gain, one, other));
                }
            }
        }
        let Some((_, kept, joined)) = best.filter(|(gain, ..)| *gain > LEAST_GAIN) else { return member_of };
        let moved = rows.get_mut(joined).map(std::mem::take).unwrap_or_default();
        for (other, share) in moved {
            if let Some(row) = rows.get_mut(other) {
                row.remove(&joined);
                if other != kept {
                    *row.entry(kept).or_default() += share;
                }
            }
            if other != kept
                && let Some(row) = rows.get_mut(kept)
            {
                *row.entry(other).or_default() += share;
            }
        }
        let sum = at(&degree, kept) + at(&degree, joined);
        set(&mut degree, kept, sum);
        member_of.iter_mut().filter(|community| **community == joined).for_each(|community| *community = kept);
    }
}

fn move_nodes(weights: &Weights, member_of: &mut [usize], resolution: f64) {
    let mut degree = vec![0.0; member_of.len()];
    for (node, community) in member_of.iter().enumerate() {
        let sum = at(&degree, *community) + at(&weights.degree, node);
        set(&mut degree, *community, sum);
    }
    for (node, row) in weights.between.iter().enumerate() {
        let home = at(member_of, node);
        let own = at(&weights.degree, node);
        let mut links: BTreeMap<usize, f64> = BTreeMap::new();
        for (other, share) in row {
            *links.entry(at(member_of, *other)).or_default() += share;
        }
        let value = |community: usize| {
            let others = at(&degree, community) - if community == home { own } else { 0.0 };
            links.get(&community).copied().unwrap_or(0.0) - 2.0 * resolution * own * others
        };
        let mut best = (value(home), home);
        for &community in links.keys() {
            let value = value(community);
            if value > best.0 + LEAST_GAIN {
                best = (value, community);
            }
        }
        if best.1 != home {
            let (left, joined) = (at(&degree, home) - own, at(&degree, best.1) + own);
            set(&mut degree, home, left);
            set(&mut degree, best.1, joined);
            set(member_of, node, best.1);
        }
    }
}

fn modularity(weights: &Weights, member_of: &[usize], resolution: f64) -> f64 {
    let mut degree = vec![0.0; member_of.len()];
    let mut within = 0.0;
    for (node, community) in member_of.iter().enumerate() {
        let sum = at(&degree, *community) + at(&weights.degree, node);
        set(&mut degree, *community, sum);
        within += at(&weights.within, node);
        let row = weights.between.get(node).into_iter().flatten();
        // Each pair is met twice.
        within +=
            row.filter(|(other, _)| at(member_of, **other) == *community).map(|(_, share)| share / 2.0).sum::<f64>();
    }
    within - resolution * degree.iter().map(|degree| degree * degree).sum::<f64>()
}
