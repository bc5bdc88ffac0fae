//! Records of the feed in the store.

use muster_store::{Batch, Op, Rec, Record, Store, StoreError, Tree};
use serde::{Deserialize, Serialize};

const HEAD: &[u8] = b"head";

/// State with which a start compares the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) epoch: String,
    /// The boot of the machine that wrote last.
    pub(super) boot: Option<String>,
    /// Whether the server shut down cleanly, with everything synced.
    pub(super) clean: bool,
    /// A frame number that the journal has reached.
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

    /// Checks that the journal contains everything that was published.
    ///
    /// # Errors
    ///
    /// Returns why that cannot be proven.
    pub(super) fn proves(&self, found: &Found<'_>) -> Result<(), &'static str> {
        let same_boot = found.same_process || (self.boot.is_some() && self.boot.as_deref() == found.boot);
        if found.restored {
            Err("the store was restored from a backup, and subscribers may have received later events")
        } else if found.broken {
            Err("frames are missing in the journal")
        } else if found.number < self.number {
            Err("the journal ends before the position known to the store")
        } else if !same_boot && !self.clean {
            Err("the machine did not shut down cleanly and may have lost unsynced writes")
        } else {
            Ok(())
        }
    }
}

/// Key of the restore mark known to the feed.
const RESTORED: &[u8] = b"restored";

/// Returns the store's restore mark if the feed has not begun a new epoch for it yet.
pub(super) fn restored(store: &dyn Store) -> Result<Option<Rec>, StoreError> {
    let mark = store.get(Tree::Meta, muster_store::RESTORE_MARK)?;
    let known = store.get(Tree::Feed, RESTORED)?;
    Ok(mark.filter(|mark| known.as_ref() != Some(mark)))
}

/// Adds the restore mark to the batch of a feed that begins a new epoch after a restore.
pub(super) fn with_restore_mark(batch: Batch, restored: Option<Rec>) -> Batch {
    restored.into_iter().fold(batch, |batch, mark| batch.and_put(Tree::Feed, RESTORED, mark))
}

/// State of the journal and the process that a start found.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) boot: Option<&'a str>,
    /// The hub was restarted within the same process.
    pub(super) same_process: bool,
    pub(super) number: u64,
    pub(super) broken: bool,
    /// The store was restored from a backup: subscribers may have received later events.
    pub(super) restored: bool,
}

/// Stored offset of a channel.
#[derive(Debug, Serialize, Deserialize)]
struct Offset(u64);

impl Record for Offset {
    const TREE: Tree = Tree::Feed;
    const SCHEMA: u16 = 1;
}

fn offset_key(channel: &str) -> Vec<u8> {
    [b"off/", channel.as_bytes()].concat()
}

/// Returns the stored offset of a channel; 0 if there is none.
pub(super) fn offset(store: &dyn Store, channel: &str) -> Result<u64, StoreError> {
    let rec = store.get(Tree::Feed, &offset_key(channel))?;
    Ok(rec.map(|rec| Offset::decode(&rec)).transpose()?.map_or(0, |Offset(offset)| offset))
}

pub(super) fn offset_op(channel: &str, offset: u64) -> Result<Op, StoreError> {
    Ok(Op::Put { tree: Tree::Feed, key: offset_key(channel), rec: Offset(offset).encode()? })
}
