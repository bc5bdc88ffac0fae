use roaring::RoaringBitmap;

use super::Graph;
use super::graph_search::{Beam, GraphSearch};
use super::layers::Layers;
use crate::vector::ranked::Ranked;
use crate::vector::vectors::Vectors;

/// A sweep begins when more than one node in this many is dead.
const DEAD_SHARE: usize = 5;
/// Number of nodes without a dead neighbour whose check costs as much as one repair.
const NODES_PER_REPAIR: usize = 64;

/// A pass over all nodes, after which no link leads to the nodes to be removed.
#[derive(Debug, Clone)]
pub(super) struct Sweep {
    removed: RoaringBitmap,
    next: u32,
}

impl Sweep {
    /// Returns the number of slots still to be checked.
    pub fn left(&self, layers: &Layers) -> usize {
        layers.slots().saturating_sub(self.next as usize)
    }
}

impl Graph {
    /// Begins a sweep if enough nodes are dead. No new link leads to the nodes to be removed: another entry point is
    /// chosen, and inserted vectors link only to nodes that lead to live vectors.
    pub(super) fn begin_sweep_if_due(&mut self, vectors: &Vectors) {
        let nodes = self.layers.slots();
        if self.sweep.is_none() && self.dead.len() as usize * DEAD_SHARE > nodes {
            self.choose_entry(vectors);
            self.sweep = Some(Sweep { removed: self.dead.clone(), next: 0 });
        }
    }

    /// Repairs the next node with a link to a removed one, or checks several without.
    pub(super) fn continue_sweep(&mut self, vectors: &mut Vectors, beam: &mut Beam) {
        let Some(mut sweep) = self.sweep.take() else { return };
        for _ in 0..NODES_PER_REPAIR {
            if sweep.left(&self.layers) == 0 {
                self.free(&sweep.removed, vectors);
                return;
            }
            let slot = sweep.next;
            sweep.next += 1;
            if !sweep.removed.contains(slot) && self.repair(vectors, slot, &sweep.removed, beam) {
                break;
            }
        }
        self.sweep = Some(sweep);
    }

    /// Replaces a node's links to removed nodes by the best links beyond them (FreshDiskANN, algorithm 4); returns
    /// whether it had any.
    fn repair(&mut self, vectors: &Vectors, slot: u32, removed: &RoaringBitmap, beam: &mut Beam) -> bool {
        let Some(top) = self.layers.level(slot) else { return false };
        let mut repaired = false;
        for level in 0..=top {
            let links = self.layers.links(slot, level);
            if !links.iter().any(|link| removed.contains(*link)) {
                continue;
            }
            let beyond = links.iter().filter(|link| removed.contains(**link));
            let beyond = beyond.flat_map(|link| self.layers.links(*link, level));
            let all = links.iter().chain(beyond).copied().filter(|link| *link != slot && !removed.contains(*link));
            let near: RoaringBitmap = all.collect();
            let query = vectors.get(slot);
            let near: Vec<u32> = near.into_iter().collect();
            let mut near = vectors.rank(&query, &near);
            near.sort_unstable_by(|a, b| b.cmp(a));
            let chosen = vectors.choose(&near, self.layers.most(level));
            self.layers.set_links(slot, level, chosen.iter().copied().map(Ranked::number));
            if chosen.is_empty() && self.leads_to_live(slot, vectors) {
                let near = GraphSearch { layers: &self.layers, vectors, query: &query }.descend(beam, level);
                let found = self.near(vectors, slot, &query, level, &near, beam);
                self.link(vectors, slot, level, &found);
            }
            repaired = true;
        }
        repaired
    }

    /// Removes nodes to which no link leads any more, and releases their slots.
    fn free(&mut self, removed: &RoaringBitmap, vectors: &mut Vectors) {
        for slot in removed {
            self.layers.remove(slot);
            vectors.release(slot);
        }
        self.dead -= removed;
    }
}
