use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::layers::Layers;
use crate::vector::quantized::Quantized;
use crate::vector::ranked::Ranked;
use crate::vector::vectors::Vectors;

/// Number of nodes that a descent keeps per layer.
const PATHS: usize = 12;

/// State of a search in one layer, reused for the next.
pub(super) struct Beam {
    visited: Visited,
    /// Visited nodes whose links have not been followed.
    frontier: BinaryHeap<Ranked>,
    /// The best admitted nodes, the worst on top.
    found: BinaryHeap<Reverse<Ranked>>,
    fresh: Vec<u32>,
    products: Vec<i32>,
}

impl Beam {
    pub fn new(slots: usize) -> Self {
        Self {
            visited: Visited { words: vec![0; slots.div_ceil(64)], touched: Vec::new() },
            frontier: BinaryHeap::new(),
            found: BinaryHeap::new(),
            fresh: Vec::new(),
            products: Vec::new(),
        }
    }

    /// Takes the results, best first.
    pub fn take(&mut self) -> Vec<Ranked> {
        let mut found: Vec<Ranked> = self.found.drain().map(|Reverse(one)| one).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    fn clear(&mut self) {
        self.visited.clear();
        self.frontier.clear();
        self.found.clear();
        self.fresh.clear();
    }
}

/// Searches the graph for one query (algorithms 2 and 5 of Malkov & Yashunin 2018).
pub(super) struct GraphSearch<'a> {
    pub layers: &'a Layers,
    pub vectors: &'a Vectors,
    pub query: &'a Quantized,
}

impl GraphSearch<'_> {
    /// Returns the nearest nodes from the entry point down to just above a layer. Several are followed, unlike the
    /// paper's one: with distant clusters a single path too often ends in the wrong one.
    pub fn descend(&self, beam: &mut Beam, above: usize) -> Vec<u32> {
        let mut near: Vec<u32> = self.layers.entry().into_iter().collect();
        for level in (above + 1..=self.layers.top()).rev() {
            self.layer(beam, level, &near, PATHS, usize::MAX, |_| true);
            near = beam.take().into_iter().map(|one| one.number()).collect();
        }
        near
    }

    /// Fills the beam with the `breadth` nearest admitted nodes. Returns false if that takes more than `max` vector
    /// comparisons.
    pub fn layer(
        &self,
        beam: &mut Beam,
        level: usize,
        from: &[u32],
        breadth: usize,
        max: usize,
        admits: impl Fn(u32) -> bool,
    ) -> bool {
        beam.clear();
        let mut comparisons = from.len();
        beam.visit(from);
        self.weigh(beam, breadth, &admits);
        while let Some(best) = beam.frontier.pop() {
            if beam.found.len() >= breadth && beam.found.peek().is_some_and(|Reverse(worst)| best < *worst) {
                break;
            }
            beam.visit(self.layers.links(best.number(), level));
            comparisons += beam.fresh.len();
            if comparisons > max {
                return false;
            }
            self.weigh(beam, breadth, &admits);
        }
        true
    }

    #[inline(always)]
    fn weigh(&self, beam: &mut Beam, breadth: usize, admits: &impl Fn(u32) -> bool) {
        self.vectors.coarse(self.query, &beam.fresh, &mut beam.products);
        for (slot, product) in beam.fresh.iter().zip(&beam.products) {
            let one = Ranked::new(self.vectors.coarse_score(self.query, *slot, *product), *slot);
            if beam.found.len() >= breadth && beam.found.peek().is_some_and(|Reverse(worst)| one < *worst) {
                continue;
            }
            beam.frontier.push(one);
            if admits(*slot) {
                beam.found.push(Reverse(one));
                if beam.found.len() > breadth {
                    beam.found.pop();
                }
            }
        }
    }
}

impl Beam {
    /// Marks slots as visited; those that were not become `fresh`.
    fn visit(&mut self, slots: &[u32]) {
        self.fresh.clear();
        for slot in slots {
            if self.visited.insert(*slot) {
                self.fresh.push(*slot);
            }
        }
    }
}

/// A set of slots that is cleared in time proportional to its size.
struct Visited {
    words: Vec<u64>,
    touched: Vec<u32>,
}

impl Visited {
    #[inline(always)]
    fn insert(&mut self, slot: u32) -> bool {
        let Some(word) = self.words.get_mut(slot as usize / 64) else { return false };
        let bit = 1 << (slot % 64);
        if *word & bit != 0 {
            return false;
        }
        if *word == 0 {
            self.touched.push(slot / 64);
        }
        *word |= bit;
        true
    }

    fn clear(&mut self) {
        for at in self.touched.drain(..) {
            if let Some(word) = self.words.get_mut(at as usize) {
                *word = 0;
            }
        }
    }
}
