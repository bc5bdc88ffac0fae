use roaring::RoaringBitmap;

use super::Graph;
use super::beam::{Beam, Walk};
use super::layers::Layers;
use crate::vector::ranked::Ranked;
use crate::vector::vectors::Vectors;

/// A sweep begins when one node in so many is dead.
const DEAD_SHARE: usize = 5;
/// Nodes without a dead neighbour that cost as much to look at as one repair.
const LOOKS: usize = 64;

/// A pass over all nodes after which no link leads to one of the doomed.
#[derive(Debug, Clone)]
pub(super) struct Sweep {
    doomed: RoaringBitmap,
    next: u32,
}

impl Sweep {
    pub fn left(&self, layers: &Layers) -> usize {
        layers.slots().saturating_sub(self.next as usize)
    }
}

impl Graph {
    /// Begins a sweep when enough are dead. The doomed are never entered again: the entry is another from here on, and
    /// what is placed links only to the living.
    pub(super) fn consider_sweep(&mut self, vectors: &Vectors) {
        let nodes = self.layers.slots();
        if self.sweep.is_none() && self.dead.len() as usize * DEAD_SHARE > nodes {
            self.choose_entry(vectors);
            self.sweep = Some(Sweep { doomed: self.dead.clone(), next: 0 });
        }
    }

    /// Repairs the next node that links to a doomed one, or looks at some that do not.
    pub(super) fn sweep_on(&mut self, vectors: &mut Vectors, beam: &mut Beam) {
        let Some(mut sweep) = self.sweep.take() else { return };
        for _ in 0..LOOKS {
            if sweep.left(&self.layers) == 0 {
                self.free(&sweep.doomed, vectors);
                return;
            }
            let slot = sweep.next;
            sweep.next += 1;
            if !sweep.doomed.contains(slot) && self.repair(vectors, slot, &sweep.doomed, beam) {
                break;
            }
        }
        self.sweep = Some(sweep);
    }

    /// Gives a node, for its links to the doomed, the best of the links beyond them; tells whether it had such.
    fn repair(&mut self, vectors: &Vectors, slot: u32, doomed: &RoaringBitmap, beam: &mut Beam) -> bool {
        let Some(top) = self.layers.level(slot) else { return false };
        let mut repaired = false;
        for level in 0..=top {
            let links = self.layers.links(slot, level);
            if !links.iter().any(|link| doomed.contains(*link)) {
                continue;
            }
            let beyond = links.iter().filter(|link| doomed.contains(**link));
            let beyond = beyond.flat_map(|link| self.layers.links(*link, level));
            let all = links.iter().chain(beyond).copied().filter(|link| *link != slot && !doomed.contains(*link));
            let near: RoaringBitmap = all.collect();
            let query = vectors.get(slot);
            let near: Vec<u32> = near.into_iter().collect();
            let mut near = vectors.rank(&query, &near);
            near.sort_unstable_by(|a, b| b.cmp(a));
            let chosen = vectors.choose(&near, self.layers.most(level));
            self.layers.set_links(slot, level, chosen.iter().copied().map(Ranked::number));
            if chosen.is_empty() && self.holds(slot, vectors) {
                let near = Walk { layers: &self.layers, vectors, query: &query }.descend(beam, level);
                let found = self.near(vectors, slot, &query, level, &near, beam);
                self.link(vectors, slot, level, &found);
            }
            repaired = true;
        }
        repaired
    }

    fn free(&mut self, doomed: &RoaringBitmap, vectors: &mut Vectors) {
        for slot in doomed {
            self.layers.remove(slot);
            vectors.release(slot);
        }
        self.dead -= doomed;
    }
}
