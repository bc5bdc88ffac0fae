//! q50: minimum backbone.

use muster_engine::prelude::*;
use muster_kernel_choice::{Graph, at};
use petgraph::unionfind::UnionFind;

use crate::bounds::at_most;

const MAX_EDGES: usize = 100_000;

/// A possible link.
#[derive(Input)]
pub struct Edge {
    from: String,
    to: String,
    cost: f64,
    existing: Option<bool>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    edges: Vec<Edge>,
}

/// A link of the backbone, with what it costs to add.
#[derive(Output)]
pub struct Chosen {
    from: String,
    to: String,
    cost: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    edges: Vec<Chosen>,
    total_cost: f64,
    components: usize,
}

/// Finds the cheapest forest (Kruskal 1956). Existing links cost nothing; of equal ones the first in the input is taken.
///
/// # Errors
/// Too many edges.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    at_most(input.edges.len(), MAX_EDGES, "edges")?;
    let mut graph = Graph::new();
    let ends: Vec<_> = input.edges.iter().map(|edge| (graph.node(&edge.from), graph.node(&edge.to))).collect();
    let cost = |edge: &Edge| if edge.existing.unwrap_or(false) { 0.0 } else { edge.cost };
    let mut order: Vec<(usize, &Edge)> = input.edges.iter().enumerate().collect();
    order.sort_by(|(_, one), (_, other)| cost(one).total_cmp(&cost(other)));
    let mut sets = UnionFind::<usize>::new(graph.len());
    let mut edges = Vec::new();
    for (index, edge) in order {
        let (from, to) = at(&ends, index);
        if sets.union(from, to) {
            edges.push(Chosen { from: edge.from.clone(), to: edge.to.clone(), cost: cost(edge) });
        }
    }
    Ok(Output { total_cost: edges.iter().map(|edge| edge.cost).sum(), components: graph.len() - edges.len(), edges })
}
