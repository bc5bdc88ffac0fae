use super::Graph;
use super::graph_search::{Beam, GraphSearch};
use super::layers::MAX_LEVEL;
use crate::vector::quantized::Quantized;
use crate::vector::ranked::Ranked;
use crate::vector::vectors::Vectors;

/// Number of nearest nodes examined for a duplicate, as ranked by the high halves.
const MAX_COMPARED: usize = 4;

impl Graph {
    /// Inserts a vector (algorithm 1 of Malkov & Yashunin 2018). New links lead only to nodes with a live vector.
    pub(super) fn insert(&mut self, vectors: &Vectors, slot: u32, beam: &mut Beam) {
        let query = vectors.get(slot);
        let level = self.level_of(vectors, slot, &query);
        let (entry, top) = (self.layers.entry(), self.layers.top());
        let below = GraphSearch { layers: &self.layers, vectors, query: &query }.descend(beam, 0);
        let base = self.near(vectors, slot, &query, 0, &below, beam);
        let duplicate = base.iter().take(MAX_COMPARED).find(|one| vectors.get(one.number()) == query);
        if let Some(duplicate) = duplicate {
            self.duplicates.add(slot, duplicate.number());
            return;
        }
        self.layers.put(slot, level);
        for level in 1..=level.min(top) {
            let above = GraphSearch { layers: &self.layers, vectors, query: &query }.descend(beam, level);
            let found = self.near(vectors, slot, &query, level, &above, beam);
            self.link(vectors, slot, level, &found);
        }
        self.link(vectors, slot, 0, &base);
        if entry.is_none() || level > top {
            self.layers.set_entry(Some(slot));
        }
    }

    /// Returns the nearest nodes of a layer that lead to live vectors.
    pub(super) fn near(
        &self,
        vectors: &Vectors,
        slot: u32,
        query: &Quantized,
        level: usize,
        from: &[u32],
        beam: &mut Beam,
    ) -> Vec<Ranked> {
        let search = GraphSearch { layers: &self.layers, vectors, query };
        let admits = |other| other != slot && self.leads_to_live(other, vectors);
        search.layer(beam, level, from, self.build_breadth, usize::MAX, admits);
        beam.take()
    }

    /// Links a node with the best of its nearest nodes on a layer, in both directions.
    pub(super) fn link(&mut self, vectors: &Vectors, slot: u32, level: usize, near: &[Ranked]) {
        let chosen = vectors.choose(near, self.layers.most(1));
        self.layers.set_links(slot, level, chosen.iter().map(|one| one.number()));
        for neighbour in chosen {
            self.link_back(vectors, neighbour, slot, level);
        }
    }

    /// Adds a link to a new node; if there are too many, the heuristic selects among them.
    fn link_back(&mut self, vectors: &Vectors, from: Ranked, to: u32, level: usize) {
        let slot = from.number();
        if self.layers.links(slot, level).contains(&to) || self.layers.add_link(slot, level, to) {
            return;
        }
        let mut links = vectors.rank(&vectors.get(slot), self.layers.links(slot, level));
        links.push(Ranked::new(from.score(), to));
        links.sort_unstable_by(|a, b| b.cmp(a));
        let chosen = vectors.choose(&links, self.layers.most(level));
        self.layers.set_links(slot, level, chosen.into_iter().map(Ranked::number));
    }

    /// Draws a level with the paper's probabilities (1/M for each further one) from a hash of the vector and its
    /// number: the same entries in the same order give the same graph.
    fn level_of(&self, vectors: &Vectors, slot: u32, query: &Quantized) -> usize {
        let number = vectors.doc(slot).map_or(0, |doc| u64::from(doc.0));
        let hash = query.codes.iter().fold(mix(number), |hash, code| mix(hash ^ u64::from(code.cast_unsigned())));
        let uniform = (hash >> 11) as f64 / (1_u64 << 53) as f64;
        let level = -(1.0 - uniform).ln() / (self.layers.most(1) as f64).ln();
        (level as usize).min(MAX_LEVEL)
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
const fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
