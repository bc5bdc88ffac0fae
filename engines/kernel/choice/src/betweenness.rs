//! Betweenness by Brandes' algorithm (J. Math. Sociology 25, 2001).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Cost, Graph, at, set};

/// Returns for each node the sum over ordered pairs of other nodes of the share of their shortest paths that pass it.
/// For an undirected graph each pair counts twice. Weights must be positive.
pub fn betweenness(graph: &Graph) -> Vec<f64> {
    let count = graph.len();
    let mut total = vec![0.0; count];
    for source in 0..count {
        let mut cost = vec![f64::INFINITY; count];
        let mut paths = vec![0.0_f64; count];
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut settled = vec![false; count];
        let mut order = Vec::new();
        set(&mut cost, source, 0.0);
        set(&mut paths, source, 1.0);
        let mut queue = BinaryHeap::from([Reverse((Cost(0.0), source))]);
        while let Some(Reverse((Cost(reached), node))) = queue.pop() {
            if at(&settled, node) {
                continue;
            }
            set(&mut settled, node, true);
            order.push(node);
            for arc in graph.out(node) {
                let next = reached + arc.weight;
                let known = at(&cost, arc.to);
                let Some(before) = before.get_mut(arc.to) else { continue };
                if next < known {
                    set(&mut cost, arc.to, next);
                    let ways = at(&paths, node);
                    set(&mut paths, arc.to, ways);
                    before.clear();
                    before.push(node);
                    queue.push(Reverse((Cost(next), arc.to)));
                } else if next == known && arc.to != node && !at(&settled, arc.to) {
                    let sum = at(&paths, arc.to) + at(&paths, node);
                    set(&mut paths, arc.to, sum);
                    before.push(node);
                }
            }
        }
        let mut share = vec![0.0; count];
        for node in order.into_iter().rev() {
            let weight = (1.0 + at(&share, node)) / at(&paths, node);
            for &previous in before.get(node).into_iter().flatten() {
                let sum = at(&share, previous) + at(&paths, previous) * weight;
                set(&mut share, previous, sum);
            }
            if node != source {
                let sum = at(&total, node) + at(&share, node);
                set(&mut total, node, sum);
            }
        }
    }
    total
}
