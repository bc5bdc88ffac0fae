use std::io::{self, Write};

use roaring::RoaringBitmap;

use super::dots::Dots;
use super::quantized::{Quantized, slack};
use super::ranked::Ranked;
use super::rows::Rows;
use super::{DecodeError, InvalidVector, codec::ChecksumReader};
use crate::DocNo;

const NONE: u32 = u32::MAX;

/// The vectors, each in a slot. A removed vector's slot has no document and is only reused after its release, so that
/// references to it can be dropped first.
#[derive(Debug, Clone)]
pub(super) struct Vectors {
    dots: Dots,
    dimensions: usize,
    high: Rows<i8>,
    low: Rows<i8>,
    /// Step and slack of each slot.
    scales: Rows<f32>,
    docs: Rows<u32>,
    slots: Rows<u32>,
    free: RoaringBitmap,
    live: usize,
}

impl Vectors {
    pub fn new(dimensions: usize) -> Self {
        Self {
            dots: Dots::new(),
            dimensions,
            high: Rows::new(dimensions),
            low: Rows::new(dimensions),
            scales: Rows::new(2),
            docs: Rows::new(1),
            slots: Rows::new(1),
            free: RoaringBitmap::new(),
            live: 0,
        }
    }

    pub const fn live(&self) -> usize {
        self.live
    }

    /// Number of slots, with or without a document.
    pub const fn slots(&self) -> usize {
        self.docs.len()
    }

    #[inline(always)]
    pub fn doc(&self, slot: u32) -> Option<DocNo> {
        self.docs.value(slot as usize).filter(|doc| *doc != NONE).map(DocNo)
    }

    pub fn slot(&self, doc: DocNo) -> Option<u32> {
        self.slots.value(doc.index()).filter(|slot| *slot != NONE)
    }

    pub fn quantize(&self, vector: &[f32]) -> Result<Quantized, InvalidVector> {
        Quantized::new(vector, self.dimensions)
    }

    /// Assigns a slot to a document that has none.
    pub fn put(&mut self, doc: DocNo, vector: &Quantized) -> u32 {
        let slot = self.free.min().unwrap_or(self.docs.len() as u32);
        self.free.remove(slot);
        let at = slot as usize;
        let (high, low) = vector.halves();
        if at == self.docs.len() {
            self.high.grow(at + 1);
            self.low.grow(at + 1);
            self.scales.grow(at + 1);
            self.docs.grow(at + 1);
        }
        self.high.set(at, &high);
        self.low.set(at, &low);
        self.scales.set(at, &[vector.step, slack(&low, vector.step)]);
        self.docs.set(at, &[doc.0]);
        for unknown in self.slots.len()..=doc.index() {
            self.slots.grow(unknown + 1);
            self.slots.set(unknown, &[NONE]);
        }
        self.slots.set(doc.index(), &[slot]);
        self.live += 1;
        slot
    }

    /// Detaches a document from its slot, which is not released yet.
    pub fn take(&mut self, doc: DocNo) -> Option<u32> {
        let slot = self.slot(doc)?;
        self.slots.set(doc.index(), &[NONE]);
        self.docs.set(slot as usize, &[NONE]);
        self.live -= 1;
        Some(slot)
    }

    pub fn release(&mut self, slot: u32) {
        self.free.insert(slot);
    }

    /// Releases all slots without a document.
    pub fn release_all(&mut self) {
        let docs = self.docs.blocks().flat_map(|(_, docs)| docs).zip(0_u32..);
        self.free = docs.filter(|(doc, _)| **doc == NONE).map(|(_, slot)| slot).collect();
    }

    /// Returns the vector of a slot.
    pub fn get(&self, slot: u32) -> Quantized {
        let at = slot as usize;
        Quantized::join(self.high.row(at), self.low.row(at), self.step(slot))
    }

    #[inline(always)]
    pub fn step(&self, slot: u32) -> f32 {
        self.scales.row(slot as usize).first().copied().unwrap_or_default()
    }

    /// Maximum error of a high-half product, for a query of length one.
    #[inline(always)]
    pub fn slack(&self, slot: u32) -> f32 {
        self.scales.row(slot as usize).last().copied().unwrap_or_default()
    }

    /// Products of the high halves with these slots.
    pub fn coarse(&self, query: &Quantized, slots: &[u32], out: &mut Vec<i32>) {
        self.dots.gather(&query.codes, &self.high, slots, out);
    }

    /// Cosine from a high-half product, within [`Vectors::slack`].
    #[inline(always)]
    pub fn coarse_score(&self, query: &Quantized, slot: u32, product: i32) -> f32 {
        product as f32 * (256.0 * query.step * self.step(slot))
    }

    /// Ranks these slots by the cosines of their high halves.
    pub fn rank(&self, query: &Quantized, slots: &[u32]) -> Vec<Ranked> {
        let mut products = Vec::new();
        self.coarse(query, slots, &mut products);
        let scored = slots.iter().zip(products);
        scored.map(|(slot, product)| Ranked::new(self.coarse_score(query, *slot, product), *slot)).collect()
    }

    /// At most `most` of these, best first, each nearer to the query than to any already selected (algorithm 4 of
    /// Malkov & Yashunin 2018): neighbours in every direction instead of many in one.
    pub fn choose(&self, candidates: &[Ranked], most: usize) -> Vec<Ranked> {
        self.dots.diverse(&self.high, |slot| self.step(slot) * 256.0, candidates, most)
    }

    /// Products of the high halves with all slots, in blocks: the first slot of each and its products.
    pub fn coarse_all(&self, query: &Quantized, mut each: impl FnMut(u32, &[i32])) {
        let mut products = Vec::new();
        for (first, rows) in self.high.blocks() {
            self.dots.block(&query.codes, rows, &mut products);
            each(first as u32, &products);
        }
    }

    /// Cosines of the codes, exact up to the last rounding.
    pub fn exact(&self, query: &Quantized, slots: &[u32]) -> Vec<f32> {
        let (mut high, mut low) = (Vec::new(), Vec::new());
        self.dots.gather(&query.codes, &self.high, slots, &mut high);
        self.dots.gather(&query.codes, &self.low, slots, &mut low);
        let products = high.iter().zip(&low).map(|(high, low)| i64::from(*high) * 256 + i64::from(*low));
        products
            .zip(slots)
            .map(|(product, slot)| {
                let cosine = product as f64 * f64::from(query.step) * f64::from(self.step(*slot));
                cosine.clamp(-1.0, 1.0) as f32
            })
            .collect()
    }

    pub fn bytes(&self) -> usize {
        let planes = self.high.bytes() + self.low.bytes() + self.scales.bytes();
        planes + self.docs.bytes() + self.slots.bytes() + self.free.serialized_size()
    }

    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        self.high.encode(out)?;
        self.low.encode(out)?;
        self.scales.encode(out)?;
        self.docs.encode(out)?;
        self.slots.encode(out)
    }

    /// Reads what [`Vectors::encode`] wrote. Slots without a document are all released; a graph that still uses one
    /// reclaims it.
    pub fn decode(dimensions: usize, source: &mut ChecksumReader<'_>) -> Result<Self, DecodeError> {
        let mut vectors = Self {
            high: Rows::decode(dimensions, source)?,
            low: Rows::decode(dimensions, source)?,
            scales: Rows::decode(2, source)?,
            docs: Rows::decode(1, source)?,
            slots: Rows::decode(1, source)?,
            ..Self::new(dimensions)
        };
        let slots = vectors.docs.len();
        if [vectors.high.len(), vectors.low.len(), vectors.scales.len()] != [slots; 3] {
            return Err(DecodeError::Malformed("its planes differ in length"));
        }
        if vectors.scales.blocks().flat_map(|(_, scales)| scales).any(|scale| !(0.0..=1.0).contains(scale)) {
            return Err(DecodeError::Malformed("a vector has no scale"));
        }
        vectors.count()?;
        Ok(vectors)
    }

    pub fn claim(&mut self, slot: u32) {
        self.free.remove(slot);
    }

    /// Computes live and free slots, and checks that documents and slots are consistent.
    fn count(&mut self) -> Result<(), DecodeError> {
        let slots = self.docs.blocks().flat_map(|(_, docs)| docs).zip(0_u32..);
        let free = slots.clone().filter(|(doc, _)| **doc == NONE).map(|(_, slot)| slot);
        let free = RoaringBitmap::from_sorted_iter(free).unwrap_or_default();
        let live = self.docs.len() - free.len() as usize;
        let agrees = slots.filter(|(doc, _)| **doc != NONE).all(|(doc, slot)| self.slot(DocNo(*doc)) == Some(slot));
        let known = self.slots.blocks().flat_map(|(_, slots)| slots).filter(|slot| **slot != NONE).count();
        if !agrees || known != live {
            return Err(DecodeError::Malformed("documents and slots contradict each other"));
        }
        (self.free, self.live) = (free, live);
        Ok(())
    }
}
