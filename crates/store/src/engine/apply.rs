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
use crate::appended::{Lengths, number_key};
use crate::bounds::MAX_INLINE;
use crate::crash::catch_panics;
use crate::envelope::{self, BlobId, Sealed, StoredValue};
use crate::{Batch, Expect, Op, Rec, StoreError, Tree};

/// Bytes of a number and of the envelope around a numbered record.
const NUMBERED: usize = 16;

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
    to: WriteTo,
    blob: Option<BlobId>,
}

#[derive(Debug)]
enum WriteTo {
    /// Deletes the record at a key.
    Nothing { key: Vec<u8> },
    /// Stores an encoded envelope at a key.
    Key { key: Vec<u8>, sealed: Vec<u8> },
    /// Stores a value under the next number. Its envelope depends on the number.
    Next(Sealed),
}

impl Write {
    /// The key, unless the store gives it.
    fn key(&self) -> Option<&[u8]> {
        match &self.to {
            WriteTo::Nothing { key } | WriteTo::Key { key, .. } => Some(key),
            WriteTo::Next(_) => None,
        }
    }

    /// What it adds to the engine's log, in bytes.
    fn bytes(&self) -> usize {
        match &self.to {
            WriteTo::Nothing { key } => key.len(),
            WriteTo::Key { key, sealed } => key.len() + sealed.len(),
            WriteTo::Next(Sealed { body: StoredValue::Inline(bytes), .. }) => NUMBERED + bytes.len(),
            WriteTo::Next(Sealed { body: StoredValue::Blob(id), .. }) => NUMBERED + id.len(),
        }
    }
}

impl Engine {
    /// Encodes the values of a batch in envelopes and writes large ones to files.
    pub(super) fn prepare(&self, batch: Batch) -> Result<Prepared, StoreError> {
        let mut prepared = Prepared { expect: batch.expect, writes: Vec::new(), wrote_blobs: false, bytes: 0 };
        for op in batch.ops {
            let write = match op {
                Op::Delete { tree, key } => Write { tree, to: WriteTo::Nothing { key }, blob: None },
                Op::Put { tree, key, rec } => {
                    let (value, blob) = self.value(rec)?;
                    let sealed = envelope::seal(tree, &key, &value);
                    Write { tree, to: WriteTo::Key { key, sealed }, blob }
                }
                Op::Append { tree, rec } => {
                    let (value, blob) = self.value(rec)?;
                    Write { tree, to: WriteTo::Next(value), blob }
                }
            };
            prepared.wrote_blobs |= write.blob.is_some();
            prepared.bytes += write.bytes();
            prepared.writes.push(write);
        }
        Ok(prepared)
    }

    fn value(&self, rec: Rec) -> Result<(Sealed, Option<BlobId>), StoreError> {
        let (body, blob) = if rec.bytes.len() > MAX_INLINE {
            let id = self.blobs.write(&rec.bytes)?;
            (StoredValue::Blob(id), Some(id))
        } else {
            (StoredValue::Inline(rec.bytes), None)
        };
        Ok((Sealed { schema: rec.schema, body }, blob))
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
        let before = self.lengths();
        let outcomes = RefCell::new((Vec::new(), before));
        let done = tables.as_slice().transaction(|views| {
            let views = TransactionTrees { engine: self, views };
            let mut outcomes_so_far = Vec::with_capacity(batches.len());
            // sled may run this closure again: the numbers are given anew each time.
            let mut lengths = before;
            for batch in batches {
                // All of the batch's records are read before anything is staged, so that a corrupt record fails this
                // batch only.
                let numbered = catch_panics("commit", || {
                    views.evaluate(batch)?;
                    numbers(batch, lengths)
                });
                if let Ok((numbers, after)) = &numbered {
                    lengths = *after;
                    let mut numbers = numbers.iter().copied();
                    batch.writes.iter().try_for_each(|write| stage(&views, write, &mut numbers))?;
                }
                outcomes_so_far.push(numbered.map(drop));
            }
            outcomes.replace((outcomes_so_far, lengths));
            Ok(())
        });
        done.map_err(|error| match error {
            TransactionError::Abort(refused) => refused,
            TransactionError::Storage(error) => self.fault(error),
        })?;
        let (outcomes, lengths) = outcomes.into_inner();
        self.set_lengths(lengths);
        Ok(outcomes)
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
        let keys = batch.writes.iter().filter_map(|write| Some((write.tree, write.key()?)));
        keys.into_iter().try_for_each(|(tree, key)| self.read(tree, key).map(drop))
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

/// The numbers that the appended records of a batch get, in order, and the lengths after them.
fn numbers(batch: &Prepared, mut lengths: Lengths) -> Result<(Vec<u64>, Lengths), StoreError> {
    let mut numbers = Vec::new();
    for write in &batch.writes {
        match &write.to {
            WriteTo::Nothing { .. } => {}
            WriteTo::Key { key, .. } => lengths.put(write.tree, key)?,
            WriteTo::Next(_) => numbers.push(lengths.take(write.tree)?),
        }
    }
    Ok((numbers, lengths))
}

fn stage(
    views: &TransactionTrees<'_>,
    write: &Write,
    numbers: &mut impl Iterator<Item = u64>,
) -> Result<(), ConflictableTransactionError<StoreError>> {
    let table = views.table(write.tree).map_err(abort)?;
    let number;
    let (key, old) = match &write.to {
        WriteTo::Nothing { key } => (key.as_slice(), table.remove(key.as_slice())?),
        WriteTo::Key { key, sealed } => (key.as_slice(), table.insert(key.as_slice(), sealed.as_slice())?),
        WriteTo::Next(value) => {
            let next = numbers.next().ok_or_else(|| abort(StoreError::Io("a record has no number".into())))?;
            number = number_key(next);
            (number.as_slice(), table.insert(&number, envelope::seal(write.tree, &number, value))?)
        }
    };
    // A corrupt old record may leave a stale reference and thus an unneeded file, which is harmless.
    let old = old.and_then(|old| envelope::unseal(write.tree, key, &old).ok());
    if let Some(Sealed { body: StoredValue::Blob(id), .. }) = old {
        views.refs().map_err(abort)?.remove(reference(&id, write.tree, key))?;
    }
    if let Some(id) = write.blob {
        views.refs().map_err(abort)?.insert(reference(&id, write.tree, key), Vec::new())?;
    }
    Ok(())
}

fn reference(id: &BlobId, tree: Tree, key: &[u8]) -> Vec<u8> {
    [id.as_slice(), tree.name().as_bytes(), b"/", key].concat()
}
