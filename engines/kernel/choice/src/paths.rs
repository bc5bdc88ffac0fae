//! Shortest paths (Dijkstra 1959) and alternative ones (Yen 1971).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::{Cost, Graph, at, set};

/// Shortest paths from one node to all.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Cost to each node; infinite where it is not reached.
    pub cost: Vec<f64>,
    previous: Vec<Option<usize>>,
}

impl Tree {
    /// Returns the nodes on the way to a node, both ends included; `None` if it is not reached.
    pub fn path(&self, to: usize) -> Option<Vec<usize>> {
        if !self.cost.get(to)?.is_finite() {
            return None;
        }
        let mut nodes = vec![to];
        let mut node = to;
        while let Some(previous) = at(&self.previous, node) {
            nodes.push(previous);
            node = previous;
        }
        nodes.reverse();
        Some(nodes)
    }
}

/// Returns the cheapest ways from a node. Weights must not be negative; an edge for which `open` is false is not used.
/// Of equally cheap ways the one found first is kept.
pub fn shortest_paths(graph: &Graph, source: usize, open: impl Fn(usize, usize) -> bool) -> Tree {
    let mut tree = Tree { cost: vec![f64::INFINITY; graph.len()], previous: vec![None; graph.len()] };
    set(&mut tree.cost, source, 0.0);
    let mut queue = BinaryHeap::from([Reverse((Cost(0.0), source))]);
    while let Some(Reverse((Cost(cost), node))) = queue.pop() {
        if cost > at(&tree.cost, node) {
            continue;
        }
        for arc in graph.out(node) {
            let next = cost + arc.weight;
            if next < at(&tree.cost, arc.to) && open(arc.edge, arc.to) {
                set(&mut tree.cost, arc.to, next);
                set(&mut tree.previous, arc.to, Some(node));
                queue.push(Reverse((Cost(next), arc.to)));
            }
        }
    }
    tree
}

/// A path without a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Nodes, both ends included.
    pub nodes: Vec<usize>,
    /// Sum of the weights.
    pub cost: f64,
}

/// Returns up to `count` cheapest loopless paths, cheapest first. Parallel edges are one path, of the cheapest of them.
pub fn simple_paths(graph: &Graph, source: usize, target: usize, count: usize, closed: &BTreeSet<usize>) -> Vec<Path> {
    let open = |edge: usize| !closed.contains(&edge);
    let first = shortest_paths(graph, source, |edge, _| open(edge));
    let Some(nodes) = first.path(target) else { return Vec::new() };
    let mut found = vec![Path { nodes, cost: at(&first.cost, target) }];
    // Candidates by cost, then by their nodes: the order does not depend on how they were found.
    let mut candidates: BTreeSet<(Cost, Vec<usize>)> = BTreeSet::new();
    while found.len() < count {
        let Some(last) = found.last() else { break };
        for spur in 0..last.nodes.len().saturating_sub(1) {
            let root = last.nodes.get(..=spur).unwrap_or_default();
            let Some(&node) = root.last() else { continue };
            let taken: BTreeSet<usize> = found
                .iter()
                .filter(|path| path.nodes.get(..=spur) == Some(root))
                .filter_map(|path| path.nodes.get(spur + 1).copied())
                .collect();
            let passed: BTreeSet<usize> = root.iter().copied().collect();
            let root_cost = cost_of(graph, root, &open);
            let mut forbidden = BTreeSet::new();
            for arc in graph.out(node) {
                if taken.contains(&arc.to) {
                    forbidden.insert((arc.edge, arc.to));
                }
            }
            let tree = shortest_paths(graph, node, |edge, to| {
                open(edge) && !passed.contains(&to) && !forbidden.contains(&(edge, to))
            });
            if let Some(rest) = tree.path(target) {
                let nodes = root.iter().copied().chain(rest.into_iter().skip(1)).collect();
                candidates.insert((Cost(root_cost + at(&tree.cost, target)), nodes));
            }
        }
        let Some((Cost(cost), nodes)) = candidates.pop_first() else { break };
        if found.iter().all(|path| path.nodes != nodes) {
            found.push(Path { nodes, cost });
        }
    }
    found
}

fn cost_of(graph: &Graph, nodes: &[usize], open: &impl Fn(usize) -> bool) -> f64 {
    let steps = nodes.iter().zip(nodes.iter().skip(1));
    steps
        .map(|(from, to)| {
            let arcs = graph.out(*from).iter().filter(|arc| arc.to == *to && open(arc.edge));
            arcs.map(|arc| arc.weight).fold(f64::INFINITY, f64::min)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All loopless paths, by trying each.
    fn every_path(graph: &Graph, path: &mut Vec<usize>, cost: f64, target: usize, found: &mut Vec<(f64, Vec<usize>)>) {
        let node = *path.last().unwrap();
        if node == target {
            found.push((cost, path.clone()));
            return;
        }
        let targets: BTreeSet<usize> = graph.out(node).iter().map(|arc| arc.to).collect();
        for to in targets.into_iter().filter(|to| !path.contains(to)).collect::<Vec<_>>() {
            let arcs = graph.out(node).iter().filter(|arc| arc.to == to);
            let weight = arcs.map(|arc| arc.weight).fold(f64::INFINITY, f64::min);
            path.push(to);
            every_path(graph, path, cost + weight, target, found);
            path.pop();
        }
    }

    proptest! {
        #[test]
        fn alternatives_are_the_cheapest_of_all_loopless_paths(
            edges in prop::collection::vec((0_usize..7, 0_usize..7, 1_u8..20, any::<bool>()), 1..18), count in 1_usize..12,
        ) {
            let mut graph = Graph::new();
            for node in 0..7 {
                graph.node(&node.to_string());
            }
            for (from, to, weight, oneway) in edges {
                graph.add(from, to, f64::from(weight), oneway);
            }
            let mut expected = Vec::new();
            every_path(&graph, &mut vec![0], 0.0, 6, &mut expected);
            expected.sort_by(|one, other| one.0.total_cmp(&other.0));
            let found = simple_paths(&graph, 0, 6, count, &BTreeSet::new());
            prop_assert_eq!(found.len(), count.min(expected.len()));
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert_eq!(found.cost, expected.0);
                prop_assert_eq!(*found.nodes.last().unwrap(), 6);
            }
            let distinct: BTreeSet<_> = found.iter().map(|path| path.nodes.clone()).collect();
            prop_assert_eq!(distinct.len(), found.len());
        }
    }
}
