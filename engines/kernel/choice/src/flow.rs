//! Maximum flow (Dinic 1970) and cheapest flow (successive shortest paths with potentials; Ahuja, Magnanti and Orlin 1993,
//! section 9.7).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::{Cost, at, set};

/// A network of arcs with capacities and costs. Arc `2k` is the k-th added one, `2k + 1` its residual.
#[derive(Debug, Clone, Default)]
pub struct FlowNetwork {
    head: Vec<usize>,
    room: Vec<f64>,
    cost: Vec<f64>,
    out: Vec<Vec<usize>>,
}

impl FlowNetwork {
    /// Creates a network of this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { out: vec![Vec::new(); nodes], ..Self::default() }
    }

    /// Adds an arc and returns its number. The capacity may be infinite; neither number may be negative.
    pub fn add(&mut self, from: usize, to: usize, capacity: f64, cost: f64) -> usize {
        let arc = self.head.len();
        for (tail, head, room, cost) in [(from, to, capacity, cost), (to, from, 0.0, -cost)] {
            if let Some(out) = self.out.get_mut(tail) {
                out.push(self.head.len());
            }
            self.head.push(head);
            self.room.push(room);
            self.cost.push(cost);
        }
        arc
    }

    /// Returns the flow through an added arc.
    pub fn flow(&self, arc: usize) -> f64 {
        at(&self.room, arc ^ 1)
    }

    fn push(&mut self, arc: usize, amount: f64) {
        let (room, back) = (at(&self.room, arc), at(&self.room, arc ^ 1));
        // Equal numbers leave exactly nothing, so each blocking flow fills an arc.
        set(&mut self.room, arc, if room == amount { 0.0 } else { room - amount });
        set(&mut self.room, arc ^ 1, back + amount);
    }

    /// Sends as much as possible and returns how much; infinite if a way has no bound.
    pub fn maximum(&mut self, source: usize, sink: usize) -> f64 {
        let mut total = 0.0;
        if source == sink {
            return total;
        }
        loop {
            let level = self.levels(source);
            if at(&level, sink) == 0 {
                return total;
            }
            let mut next = vec![0_usize; self.out.len()];
            while let Some(path) = self.augmenting(source, sink, &level, &mut next) {
                let amount = path.iter().map(|arc| at(&self.room, *arc)).fold(f64::INFINITY, f64::min);
                if amount.is_infinite() {
                    return f64::INFINITY;
                }
                for arc in path {
                    self.push(arc, amount);
                }
                total += amount;
            }
        }
    }

    /// Numbers the nodes by their distance in arcs with room, from 1 at the source; 0 is not reached.
    fn levels(&self, source: usize) -> Vec<usize> {
        let mut level = vec![0; self.out.len()];
        set(&mut level, source, 1);
        let mut queue = VecDeque::from([source]);
        while let Some(node) = queue.pop_front() {
            for &arc in self.out.get(node).into_iter().flatten() {
                let to = at(&self.head, arc);
                if at(&self.room, arc) > 0.0 && at(&level, to) == 0 {
                    let next = at(&level, node) + 1;
                    set(&mut level, to, next);
                    queue.push_back(to);
                }
            }
        }
        level
    }

    /// Finds a way through ascending levels. `next` is how many arcs of each node have been given up.
    fn augmenting(&self, source: usize, sink: usize, level: &[usize], next: &mut [usize]) -> Option<Vec<usize>> {
        let mut path: Vec<usize> = Vec::new();
        let mut node = source;
        while node != sink {
            let arcs = self.out.get(node)?;
            if let Some(&arc) = arcs.get(at(next, node)) {
                let to = at(&self.head, arc);
                if at(&self.room, arc) > 0.0 && at(level, to) == at(level, node) + 1 {
                    path.push(arc);
                    node = to;
                } else {
                    let given_up = at(next, node) + 1;
                    set(next, node, given_up);
                }
            } else {
                // A dead end: the arc that led here is given up.
                let arc = path.pop()?;
                node = at(&self.head, arc ^ 1);
                let given_up = at(next, node) + 1;
                set(next, node, given_up);
            }
        }
        Some(path)
    }

    /// Returns which nodes can still be reached from the source: its side of a minimum cut, once the flow is maximal.
    pub fn reached(&self, source: usize) -> Vec<bool> {
        self.levels(source).into_iter().map(|level| level > 0).collect()
    }

    /// Sends up to `amount` as cheaply as possible; returns how much was sent and what it costs. The network must be
    /// without flow.
    pub fn cheapest(&mut self, source: usize, sink: usize, amount: f64) -> (f64, f64) {
        let nodes = self.out.len();
        let mut potential = vec![0.0_f64; nodes];
        let (mut sent, mut spent) = (0.0, 0.0);
        while sent < amount && source != sink {
            let mut distance = vec![f64::INFINITY; nodes];
            let mut through = vec![None; nodes];
            let mut settled = vec![false; nodes];
            set(&mut distance, source, 0.0);
            let mut queue = BinaryHeap::from([Reverse((Cost(0.0), source))]);
            while let Some(Reverse((_, node))) = queue.pop() {
                if at(&settled, node) {
                    continue;
                }
                set(&mut settled, node, true);
                for &arc in self.out.get(node).into_iter().flatten() {
                    let to = at(&self.head, arc);
                    if at(&self.room, arc) <= 0.0 || at(&settled, to) {
                        continue;
                    }
                    // Not below zero but for rounding.
                    let reduced = (at(&self.cost, arc) + at(&potential, node) - at(&potential, to)).max(0.0);
                    let next = at(&distance, node) + reduced;
                    if next < at(&distance, to) {
                        set(&mut distance, to, next);
                        set(&mut through, to, Some(arc));
                        queue.push(Reverse((Cost(next), to)));
                    }
                }
            }
            let to_sink = at(&distance, sink);
            if !to_sink.is_finite() {
                break;
            }
            for (potential, distance) in potential.iter_mut().zip(&distance) {
                *potential += distance.min(to_sink);
            }
            let mut path = Vec::new();
            let mut node = sink;
            while let Some(arc) = at(&through, node) {
                path.push(arc);
                node = at(&self.head, arc ^ 1);
            }
            let room = path.iter().map(|arc| at(&self.room, *arc)).fold(f64::INFINITY, f64::min).min(amount - sent);
            if !room.is_finite() || room <= 0.0 {
                break;
            }
            for arc in path {
                self.push(arc, room);
                spent += room * at(&self.cost, arc);
            }
            sent += room;
        }
        (sent, spent)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms (3rd ed.), figure 26.1: 23.
    #[test]
    fn the_network_of_clrs_carries_23() {
        let mut network = FlowNetwork::new(6);
        for (from, to, capacity) in [
            (0, 1, 16.0),
            (0, 2, 13.0),
            (1, 3, 12.0),
            (2, 1, 4.0),
            (2, 4, 14.0),
            (3, 2, 9.0),
            (3, 5, 20.0),
            (4, 3, 7.0),
            (4, 5, 4.0),
        ] {
            network.add(from, to, capacity, 0.0);
        }
        assert_eq!(network.maximum(0, 5), 23.0);
    }

    fn arcs() -> impl Strategy<Value = Vec<(usize, usize, u8, u8)>> {
        prop::collection::vec((0_usize..6, 0_usize..6, 0_u8..9, 0_u8..9), 1..20)
    }

    fn build(arcs: &[(usize, usize, u8, u8)]) -> FlowNetwork {
        let mut network = FlowNetwork::new(6);
        for (from, to, capacity, cost) in arcs {
            network.add(*from, *to, f64::from(*capacity), f64::from(*cost));
        }
        network
    }

    /// The smallest cut, by trying all of them.
    fn smallest_cut(arcs: &[(usize, usize, u8, u8)]) -> f64 {
        let sides = (0_u8..64).filter(|side| side & 1 == 1 && side & 32 == 0);
        sides
            .map(|side| {
                let cut = arcs.iter().filter(|(from, to, ..)| side >> from & 1 == 1 && side >> to & 1 == 0);
                cut.map(|(_, _, capacity, _)| f64::from(*capacity)).sum()
            })
            .fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn the_flow_is_the_smallest_cut_and_conserved(arcs in arcs()) {
            let mut network = build(&arcs);
            let value = network.maximum(0, 5);
            prop_assert_eq!(value, smallest_cut(&arcs));
            for node in 0..6 {
                let net: f64 = arcs.iter().enumerate().map(|(at, (from, to, ..))| {
                    let flow = network.flow(2 * at);
                    f64::from(u8::from(*from == node)) * flow - f64::from(u8::from(*to == node)) * flow
                }).sum();
                let expected = if node == 0 { value } else if node == 5 { -value } else { 0.0 };
                prop_assert_eq!(net, expected);
            }
        }

        /// A flow is cheapest exactly if its residual network has no cycle of negative cost.
        #[test]
        fn the_cheapest_flow_is_maximal_and_leaves_no_negative_cycle(arcs in arcs()) {
            let mut network = build(&arcs);
            let (sent, cost) = network.cheapest(0, 5, f64::INFINITY);
            prop_assert_eq!(sent, smallest_cut(&arcs));
            let summed: f64 = arcs.iter().enumerate().map(|(at, arc)| network.flow(2 * at) * f64::from(arc.3)).sum();
            prop_assert!((summed - cost).abs() < 1e-9);
            let mut distance = [0.0; 6];
            let mut changed = false;
            for _ in 0..7 {
                changed = false;
                for tail in 0..6 {
                    for &arc in &network.out[tail] {
                        let next = distance[tail] + network.cost[arc];
                        if network.room[arc] > 0.0 && next < distance[network.head[arc]] - 1e-9 {
                            distance[network.head[arc]] = next;
                            changed = true;
                        }
                    }
                }
            }
            prop_assert!(!changed, "a cycle of negative cost is left");
        }
    }
}
