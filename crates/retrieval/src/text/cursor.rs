//! Iterates over a posting list in document order. Positions are only decoded on request.

use std::sync::Arc;

use super::block::{Block, Counts, View, length_of, positions};

pub(super) struct Cursor<'a> {
    counts: Counts<'a>,
    /// Occurrences in the current entry.
    count: u32,
    places: &'a [u8],
    /// Positions in `places` before those of the current entry.
    passed: u32,
    blocks: &'a [Arc<Block>],
}

impl<'a> Cursor<'a> {
    /// Over one byte sequence, then over blocks.
    pub(super) fn new(view: View<'a>, blocks: &'a [Arc<Block>]) -> Self {
        Self { counts: view.counts(), count: 0, places: view.places, passed: 0, blocks }
    }

    /// Advances to the first entry from `doc` on.
    pub(super) fn seek(&mut self, doc: u32) -> Option<u32> {
        loop {
            for (found, count) in self.counts.by_ref() {
                self.passed = self.passed.saturating_add(self.count);
                self.count = count;
                if found >= doc {
                    return Some(found);
                }
            }
            // Blocks that end before it are not decoded.
            let skipped = self.blocks.iter().take_while(|block| block.last < doc).count();
            let (first, rest) = self.blocks.get(skipped..)?.split_first()?;
            *self = Self::new(first.view(), rest);
        }
    }

    /// Positions in the current entry, ascending.
    pub(super) fn positions(&mut self) -> impl Iterator<Item = u32> + 'a {
        self.places = self.places.get(length_of(self.places, self.passed)..).unwrap_or_default();
        self.passed = 0;
        positions(self.places, self.count)
    }
}
