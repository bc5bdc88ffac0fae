//! One batch, one transaction over the trees it touches.

use std::cell::Cell;

use sha2::{Digest, Sha256};
use sled::Transactional;
use sled::transaction::{ConflictableTransactionError, TransactionError, TransactionalTree};

use super::tables::Engine;
use crate::bounds::MAX_INLINE;
use crate::crash::contained;
use crate::envelope::{self, BlobId, Body, Sealed};
use crate::{Batch, Expect, Op, Rec, StoreError, Tree};

/// Why a batch was not applied.
#[derive(Debug)]
pub(super) enum Refused {
    /// Nothing was written; other batches go on.
    Request(StoreError),
    /// The engine failed half-way: what it holds in memory is no longer known.
    Engine(StoreError),
}

/// A batch whose values are in their envelopes and whose large values are in their files.
#[derive(Debug)]
pub(super) struct Prepared {
    expect: Vec<(Tree, Vec<u8>, Expect)>,
    writes: Vec<Write>,
    /// Whether the folder of large values has to be synced first.
    pub(super) wrote_blobs: bool,
}

#[derive(Debug)]
struct Write {
    tree: Tree,
    key: Vec<u8>,
    /// The envelope; `None` deletes.
    sealed: Option<Vec<u8>>,
    blob: Option<BlobId>,
}

type Step<T> = Result<T, ConflictableTransactionError<StoreError>>;

impl Engine {
    /// Puts the values into envelopes, the large ones into files.
    pub(super) fn prepare(&self, batch: Batch) -> Result<Prepared, StoreError> {
        let mut prepared = Prepared { expect: batch.expect, writes: Vec::new(), wrote_blobs: false };
        for op in batch.ops {
            let write = match op {
                Op::Delete { tree, key } => Write { tree, key, sealed: None, blob: None },
                Op::Put { tree, key, rec } => self.prepare_put(tree, key, rec)?,
            };
            prepared.wrote_blobs |= write.blob.is_some();
            prepared.writes.push(write);
        }
        Ok(prepared)
    }

    fn prepare_put(&self, tree: Tree, key: Vec<u8>, rec: Rec) -> Result<Write, StoreError> {
        let (body, blob) = if rec.bytes.len() > MAX_INLINE {
            let id = self.blobs.write(&rec.bytes)?;
            (Body::Blob(id), Some(id))
        } else {
            (Body::Inline(rec.bytes), None)
        };
        let sealed = envelope::seal(tree, &key, &Sealed { schema: rec.schema, body });
        Ok(Write { tree, key, sealed: Some(sealed), blob })
    }

    /// Applies a batch in one transaction, its preconditions included.
    pub(super) fn apply(&self, batch: &Prepared) -> Result<(), Refused> {
        let staged = Cell::new(false);
        let outcome = contained("commit", || self.transact(batch, &staged));
        outcome.map_err(|error| match error {
            // Until all was staged, the engine has only been read.
            StoreError::Conflict => Refused::Request(error),
            _ if !staged.get() => Refused::Request(error),
            _ => Refused::Engine(error),
        })
    }

    fn transact(&self, batch: &Prepared, staged: &Cell<bool>) -> Result<(), StoreError> {
        let touched = touched(batch);
        let mut tables = Vec::with_capacity(touched.len() + 1);
        for tree in &touched {
            tables.push(self.table(*tree)?);
        }
        tables.push(&self.handles()?.refs);
        let done = tables.as_slice().transaction(|views| {
            let views = Views { touched: &touched, views };
            for (tree, key, expect) in &batch.expect {
                check(&views, *tree, key, expect)?;
            }
            for write in &batch.writes {
                stage(&views, write)?;
            }
            staged.set(true);
            Ok(())
        });
        done.map_err(|error| match error {
            TransactionError::Abort(refused) => refused,
            TransactionError::Storage(error) => self.fault(error),
        })
    }
}

fn touched(batch: &Prepared) -> Vec<Tree> {
    let named = |tree: &Tree| {
        batch.expect.iter().any(|(named, _, _)| named == tree) || batch.writes.iter().any(|w| w.tree == *tree)
    };
    Tree::ALL.into_iter().filter(named).collect()
}

/// The trees of a transaction; the last view is that of the references.
struct Views<'a> {
    touched: &'a [Tree],
    views: &'a [TransactionalTree],
}

impl Views<'_> {
    fn table(&self, tree: Tree) -> Step<&TransactionalTree> {
        let found = self.touched.iter().zip(self.views).find(|(name, _)| **name == tree);
        found.map(|(_, view)| view).ok_or_else(|| abort(StoreError::Io(format!("no tree {}", tree.name()))))
    }

    fn refs(&self) -> Step<&TransactionalTree> {
        self.views.last().ok_or_else(|| abort(StoreError::Io("no tree of references".into())))
    }
}

fn abort(error: StoreError) -> ConflictableTransactionError<StoreError> {
    ConflictableTransactionError::Abort(error)
}

fn check(views: &Views<'_>, tree: Tree, key: &[u8], expect: &Expect) -> Step<()> {
    let raw = views.table(tree)?.get(key)?;
    let holds = match (raw, expect) {
        (None, Expect::Absent) => true,
        (Some(raw), Expect::Is(rec)) => {
            let found = envelope::unseal(tree, key, &raw).map_err(abort)?;
            found.schema == rec.schema
                && match found.body {
                    Body::Inline(bytes) => bytes == rec.bytes,
                    Body::Blob(id) => id == BlobId::from(Sha256::digest(&rec.bytes)),
                }
        }
        _ => false,
    };
    if holds { Ok(()) } else { Err(abort(StoreError::Conflict)) }
}

fn stage(views: &Views<'_>, write: &Write) -> Step<()> {
    let table = views.table(write.tree)?;
    let old = match &write.sealed {
        Some(sealed) => table.insert(write.key.as_slice(), sealed.as_slice())?,
        None => table.remove(write.key.as_slice())?,
    };
    // A corrupt old record may leave a stale reference, hence a file nobody needs: harmless.
    let old = old.and_then(|old| envelope::unseal(write.tree, &write.key, &old).ok());
    if let Some(Sealed { body: Body::Blob(id), .. }) = old {
        views.refs()?.remove(reference(&id, write))?;
    }
    if let Some(id) = write.blob {
        views.refs()?.insert(reference(&id, write), Vec::new())?;
    }
    Ok(())
}

fn reference(id: &BlobId, write: &Write) -> Vec<u8> {
    [id.as_slice(), write.tree.name().as_bytes(), b"/", &write.key].concat()
}
