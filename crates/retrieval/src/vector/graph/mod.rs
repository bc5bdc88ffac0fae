//! A navigable graph over the slots of the vectors: HNSW (Malkov & Yashunin, "Efficient and robust approximate nearest
//! neighbor search using hierarchical navigable small world graphs", TPAMI 2018). It compares the high halves of the
//! codes; the caller computes the cosines of the results.
//!
//! It is built in slices. The node of a removed vector stays as an intermediate node until a fifth of the nodes are such;
//! then a sweep, also in slices, gives every node that links to one the links beyond it (FreshDiskANN: Singh et al.
//! 2021, algorithm 4), and their slots are released.

mod duplicates;
mod graph_search;
mod insert;
#[cfg(test)]
mod invariants;
mod layers;
mod sweep;

use std::io::{self, Write};
use std::iter;

use roaring::RoaringBitmap;

use self::duplicates::Duplicates;
use self::graph_search::{Beam, GraphSearch};
use self::layers::Layers;
use self::sweep::Sweep;
use super::codec::ChecksumReader;
use super::quantized::Quantized;
use super::ranked::Ranked;
use super::vectors::Vectors;
use super::{DecodeError, VectorOptions};
use crate::DocNo;

#[derive(Debug, Clone)]
pub(super) struct Graph {
    build_breadth: usize,
    layers: Layers,
    /// Slots with a vector that is not in the graph yet.
    pending: RoaringBitmap,
    duplicates: Duplicates,
    /// Nodes whose vector was removed, and that have no duplicate with a live vector.
    dead: RoaringBitmap,
    sweep: Option<Sweep>,
    /// Units of work done: inserting and sweeping alternate.
    turns: u32,
}

impl Graph {
    /// Creates an empty graph, with all vectors pending.
    pub fn new(options: &VectorOptions, vectors: &Vectors) -> Self {
        let slots = 0..vectors.slots() as u32;
        Self {
            build_breadth: options.build_breadth,
            layers: Layers::new(options.links),
            pending: slots.filter(|slot| vectors.doc(*slot).is_some()).collect(),
            duplicates: Duplicates::default(),
            dead: RoaringBitmap::new(),
            sweep: None,
            turns: 0,
        }
    }

    /// Returns the slots whose vectors are not in the graph yet.
    pub const fn pending(&self) -> &RoaringBitmap {
        &self.pending
    }

    /// Adds the slot of a new vector.
    pub fn add(&mut self, slot: u32) {
        self.pending.insert(slot);
    }

    /// Removes a slot whose vector was removed. The slot is released now if no link leads to it, otherwise by a sweep.
    pub fn remove(&mut self, slot: u32, vectors: &mut Vectors) {
        if self.pending.remove(slot) {
            vectors.release(slot);
        } else if let Some(node) = self.duplicates.remove(slot) {
            vectors.release(slot);
            self.mark_if_dead(node, vectors);
        } else {
            self.mark_if_dead(slot, vectors);
        }
    }

    /// Marks a node as dead if it leads to no live vector.
    fn mark_if_dead(&mut self, node: u32, vectors: &Vectors) {
        if !self.leads_to_live(node, vectors) {
            self.dead.insert(node);
        }
    }

    /// Returns whether a node leads to a live vector: its own or a duplicate's.
    fn leads_to_live(&self, node: u32, vectors: &Vectors) -> bool {
        vectors.doc(node).is_some() || self.duplicates.has(node)
    }

    /// Does at most `budget` units of work (one inserted vector or repaired node each); returns how many remain.
    pub fn work(&mut self, vectors: &mut Vectors, budget: usize) -> usize {
        let mut beam = Beam::new(vectors.slots());
        for _ in 0..budget {
            self.turns = self.turns.wrapping_add(1);
            self.begin_sweep_if_due(vectors);
            let sweeps = self.sweep.is_some() && (self.turns % 2 == 1 || self.pending.is_empty());
            if sweeps {
                self.continue_sweep(vectors, &mut beam);
            } else if let Some(slot) = self.pending.min() {
                self.pending.remove(slot);
                self.insert(vectors, slot, &mut beam);
            } else {
                break;
            }
        }
        let swept = self.sweep.as_ref().map_or(0, |sweep| sweep.left(&self.layers));
        self.pending.len() as usize + swept
    }

    fn choose_entry(&mut self, vectors: &Vectors) {
        let Self { layers, duplicates, .. } = self;
        layers.choose_entry(|node| vectors.doc(node).is_some() || duplicates.has(node));
    }

    /// Returns about `breadth` of the admitted slots nearest to a query; `None` if that takes more than `max` vector
    /// comparisons.
    pub fn search(
        &self,
        vectors: &Vectors,
        query: &Quantized,
        breadth: usize,
        max: usize,
        admits: impl Fn(DocNo) -> bool,
    ) -> Option<Vec<u32>> {
        let mut beam = Beam::new(vectors.slots());
        let search = GraphSearch { layers: &self.layers, vectors, query };
        let near = search.descend(&mut beam, 0);
        let admits = |slot| vectors.doc(slot).is_some_and(&admits);
        let leads = |node| admits(node) || self.duplicates.of(node).any(admits);
        if !search.layer(&mut beam, 0, &near, breadth, max, leads) {
            return None;
        }
        let nodes = beam.take().into_iter().map(Ranked::number);
        let equal = |node| iter::once(node).chain(self.duplicates.of(node)).filter(|slot| admits(*slot)).take(breadth);
        Some(nodes.flat_map(equal).collect())
    }

    pub fn bytes(&self) -> usize {
        self.layers.bytes() + self.duplicates.bytes() + self.pending.serialized_size() + self.dead.serialized_size()
    }

    /// Writes the graph. A sweep in progress is not written: it begins again after decoding.
    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        self.layers.encode(out)?;
        self.duplicates.encode(out)
    }

    pub fn decode(
        options: &VectorOptions,
        vectors: &mut Vectors,
        source: &mut ChecksumReader<'_>,
    ) -> Result<Self, DecodeError> {
        let layers = Layers::decode(options.links, vectors.slots(), source)?;
        let duplicates = Duplicates::decode(source)?;
        let mut graph = Self { layers, duplicates, ..Self::new(options, vectors) };
        for (slot, node) in graph.duplicates.slots() {
            let is_pending = graph.pending.remove(slot);
            if !is_pending || graph.layers.level(slot).is_some() || graph.layers.level(node).is_none() {
                return Err(DecodeError::Malformed("a duplicate has no node"));
            }
        }
        for slot in graph.layers.nodes() {
            graph.pending.remove(slot);
            if vectors.doc(slot).is_none() {
                vectors.claim(slot);
                graph.mark_if_dead(slot, vectors);
            }
        }
        if graph.layers.entry().is_none() {
            graph.choose_entry(vectors);
        }
        Ok(graph)
    }
}
