//! q49: connectivity and single points of failure.

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;
use muster_kernel_choice::{Graph, at, set};

use crate::bounds::{at_most, unknown_node};
use crate::lowlink::{parts, weak_points};

const MAX_EDGES: usize = 50_000;
const MAX_CRITICAL: usize = 100;

/// An edge.
#[derive(Input)]
pub struct Edge {
    from: String,
    to: String,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    edges: Vec<Edge>,
    directed: bool,
    critical: Vec<String>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    components: Vec<Vec<String>>,
    bridges: Vec<[String; 2]>,
    articulation_points: Vec<String>,
    strong_components: Vec<Vec<String>>,
    core_numbers: BTreeMap<String, usize>,
    isolated_if_lost: BTreeMap<String, Vec<String>>,
}

/// Finds the parts of a network and what they depend on. Components, bridges and cut vertices disregard directions.
///
/// # Errors
/// An unknown critical node, too many edges.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    at_most(input.edges.len(), MAX_EDGES, "edges")?;
    at_most(input.critical.len(), MAX_CRITICAL, "critical nodes")?;
    let (mut graph, mut directed) = (Graph::new(), Graph::new());
    let mut distinct = BTreeSet::new();
    for edge in &input.edges {
        let (from, to) = (graph.node(&edge.from), graph.node(&edge.to));
        graph.add(from, to, 1.0, false);
        let (from, to) = (directed.node(&edge.from), directed.node(&edge.to));
        let ends = if input.directed { (from, to) } else { (from.min(to), from.max(to)) };
        if from != to && distinct.insert(ends) {
            directed.add(from, to, 1.0, input.directed);
        }
    }
    let components = parts(&graph, None);
    let weak = weak_points(&graph);
    let strong = if input.directed { strong_components(&directed) } else { components.clone() };
    let isolated = input.critical.iter().map(|name| {
        let node = graph.find(name).ok_or_else(|| unknown_node("critical", name))?;
        Ok((name.clone(), graph.names(isolated_without(&graph, &components, node))))
    });
    let bridge = |edge: usize| input.edges.get(edge).map(|edge| [edge.from.clone(), edge.to.clone()]);
    Ok(Output {
        isolated_if_lost: isolated.collect::<Result<_, Failure>>()?,
        bridges: weak.bridges.iter().filter_map(|edge| bridge(*edge)).collect(),
        articulation_points: graph.names(weak.nodes),
        strong_components: strong.into_iter().map(|part| graph.names(part)).collect(),
        core_numbers: (0..)
            .zip(core_numbers(&directed, &distinct))
            .map(|(node, core)| (graph.name(node).to_owned(), core))
            .collect(),
        components: components.into_iter().map(|part| graph.names(part)).collect(),
    })
}

/// Returns the nodes that are cut off from the largest rest of a node's component when it is lost. Of equally large
/// rests the one with the node mentioned first counts as the remaining network.
fn isolated_without(graph: &Graph, components: &[Vec<usize>], node: usize) -> Vec<usize> {
    let Some(component) = components.iter().find(|component| component.binary_search(&node).is_ok()) else {
        return Vec::new();
    };
    let rests: Vec<_> = parts(graph, Some(node))
        .into_iter()
        .filter(|part| part.first().is_some_and(|first| component.binary_search(first).is_ok()))
        .collect();
    let largest = rests.iter().map(Vec::len).max().unwrap_or(0);
    let kept = rests.iter().position(|part| part.len() == largest);
    let lost = rests.iter().enumerate().filter(|(index, _)| Some(*index) != kept);
    let mut lost: Vec<usize> = lost.flat_map(|(_, part)| part.iter().copied()).collect();
    lost.sort_unstable();
    lost
}

/// Strong components by Kosaraju's two searches, each ascending, by their smallest nodes.
fn strong_components(graph: &Graph) -> Vec<Vec<usize>> {
    let count = graph.len();
    let mut seen = vec![false; count];
    let mut finished = Vec::with_capacity(count);
    for root in 0..count {
        if at(&seen, root) {
            continue;
        }
        set(&mut seen, root, true);
        let mut stack = vec![(root, 0_usize)];
        while let Some((node, looked)) = stack.last_mut() {
            let node = *node;
            if let Some(arc) = graph.out(node).get(*looked) {
                *looked += 1;
                if !at(&seen, arc.to) {
                    set(&mut seen, arc.to, true);
                    stack.push((arc.to, 0));
                }
            } else {
                finished.push(node);
                stack.pop();
            }
        }
    }
    let backwards = graph.reversed();
    let mut taken = vec![false; count];
    let mut found: Vec<Vec<usize>> = Vec::new();
    for root in finished.into_iter().rev() {
        if at(&taken, root) {
            continue;
        }
        set(&mut taken, root, true);
        let (mut part, mut stack) = (Vec::new(), vec![root]);
        while let Some(node) = stack.pop() {
            part.push(node);
            for arc in backwards.out(node) {
                if !at(&taken, arc.to) {
                    set(&mut taken, arc.to, true);
                    stack.push(arc.to);
                }
            }
        }
        part.sort_unstable();
        found.push(part);
    }
    found.sort();
    found
}

/// Core numbers (Batagelj and Zaversnik 2003) of the graph of distinct edges, loops left out.
fn core_numbers(graph: &Graph, edges: &BTreeSet<(usize, usize)>) -> Vec<usize> {
    let count = graph.len();
    let mut neighbours = vec![Vec::new(); count];
    for (one, other) in edges {
        for (from, to) in [(*one, *other), (*other, *one)] {
            if let Some(list) = neighbours.get_mut(from) {
                list.push(to);
            }
        }
    }
    let mut degree: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let mut queue: BTreeSet<(usize, usize)> = degree.iter().copied().zip(0..).collect();
    let mut core = vec![0; count];
    let mut reached = 0;
    while let Some((remaining, node)) = queue.pop_first() {
        reached = reached.max(remaining);
        set(&mut core, node, reached);
        for &other in neighbours.get(node).into_iter().flatten() {
            let old = at(&degree, other);
            if queue.remove(&(old, other)) {
                set(&mut degree, other, old.saturating_sub(1));
                queue.insert((old.saturating_sub(1), other));
            }
        }
    }
    core
}
