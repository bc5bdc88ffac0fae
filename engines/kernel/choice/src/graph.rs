//! Graphs whose nodes have names.

use std::collections::HashMap;

/// A way out of a node.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Arc {
    /// Node it leads to.
    pub to: usize,
    /// Edge it belongs to.
    pub edge: usize,
    /// Weight of the edge.
    pub weight: f64,
}

/// A graph. Nodes are numbered in the order of their first mention, edges in the order of their addition.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    out: Vec<Vec<Arc>>,
    edges: usize,
}

impl Graph {
    /// Creates an empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of a node, which is added if it is new.
    pub fn node(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        self.out.push(Vec::new());
        number
    }

    /// Adds an edge between two nodes of this graph and returns its number. One that is not `oneway` may be passed both
    /// ways.
    pub fn add(&mut self, from: usize, to: usize, weight: f64, oneway: bool) -> usize {
        let edge = self.edges;
        self.edges += 1;
        if let Some(out) = self.out.get_mut(from) {
            out.push(Arc { to, edge, weight });
        }
        if !oneway
            && from != to
            && let Some(out) = self.out.get_mut(to)
        {
            out.push(Arc { to: from, edge, weight });
        }
        edge
    }

    /// Returns the number of a node; `None` if there is none of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// Returns the name of a node.
    pub fn name(&self, node: usize) -> &str {
        self.names.get(node).map_or("", String::as_str)
    }

    /// Returns the names of nodes.
    pub fn names(&self, nodes: impl IntoIterator<Item = usize>) -> Vec<String> {
        nodes.into_iter().map(|node| self.name(node).to_owned()).collect()
    }

    /// Returns the ways out of a node.
    pub fn out(&self, node: usize) -> &[Arc] {
        self.out.get(node).map_or(&[], Vec::as_slice)
    }

    /// Returns how many nodes there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns how many edges were added.
    pub fn edge_count(&self) -> usize {
        self.edges
    }

    /// Returns the same nodes with all edges turned round.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let mut out = vec![Vec::new(); self.len()];
        for (from, arcs) in self.out.iter().enumerate() {
            for arc in arcs {
                if let Some(arcs) = out.get_mut(arc.to) {
                    arcs.push(Arc { to: from, ..*arc });
                }
            }
        }
        Self { out, ..self.clone() }
    }
}
