use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::vector::DecodeError;
use crate::vector::codec::ChecksumReader;
use crate::vector::rows::Rows;

/// Slots whose vector is identical to a node's, as when the same text is stored repeatedly. They are found with the
/// node. As separate nodes they would fill each other's links and every nearby beam, and hide the rest.
#[derive(Debug, Clone, Default)]
pub(super) struct Duplicates(Arc<Sets>);

#[derive(Debug, Clone, Default)]
struct Sets {
    /// Node of each duplicate.
    nodes: BTreeMap<u32, u32>,
    /// Duplicates of each node.
    duplicates: BTreeMap<u32, RoaringBitmap>,
}

impl Duplicates {
    /// Adds a slot as a duplicate of a node.
    pub fn add(&mut self, slot: u32, node: u32) {
        let sets = Arc::make_mut(&mut self.0);
        sets.nodes.insert(slot, node);
        sets.duplicates.entry(node).or_default().insert(slot);
    }

    /// Removes a duplicate, and returns its node.
    pub fn remove(&mut self, slot: u32) -> Option<u32> {
        if !self.0.nodes.contains_key(&slot) {
            return None;
        }
        let sets = Arc::make_mut(&mut self.0);
        let node = sets.nodes.remove(&slot)?;
        let duplicates = sets.duplicates.get_mut(&node)?;
        duplicates.remove(slot);
        if duplicates.is_empty() {
            sets.duplicates.remove(&node);
        }
        Some(node)
    }

    /// Returns whether a node has duplicates.
    pub fn has(&self, node: u32) -> bool {
        self.0.duplicates.contains_key(&node)
    }

    /// Iterates over the duplicates of a node.
    pub fn of(&self, node: u32) -> impl Iterator<Item = u32> {
        self.0.duplicates.get(&node).into_iter().flatten()
    }

    /// Iterates over all duplicates with their nodes.
    pub fn slots(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.nodes.iter().map(|(slot, node)| (*slot, *node))
    }

    pub fn bytes(&self) -> usize {
        let sets: usize = self.0.duplicates.values().map(|duplicates| 16 + duplicates.serialized_size()).sum();
        sets + 12 * self.0.nodes.len()
    }

    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut rows = Rows::new(2);
        rows.grow(self.0.nodes.len());
        self.slots().enumerate().for_each(|(at, (slot, node))| rows.set(at, &[slot, node]));
        rows.encode(out)
    }

    pub fn decode(source: &mut ChecksumReader<'_>) -> Result<Self, DecodeError> {
        let rows = Rows::<u32>::decode(2, source)?;
        let mut duplicates = Self::default();
        for (_, block) in rows.blocks() {
            block.as_chunks::<2>().0.iter().for_each(|[slot, node]| duplicates.add(*slot, *node));
        }
        Ok(duplicates)
    }
}
