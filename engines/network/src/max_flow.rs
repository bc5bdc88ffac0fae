//! q51: maximum flow and bottleneck.

use muster_engine::prelude::*;
use muster_kernel_choice::{FlowNetwork, Graph, at};

use crate::bounds::{at_most, edge_problem, unknown_node};

const MAX_EDGES: usize = 10_000;

/// A directed edge.
#[derive(Input)]
pub struct Edge {
    from: String,
    to: String,
    capacity: f64,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    edges: Vec<Edge>,
    sources: Vec<String>,
    sinks: Vec<String>,
}

/// Flow through an edge.
#[derive(Output)]
pub struct Flow {
    from: String,
    to: String,
    flow: f64,
}

/// An edge of the cut.
#[derive(Output)]
pub struct Cut {
    from: String,
    to: String,
    capacity: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    value: f64,
    flows: Vec<Flow>,
    min_cut: Vec<Cut>,
}

/// Finds a maximum flow and the minimum cut nearest to the sources. Flows are in the order of the edges.
///
/// # Errors
/// A negative capacity, an unknown node, a node that is both source and sink, too many edges.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    at_most(input.edges.len(), MAX_EDGES, "edges")?;
    let mut graph = Graph::new();
    for (index, edge) in input.edges.iter().enumerate() {
        if edge.capacity < 0.0 {
            return Err(edge_problem(index, "capacity", "must not be negative"));
        }
        graph.node(&edge.from);
        graph.node(&edge.to);
    }
    let find = |field: &str, names: &[String]| {
        if names.is_empty() {
            return Err(Failure::invalid(&[field], "is empty: name at least one node"));
        }
        let found = names.iter().map(|name| graph.find(name).ok_or_else(|| unknown_node(field, name)));
        let mut found = found.collect::<Result<Vec<usize>, Failure>>()?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    };
    let (sources, sinks) = (find("sources", &input.sources)?, find("sinks", &input.sinks)?);
    if let Some(both) = sources.iter().find(|node| sinks.contains(node)) {
        return Err(Failure::invalid(&["sinks"], format!("has {}, which is a source too", graph.name(*both))));
    }
    let (source, sink) = (graph.len(), graph.len() + 1);
    let mut network = FlowNetwork::new(graph.len() + 2);
    let number = |name: &str| graph.find(name).unwrap_or_default();
    let arcs: Vec<usize> =
        input.edges.iter().map(|edge| network.add(number(&edge.from), number(&edge.to), edge.capacity, 0.0)).collect();
    for node in sources {
        network.add(source, node, f64::INFINITY, 0.0);
    }
    for node in sinks {
        network.add(node, sink, f64::INFINITY, 0.0);
    }
    let value = network.maximum(source, sink);
    let reached = network.reached(source);
    let cut = input
        .edges
        .iter()
        .filter(|edge| edge.capacity > 0.0 && at(&reached, number(&edge.from)) && !at(&reached, number(&edge.to)));
    Ok(Output {
        value,
        flows: input
            .edges
            .iter()
            .zip(arcs)
            .map(|(edge, arc)| Flow { from: edge.from.clone(), to: edge.to.clone(), flow: network.flow(arc) })
            .collect(),
        min_cut: cut
            .map(|edge| Cut { from: edge.from.clone(), to: edge.to.clone(), capacity: edge.capacity })
            .collect(),
    })
}
