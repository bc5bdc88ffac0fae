//! Bridges and cut vertices by low-links (Hopcroft and Tarjan 1973), without recursion, and the parts of a graph.

use muster_kernel_choice::{Graph, at, set};

/// What a graph falls apart without.
#[derive(Debug, Default)]
pub(crate) struct WeakPoints {
    /// Numbers of the edges that are bridges, ascending.
    pub(crate) bridges: Vec<usize>,
    /// Cut vertices, ascending.
    pub(crate) nodes: Vec<usize>,
}

/// Finds the weak points of an undirected graph. Of parallel edges none is a bridge.
pub(crate) fn weak_points(graph: &Graph) -> WeakPoints {
    let count = graph.len();
    let mut found = WeakPoints::default();
    let (mut entered, mut low) = (vec![0_usize; count], vec![0_usize; count]);
    let mut is_cut = vec![false; count];
    let mut clock = 0;
    for root in 0..count {
        if at(&entered, root) > 0 {
            continue;
        }
        let mut children = 0;
        // Node, edge by which it was entered, how many ways out were looked at.
        let mut stack: Vec<(usize, Option<usize>, usize)> = vec![(root, None, 0)];
        clock += 1;
        set(&mut entered, root, clock);
        set(&mut low, root, clock);
        while let Some((node, by, looked)) = stack.last_mut() {
            let (node, by) = (*node, *by);
            if let Some(arc) = graph.out(node).get(*looked) {
                *looked += 1;
                if Some(arc.edge) == by {
                    continue;
                }
                if at(&entered, arc.to) == 0 {
                    clock += 1;
                    set(&mut entered, arc.to, clock);
                    set(&mut low, arc.to, clock);
                    if node == root {
                        children += 1;
                    }
                    stack.push((arc.to, Some(arc.edge), 0));
                } else {
                    let lowest = at(&low, node).min(at(&entered, arc.to));
                    set(&mut low, node, lowest);
                }
                continue;
            }
            stack.pop();
            let Some((parent, ..)) = stack.last() else { break };
            let parent = *parent;
            let lowest = at(&low, parent).min(at(&low, node));
            set(&mut low, parent, lowest);
            if let Some(edge) = by.filter(|_| at(&low, node) > at(&entered, parent)) {
                found.bridges.push(edge);
            }
            if parent != root && at(&low, node) >= at(&entered, parent) {
                set(&mut is_cut, parent, true);
            }
        }
        if children > 1 {
            set(&mut is_cut, root, true);
        }
    }
    found.bridges.sort_unstable();
    found.nodes = (0..count).filter(|node| at(&is_cut, *node)).collect();
    found
}

/// Returns the parts of an undirected graph without a node, each in ascending order, by their smallest nodes.
pub(crate) fn parts(graph: &Graph, without: Option<usize>) -> Vec<Vec<usize>> {
    let mut seen = vec![false; graph.len()];
    let mut parts = Vec::new();
    for root in 0..graph.len() {
        if at(&seen, root) || Some(root) == without {
            continue;
        }
        set(&mut seen, root, true);
        let (mut part, mut stack) = (Vec::new(), vec![root]);
        while let Some(node) = stack.pop() {
            part.push(node);
            for arc in graph.out(node) {
                if !at(&seen, arc.to) && Some(arc.to) != without {
                    set(&mut seen, arc.to, true);
                    stack.push(arc.to);
                }
            }
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}
