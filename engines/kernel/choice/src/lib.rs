//! Algorithms of graphs and of optimisation, for engines of several families: shortest and alternative paths,
//! betweenness, maximum and cheapest flows, assignment.
//!
//! All are deterministic: nodes and edges have the order of their insertion, and ties are broken by it.

#![warn(missing_docs)]

mod assignment;
mod betweenness;
mod flow;
mod graph;
mod paths;

pub use assignment::{Assignment, assign};
pub use betweenness::betweenness;
pub use flow::FlowNetwork;
pub use graph::{Arc, Graph};
pub use paths::{Path, Tree, shortest_paths, simple_paths};

/// Returns a copy of an item, or the type's default past the end: what algorithms over their own indices use in place of
/// indexing, which could panic.
pub fn at<T: Copy + Default>(items: &[T], index: usize) -> T {
    items.get(index).copied().unwrap_or_default()
}

/// Replaces an item; does nothing past the end.
pub fn set<T>(items: &mut [T], index: usize, value: T) {
    if let Some(item) = items.get_mut(index) {
        *item = value;
    }
}

/// A finite or infinite number with a total order, for priority queues; not a number is the largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost(pub f64);

impl Eq for Cost {}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
