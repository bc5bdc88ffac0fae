use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::vector::DecodeError;
use crate::vector::codec::Source;
use crate::vector::rows::Rows;

/// Slots whose vector is identical to a node's, as when the same text is stored repeatedly. They are found with the
/// node. As separate nodes they would fill each other's links and every nearby beam, and hide the rest.
#[derive(Debug, Clone, Default)]
pub(super) struct Twins(Arc<Sets>);

#[derive(Debug, Clone, Default)]
struct Sets {
    nodes: BTreeMap<u32, u32>,
    twins: BTreeMap<u32, RoaringBitmap>,
}

impl Twins {
    pub fn add(&mut self, slot: u32, node: u32) {
        let sets = Arc::make_mut(&mut self.0);
        sets.nodes.insert(slot, node);
        sets.twins.entry(node).or_default().insert(slot);
    }

    /// Removes a duplicate, and returns its node.
    pub fn remove(&mut self, slot: u32) -> Option<u32> {
        if !self.0.nodes.contains_key(&slot) {
            return None;
        }
        let sets = Arc::make_mut(&mut self.0);
        let node = sets.nodes.remove(&slot)?;
        let twins = sets.twins.get_mut(&node)?;
        twins.remove(slot);
        if twins.is_empty() {
            sets.twins.remove(&node);
        }
        Some(node)
    }

    pub fn has(&self, node: u32) -> bool {
        self.0.twins.contains_key(&node)
    }

    pub fn of(&self, node: u32) -> impl Iterator<Item = u32> {
        self.0.twins.get(&node).into_iter().flatten()
    }

    pub fn slots(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.nodes.iter().map(|(slot, node)| (*slot, *node))
    }

    pub fn bytes(&self) -> usize {
        let sets: usize = self.0.twins.values().map(|twins| 16 + twins.serialized_size()).sum();
        sets + 12 * self.0.nodes.len()
    }

    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut rows = Rows::new(2);
        rows.grow(self.0.nodes.len());
        self.slots().enumerate().for_each(|(at, (slot, node))| rows.set(at, &[slot, node]));
        rows.encode(out)
    }

    pub fn decode(source: &mut Source<'_>) -> Result<Self, DecodeError> {
        let rows = Rows::<u32>::decode(2, source)?;
        let mut twins = Self::default();
        for (_, block) in rows.blocks() {
            block.as_chunks::<2>().0.iter().for_each(|[slot, node]| twins.add(*slot, *node));
        }
        Ok(twins)
    }
}
