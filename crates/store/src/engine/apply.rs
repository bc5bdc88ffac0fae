//! Evaluates the batches of a group one by one and writes them in one transaction over all trees.
//!
//! sled writes and waits for its log twice in every transaction over several trees, so a transaction per batch would
//! cost more than the sync that the group shares. Each batch is still atomic, and sees the batches before it in the
//! group.

use std::cell::RefCell;

use sha2::{Digest, Sha256};
use sled::IVec;
use sled::Transactional;
use sled::transaction::{
    ConflictableTransactionError, TransactionError, TransactionalTree, UnabortableTransactionError,
};

use super::tables::Engine;
use crate::bounds::MAX_INLINE;
use crate::crash::catch_panics;
use crate::envelope::{self, BlobId, Sealed, StoredValue};
use crate::{Batch, Expect, Op, Rec, StoreError, Tree};

/// A batch whose values are encoded in envelopes and whose large values are written to files.
#[derive(Debug)]
pub(super) struct Prepared {
    expect: Vec<(Tree, Vec<u8>, Expect)>,
    writes: Vec<Write>,
    /// Whether the folder of large values must be synced before the batch is applied.
    pub(super) wrote_blobs: bool,
    /// Size of keys and envelopes: what the batch adds to the engine's log.
    pub(super) bytes: usize,
}

#[derive(Debug)]
struct Write {
    tree: Tree,
    key: Vec<u8>,
    /// The encoded envelope; `None` deletes the key.
    sealed: Option<Vec<u8>>,
    blob: Option<BlobId>,
}

impl Engine {
    /// Encodes the values of a batch in envelopes and writes large ones to files.
    pub(super) fn prepare(&self, batch: Batch) -> Result<Prepared, StoreError> {
        let mut prepared = Prepared { expect: batch.expect, writes: Vec::new(), wrote_blobs: false, bytes: 0 };
        for op in batch.ops {
            let write = match op {
                Op::Delete { tree, key } => Write { tree, key, sealed: None, blob: None },
                Op::Put { tree, key, rec } => self.prepare_put(tree, key, rec)?,
            };
            prepared.wrote_blobs |= write.blob.is_some();
            prepared.bytes += write.key.len() + write.sealed.as_ref().map_or(0, Vec::len);
            prepared.writes.push(write);
        }
        Ok(prepared)
    }

    fn prepare_put(&self, tree: Tree, key: Vec<u8>, rec: Rec) -> Result<Write, StoreError> {
        let (body, blob) = if rec.bytes.len() > MAX_INLINE {
            let id = self.blobs.write(&rec.bytes)?;
            (StoredValue::Blob(id), Some(id))
        } else {
            (StoredValue::Inline(rec.bytes), None)
        };
        let sealed = envelope::seal(tree, &key, &Sealed { schema: rec.schema, body });
        Ok(Write { tree, key, sealed: Some(sealed), blob })
    }

    /// Applies the batches whose preconditions hold and whose current records can be read. Returns the outcome of each
    /// batch.
    ///
    /// # Errors
    ///
    /// Returns an error if the engine failed half-way: its state in memory is then undefined.
    pub(super) fn apply(&self, batches: &[Prepared]) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        catch_panics("commit", || self.transact(batches))
    }

    fn transact(&self, batches: &[Prepared]) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let handles = self.handles()?;
        let tables: Vec<_> = handles.trees.iter().map(|(_, table)| table).chain([&handles.refs]).collect();
        let outcomes = RefCell::new(Vec::new());
        let done = tables.as_slice().transaction(|views| {
            let views = TransactionTrees { engine: self, views };
            let mut outcomes_so_far = Vec::with_capacity(batches.len());
            for batch in batches {
                // All of the batch's records are read before anything is staged, so that a corrupt record fails this
                // batch only.
                let outcome = catch_panics("commit", || views.evaluate(batch));
                if outcome.is_ok() {
                    batch.writes.iter().try_for_each(|write| stage(&views, write))?;
                }
                outcomes_so_far.push(outcome);
            }
            outcomes.replace(outcomes_so_far);
            Ok(())
        });
        done.map_err(|error| match error {
            TransactionError::Abort(refused) => refused,
            TransactionError::Storage(error) => self.fault(error),
        })?;
        Ok(outcomes.into_inner())
    }
}

/// The trees inside a transaction, in the order of `Handles::trees`, followed by the tree of blob references.
struct TransactionTrees<'a> {
    engine: &'a Engine,
    views: &'a [TransactionalTree],
}

impl TransactionTrees<'_> {
    fn table(&self, tree: Tree) -> Result<&TransactionalTree, StoreError> {
        let found = Tree::ALL.iter().zip(self.views).find(|(name, _)| **name == tree);
        found.map(|(_, view)| view).ok_or_else(|| StoreError::Io(format!("no tree {}", tree.name())))
    }

    fn refs(&self) -> Result<&TransactionalTree, StoreError> {
        self.views.last().ok_or_else(|| StoreError::Io("no tree of blob references".into()))
    }

    fn read(&self, tree: Tree, key: &[u8]) -> Result<Option<IVec>, StoreError> {
        self.table(tree)?.get(key).map_err(|error| match error {
            UnabortableTransactionError::Storage(error) => self.engine.fault(error),
            UnabortableTransactionError::Conflict => {
                StoreError::Io("unexpected concurrent writer in the engine".into())
            }
        })
    }

    /// Checks that the preconditions hold and that every record to be written can be read.
    fn evaluate(&self, batch: &Prepared) -> Result<(), StoreError> {
        for (tree, key, expect) in &batch.expect {
            self.check(*tree, key, expect)?;
        }
        batch.writes.iter().try_for_each(|write| self.read(write.tree, &write.key).map(drop))
    }

    fn check(&self, tree: Tree, key: &[u8], expect: &Expect) -> Result<(), StoreError> {
        let holds = match (self.read(tree, key)?, expect) {
            (None, Expect::Absent) => true,
            (Some(raw), Expect::Is(rec)) => {
                let found = envelope::unseal(tree, key, &raw)?;
                found.schema == rec.schema
                    && match found.body {
                        StoredValue::Inline(bytes) => bytes == rec.bytes,
                        StoredValue::Blob(id) => id == BlobId::from(Sha256::digest(&rec.bytes)),
                    }
            }
            _ => false,
        };
        if holds { Ok(()) } else { Err(StoreError::Conflict) }
    }
}

fn abort(error: StoreError) -> ConflictableTransactionError<StoreError> {
    ConflictableTransactionError::Abort(error)
}

fn stage(views: &TransactionTrees<'_>, write: &Write) -> Result<(), ConflictableTransactionError<StoreError>> {
    let table = views.table(write.tree).map_err(abort)?;
    let old = match &write.sealed {
        Some(sealed) => table.insert(write.key.as_slice(), sealed.as_slice())?,
        None => table.remove(write.key.as_slice())?,
    };
    // A corrupt old record may leave a stale reference and thus an unneeded file, which is harmless.
    let old = old.and_then(|old| envelope::unseal(write.tree, &write.key, &old).ok());
    if let Some(Sealed { body: StoredValue::Blob(id), .. }) = old {
        views.refs().map_err(abort)?.remove(reference(&id, write))?;
    }
    if let Some(id) = write.blob {
        views.refs().map_err(abort)?.insert(reference(&id, write), Vec::new())?;
    }
    Ok(())
}

fn reference(id: &BlobId, write: &Write) -> Vec<u8> {
    [id.as_slice(), write.tree.name().as_bytes(), b"/", &write.key].concat()
}
