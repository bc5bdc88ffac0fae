//! q48: node importance.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_choice::{Graph, at, betweenness, shortest_paths};

use crate::bounds::{at_most, edge_problem};

const MAX_EDGES: usize = 20_000;
/// Nodes times edges, which is what shortest paths from all nodes cost.
const MAX_STEPS: usize = 20_000_000;
const DAMPING: f64 = 0.85;
const TOLERANCE: f64 = 1e-12;
const MAX_ITERATIONS: usize = 5_000;
const TOP: usize = 10;

/// A measure of importance.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Share of the other nodes that it is linked with.
    Degree,
    /// Share of shortest paths that pass it.
    Betweenness,
    /// Inverse of the mean distance.
    Closeness,
    /// Importance of the neighbours.
    Eigenvector,
    /// Share of time of a random surfer.
    Pagerank,
}

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
    directed: bool,
    measures: Vec<Measure>,
}

/// The scores of a node.
#[derive(Output)]
pub struct Node {
    id: String,
    scores: BTreeMap<&'static str, f64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    nodes: Vec<Node>,
    top: Vec<String>,
}

/// Scores every node. A weight is a length for betweenness and closeness, and a strength for eigenvector and PageRank.
///
/// # Errors
/// A weight that is not positive, no measure, too large a graph.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let graph = build(&input, cx)?;
    let Some(first) = input.measures.first() else {
        return Err(Failure::invalid(&["measures"], "is empty: name at least one measure"));
    };
    let paths = input.measures.iter().any(|measure| matches!(measure, Measure::Betweenness | Measure::Closeness));
    if paths && graph.len().saturating_mul(graph.edge_count()) > MAX_STEPS {
        let message = format!("betweenness and closeness take nodes times edges up to {MAX_STEPS}");
        return Err(Failure::too_large(message));
    }
    let backwards = graph.reversed();
    let mut columns = BTreeMap::new();
    for measure in &input.measures {
        let scores = match measure {
            Measure::Degree => Some(degree(&graph, &backwards, input.directed)),
            Measure::Betweenness => Some(scaled_betweenness(&graph)),
            Measure::Closeness => Some(closeness(&backwards)),
            Measure::Eigenvector => eigenvector(&graph),
            Measure::Pagerank => pagerank(&graph),
        };
        match scores {
            Some(scores) => drop(columns.insert(*measure, scores)),
            None => cx.warn(format!(
                "not_converged: {} has no limit within {MAX_ITERATIONS} iterations and is left out",
                measure.word()
            )),
        }
    }
    let ranking = columns.get(first).or_else(|| columns.values().next());
    let mut order: Vec<usize> = (0..graph.len()).collect();
    if let Some(scores) = ranking {
        order.sort_by(|one, other| at(scores, *other).total_cmp(&at(scores, *one)));
    }
    let nodes = (0..graph.len()).map(|node| Node {
        id: graph.name(node).to_owned(),
        scores: columns.iter().map(|(measure, scores)| (measure.word(), at(scores, node))).collect(),
    });
    Ok(Output { nodes: nodes.collect(), top: graph.names(order.into_iter().take(TOP)) })
}

/// Builds the graph. Of edges with the same ends the last one counts; loops do not.
fn build(input: &Input, cx: &Context) -> Result<Graph, Failure> {
    at_most(input.edges.len(), MAX_EDGES, "edges")?;
    let mut graph = Graph::new();
    let mut weights: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let (mut loops, mut repeated) = (0, 0);
    for (index, edge) in input.edges.iter().enumerate() {
        let weight = edge.weight.unwrap_or(1.0);
        if weight <= 0.0 {
            return Err(edge_problem(index, "weight", "must be positive"));
        }
        let (from, to) = (graph.node(&edge.from), graph.node(&edge.to));
        let ends = if input.directed { (from, to) } else { (from.min(to), from.max(to)) };
        if from == to {
            loops += 1;
        } else if weights.insert(ends, weight).is_some() {
            repeated += 1;
        }
    }
    for ((from, to), weight) in weights {
        graph.add(from, to, weight, input.directed);
    }
    if loops > 0 {
        cx.warn(format!("dropped: {loops} edges lead from a node to itself and do not count"));
    }
    if repeated > 0 {
        cx.warn(format!("merged: {repeated} edges have the ends of another one; the last of them counts"));
    }
    Ok(graph)
}

fn degree(graph: &Graph, backwards: &Graph, directed: bool) -> Vec<f64> {
    let others = (graph.len() as f64 - 1.0).max(1.0);
    let incoming = |node| if directed { backwards.out(node).len() } else { 0 };
    (0..graph.len()).map(|node| (graph.out(node).len() + incoming(node)) as f64 / others).collect()
}

fn scaled_betweenness(graph: &Graph) -> Vec<f64> {
    let count = graph.len() as f64;
    let pairs = (count - 1.0) * (count - 2.0);
    betweenness(graph).into_iter().map(|value| if pairs > 0.0 { value / pairs } else { 0.0 }).collect()
}

/// Closeness to the nodes from which one is reached, times their share (Wasserman and Faust 1994, p. 201).
fn closeness(backwards: &Graph) -> Vec<f64> {
    let others = backwards.len() as f64 - 1.0;
    let score = |node| {
        let tree = shortest_paths(backwards, node, |_, _| true);
        let reached = tree.cost.iter().filter(|cost| cost.is_finite()).count() as f64 - 1.0;
        let total: f64 = tree.cost.iter().filter(|cost| cost.is_finite()).sum();
        if total > 0.0 && others > 0.0 { reached / total * (reached / others) } else { 0.0 }
    };
    (0..backwards.len()).map(score).collect()
}

/// Principal left eigenvector by power iteration on A + I, which converges for bipartite graphs too.
fn eigenvector(graph: &Graph) -> Option<Vec<f64>> {
    let count = graph.len();
    let mut scores = vec![1.0 / count as f64; count];
    for _ in 0..MAX_ITERATIONS {
        let mut next = scores.clone();
        for node in 0..count {
            for arc in graph.out(node) {
                if let Some(score) = next.get_mut(arc.to) {
                    *score += at(&scores, node) * arc.weight;
                }
            }
        }
        let norm = next.iter().map(|score| score * score).sum::<f64>().sqrt();
        next.iter_mut().for_each(|score| *score /= norm);
        let change: f64 = next.iter().zip(&scores).map(|(new, old)| (new - old).abs()).sum();
        scores = next;
        if change < count as f64 * TOLERANCE {
            return Some(scores);
        }
    }
    (count == 0).then_some(scores)
}

fn pagerank(graph: &Graph) -> Option<Vec<f64>> {
    let count = graph.len();
    let strength: Vec<f64> = (0..count).map(|node| graph.out(node).iter().map(|arc| arc.weight).sum()).collect();
    let even = 1.0 / count as f64;
    let mut scores = vec![even; count];
    for _ in 0..MAX_ITERATIONS {
        let stuck: f64 = scores.iter().zip(&strength).filter(|(_, out)| **out == 0.0).map(|(score, _)| score).sum();
        let mut next = vec![(DAMPING * stuck + 1.0 - DAMPING) * even; count];
        for node in 0..count {
            for arc in graph.out(node) {
                if let Some(score) = next.get_mut(arc.to) {
                    *score += DAMPING * at(&scores, node) * arc.weight / at(&strength, node);
                }
            }
        }
        let change: f64 = next.iter().zip(&scores).map(|(new, old)| (new - old).abs()).sum();
        scores = next;
        if change < count as f64 * TOLERANCE {
            return Some(scores);
        }
    }
    (count == 0).then_some(scores)
}
