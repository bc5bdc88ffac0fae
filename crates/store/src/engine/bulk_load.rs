//! Loads records into a new engine that is not shared yet, in transactions of bounded size.

use super::tables::Engine;
use crate::{Batch, Rec, StoreError, Tree};

/// Key in `Tree::Meta` that identifies the restore that created this store. A component with state beside the store
/// (such as the feed's epochs) must start again if the value differs from the one it knows: clients may have seen events
/// that the backup does not contain.
pub const RESTORE_MARK: &[u8] = b"store/restored";

/// Maximum number of records in one transaction.
const STEP: usize = 64;
/// Maximum number of bytes in one transaction.
const STEP_BYTES: usize = 2 << 20;

/// Loads records in bulk. Nothing is durable before `finish`.
pub(super) struct BulkLoader<'a> {
    engine: &'a Engine,
    batch: Batch,
    bytes: usize,
    count: u64,
}

impl<'a> BulkLoader<'a> {
    pub(super) fn new(engine: &'a Engine) -> Self {
        Self { engine, batch: Batch::default(), bytes: 0, count: 0 }
    }

    /// Adds a record; returns the number of records so far.
    pub(super) fn put(&mut self, tree: Tree, key: Vec<u8>, rec: Rec) -> Result<u64, StoreError> {
        self.bytes += key.len() + rec.bytes.len();
        self.count += 1;
        self.batch = std::mem::take(&mut self.batch).and_put(tree, key, rec);
        if self.batch.ops.len() >= STEP || self.bytes >= STEP_BYTES {
            self.step()?;
        }
        Ok(self.count)
    }

    /// Writes a new restore mark, so that other components see that this store does not continue the previous one. The
    /// mark is not counted as a record.
    pub(super) fn restored(&mut self) {
        let made = jiff::Timestamp::now().as_nanosecond();
        let stamp = format!("{made} {}", std::process::id());
        let rec = Rec { schema: 1, bytes: stamp.into_bytes() };
        self.batch = std::mem::take(&mut self.batch).and_put(Tree::Meta, RESTORE_MARK, rec);
    }

    fn step(&mut self) -> Result<(), StoreError> {
        if self.batch.ops.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        let prepared = self.engine.prepare(std::mem::take(&mut self.batch))?;
        self.engine.apply(&[prepared])?.into_iter().collect()
    }

    /// Makes all records durable as the state after the given group of commits; returns the number of records.
    pub(super) fn finish(mut self, group: u64) -> Result<u64, StoreError> {
        self.step()?;
        self.engine.blobs.sync()?;
        self.engine.mark(group)?;
        self.engine.sync_engine()?;
        Ok(self.count)
    }
}
