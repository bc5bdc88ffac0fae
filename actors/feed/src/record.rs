//! What the store keeps of the feed.

use muster_store::{Batch, Op, Rec, Record, Store, StoreError, Tree};
use serde::{Deserialize, Serialize};

const HEAD: &[u8] = b"head";

/// What a start compares the journal with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) epoch: String,
    /// The run of the machine's kernel that wrote last.
    pub(super) boot: Option<String>,
    /// The server ended in order, with everything synced.
    pub(super) clean: bool,
    /// A number that the journal has reached.
    pub(super) number: u64,
}

impl Record for Head {
    const TREE: Tree = Tree::Feed;
    const SCHEMA: u16 = 1;
}

impl Head {
    pub(super) fn read(store: &dyn Store) -> Result<Option<Self>, StoreError> {
        store.get(Tree::Feed, HEAD)?.map(|rec| Self::decode(&rec)).transpose()
    }

    pub(super) fn batch(&self) -> Result<Batch, StoreError> {
        Ok(Batch::put(Tree::Feed, HEAD, self.encode()?))
    }

    /// Whether what the journal has is all that was told.
    ///
    /// # Errors
    /// Why that cannot be proven.
    pub(super) fn proves(&self, found: &Found<'_>) -> Result<(), &'static str> {
        let same_boot = found.same_process || (self.boot.is_some() && self.boot.as_deref() == found.boot);
        if found.restored {
            Err("the store was restored, and others may have seen more than it knows")
        } else if found.broken {
            Err("frames are missing in the journal")
        } else if found.number < self.number {
            Err("the journal ends before what the store knows of it")
        } else if !same_boot && !self.clean {
            Err("the machine ended without a word, and may have lost what was not synced")
        } else {
            Ok(())
        }
    }
}

/// Which restoration of the store the feed knows of.
const RESTORED: &[u8] = b"restored";

/// The store's restoration, where the feed has not begun anew since.
pub(super) fn restored(store: &dyn Store) -> Result<Option<Rec>, StoreError> {
    let mark = store.get(Tree::Meta, muster_store::RESTORE_MARK)?;
    let known = store.get(Tree::Feed, RESTORED)?;
    Ok(mark.filter(|mark| known.as_ref() != Some(mark)))
}

/// The head of a feed that began anew since.
pub(super) fn noting(batch: Batch, restored: Option<Rec>) -> Batch {
    restored.into_iter().fold(batch, |batch, mark| batch.and_put(Tree::Feed, RESTORED, mark))
}

/// What a start found.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) boot: Option<&'a str>,
    /// The hub died, not the server.
    pub(super) same_process: bool,
    pub(super) number: u64,
    pub(super) broken: bool,
    /// The store is of a backup, and others may have been told what came after that.
    pub(super) restored: bool,
}

/// The last offset of a channel, as of some time.
#[derive(Debug, Serialize, Deserialize)]
struct Offset(u64);

impl Record for Offset {
    const TREE: Tree = Tree::Feed;
    const SCHEMA: u16 = 1;
}

fn offset_key(channel: &str) -> Vec<u8> {
    [b"off/", channel.as_bytes()].concat()
}

/// The offset that the store knows of a channel; 0 where it knows none.
pub(super) fn offset(store: &dyn Store, channel: &str) -> Result<u64, StoreError> {
    let rec = store.get(Tree::Feed, &offset_key(channel))?;
    Ok(rec.map(|rec| Offset::decode(&rec)).transpose()?.map_or(0, |Offset(offset)| offset))
}

pub(super) fn offset_op(channel: &str, offset: u64) -> Result<Op, StoreError> {
    Ok(Op::Put { tree: Tree::Feed, key: offset_key(channel), rec: Offset(offset).encode()? })
}
