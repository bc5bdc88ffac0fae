//! Filling a fresh engine that nobody else has in hand, in transactions of bounded size.

use super::tables::Engine;
use crate::{Batch, Rec, StoreError, Tree};

/// In `Tree::Meta`: which restoration the store is of. What goes on beside the store (a feed's epoch) begins anew where
/// this is not what it knows: others may have seen a future that a backup does not have.
pub const RESTORED: &[u8] = b"store/restored";

/// Records in one transaction ...
const STEP: usize = 64;
/// ... or this many bytes.
const STEP_BYTES: usize = 2 << 20;

/// Nothing is durable before `finish`.
pub(super) struct Filler<'a> {
    engine: &'a Engine,
    batch: Batch,
    bytes: usize,
    count: u64,
}

impl<'a> Filler<'a> {
    pub(super) fn new(engine: &'a Engine) -> Self {
        Self { engine, batch: Batch::default(), bytes: 0, count: 0 }
    }

    /// Answers how many records there are by now.
    pub(super) fn put(&mut self, tree: Tree, key: Vec<u8>, rec: Rec) -> Result<u64, StoreError> {
        self.bytes += key.len() + rec.bytes.len();
        self.count += 1;
        self.batch = std::mem::take(&mut self.batch).and_put(tree, key, rec);
        if self.batch.ops.len() >= STEP || self.bytes >= STEP_BYTES {
            self.step()?;
        }
        Ok(self.count)
    }

    /// Notes that this is no continuation of what was before. Not counted.
    pub(super) fn restored(&mut self) {
        let made = time::OffsetDateTime::now_utc().unix_timestamp_nanos();
        let stamp = format!("{made} {}", std::process::id());
        let rec = Rec { schema: 1, bytes: stamp.into_bytes() };
        self.batch = std::mem::take(&mut self.batch).and_put(Tree::Meta, RESTORED, rec);
    }

    fn step(&mut self) -> Result<(), StoreError> {
        if self.batch.ops.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        let prepared = self.engine.prepare(std::mem::take(&mut self.batch))?;
        self.engine.apply(&[prepared])?.into_iter().collect()
    }

    /// Makes everything durable, as the state after this group of commits; answers how many records there are.
    pub(super) fn finish(mut self, group: u64) -> Result<u64, StoreError> {
        self.step()?;
        self.engine.blobs.sync()?;
        self.engine.mark(group)?;
        self.engine.sync_engine()?;
        Ok(self.count)
    }
}
