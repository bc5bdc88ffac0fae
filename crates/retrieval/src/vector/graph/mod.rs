//! A navigable graph over the slots of the vectors: HNSW (Malkov & Yashunin, "Efficient and robust approximate nearest
//! neighbor search using hierarchical navigable small world graphs", TPAMI 2018). It walks on the high halves; whoever
//! asks takes the cosines of what it finds.
//!
//! It grows in slices. A vector taken out stays as a way to others until a fifth are such; then a sweep, in slices too,
//! gives every node that links to one the links beyond it (as FreshDiskANN does: Singh et al. 2021, algorithm 4), and
//! their slots are free.

mod beam;
mod grow;
#[cfg(test)]
mod invariants;
mod layers;
mod repair;
mod twins;

use std::io::{self, Write};
use std::iter;

use roaring::RoaringBitmap;

use self::beam::{Beam, Walk};
use self::layers::Layers;
use self::repair::Sweep;
use self::twins::Twins;
use super::codec::Source;
use super::quantized::Quantized;
use super::ranked::Ranked;
use super::vectors::Vectors;
use super::{DecodeError, VectorOptions};
use crate::DocNo;

#[derive(Debug, Clone)]
pub(super) struct Graph {
    build_breadth: usize,
    layers: Layers,
    /// Slots that wait for a place.
    pending: RoaringBitmap,
    twins: Twins,
    /// Nodes whose vector was taken out, and that have no twin whose vector is there.
    dead: RoaringBitmap,
    sweep: Option<Sweep>,
    /// Units of work done: placing and sweeping take turns.
    turns: u32,
}

impl Graph {
    /// An empty one, for which all these vectors wait.
    pub fn new(options: &VectorOptions, vectors: &Vectors) -> Self {
        let slots = 0..vectors.slots() as u32;
        Self {
            build_breadth: options.build_breadth,
            layers: Layers::new(options.links),
            pending: slots.filter(|slot| vectors.doc(*slot).is_some()).collect(),
            twins: Twins::default(),
            dead: RoaringBitmap::new(),
            sweep: None,
            turns: 0,
        }
    }

    pub const fn pending(&self) -> &RoaringBitmap {
        &self.pending
    }

    /// A slot was given to a document.
    pub fn add(&mut self, slot: u32) {
        self.pending.insert(slot);
    }

    /// A slot's vector was taken out: its slot is released now if no link leads to it, by a sweep if one may.
    pub fn bury(&mut self, slot: u32, vectors: &mut Vectors) {
        if self.pending.remove(slot) {
            vectors.release(slot);
        } else if let Some(node) = self.twins.remove(slot) {
            vectors.release(slot);
            self.mourn(node, vectors);
        } else {
            self.mourn(slot, vectors);
        }
    }

    fn mourn(&mut self, node: u32, vectors: &Vectors) {
        if !self.holds(node, vectors) {
            self.dead.insert(node);
        }
    }

    /// Whether a node leads to a vector that is there: its own or a twin's.
    fn holds(&self, node: u32, vectors: &Vectors) -> bool {
        vectors.doc(node).is_some() || self.twins.has(node)
    }

    /// Does at most `budget` units of work (a vector placed, or a node repaired) and tells how many wait.
    pub fn work(&mut self, vectors: &mut Vectors, budget: usize) -> usize {
        let mut beam = Beam::new(vectors.slots());
        for _ in 0..budget {
            self.turns = self.turns.wrapping_add(1);
            self.consider_sweep(vectors);
            let sweeps = self.sweep.is_some() && (self.turns % 2 == 1 || self.pending.is_empty());
            if sweeps {
                self.sweep_on(vectors, &mut beam);
            } else if let Some(slot) = self.pending.min() {
                self.pending.remove(slot);
                self.place(vectors, slot, &mut beam);
            } else {
                break;
            }
        }
        let swept = self.sweep.as_ref().map_or(0, |sweep| sweep.left(&self.layers));
        self.pending.len() as usize + swept
    }

    fn choose_entry(&mut self, vectors: &Vectors) {
        let Self { layers, twins, .. } = self;
        layers.choose_entry(|node| vectors.doc(node).is_some() || twins.has(node));
    }

    /// The slots nearest to a query that are admitted, about `breadth` of them; `None` where they are not found within
    /// that many looks at a vector.
    pub fn search(
        &self,
        vectors: &Vectors,
        query: &Quantized,
        breadth: usize,
        most: usize,
        admits: impl Fn(DocNo) -> bool,
    ) -> Option<Vec<u32>> {
        let mut beam = Beam::new(vectors.slots());
        let walk = Walk { layers: &self.layers, vectors, query };
        let near = walk.descend(&mut beam, 0);
        let admits = |slot| vectors.doc(slot).is_some_and(&admits);
        let leads = |node| admits(node) || self.twins.of(node).any(admits);
        if !walk.layer(&mut beam, 0, &near, breadth, most, leads) {
            return None;
        }
        let nodes = beam.take().into_iter().map(Ranked::number);
        let alike = |node| iter::once(node).chain(self.twins.of(node)).filter(|slot| admits(*slot)).take(breadth);
        Some(nodes.flat_map(alike).collect())
    }

    pub fn bytes(&self) -> usize {
        self.layers.bytes() + self.twins.bytes() + self.pending.serialized_size() + self.dead.serialized_size()
    }

    /// A sweep that is under way is not written: who reads this begins it again.
    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        self.layers.encode(out)?;
        self.twins.encode(out)
    }

    pub fn decode(
        options: &VectorOptions,
        vectors: &mut Vectors,
        source: &mut Source<'_>,
    ) -> Result<Self, DecodeError> {
        let layers = Layers::decode(options.links, vectors.slots(), source)?;
        let twins = Twins::decode(source)?;
        let mut graph = Self { layers, twins, ..Self::new(options, vectors) };
        for (slot, node) in graph.twins.slots() {
            let waits = graph.pending.remove(slot);
            if !waits || graph.layers.level(slot).is_some() || graph.layers.level(node).is_none() {
                return Err(DecodeError::Malformed("a twin has no node"));
            }
        }
        for slot in graph.layers.nodes() {
            graph.pending.remove(slot);
            if vectors.doc(slot).is_none() {
                vectors.claim(slot);
                graph.mourn(slot, vectors);
            }
        }
        if graph.layers.entry().is_none() {
            graph.choose_entry(vectors);
        }
        Ok(graph)
    }
}
