//! What happened to a device: the last entries, in a ring of places in the store.

use muster_store::{Encoding, Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};

use super::record::Status;
use muster_core::page::{Page, PageAsk};
use muster_core::{Error, Kind, Millis};

/// Entries kept of one device.
pub const MAX_HISTORY: u64 = 200;

/// Something that happened to a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Counts up from 1 for each device.
    pub seq: u64,
    pub at: Millis,
    /// `usr_…`, `dev_…` or `system`.
    pub actor: String,
    /// `registered`, `status`, `command`, `credentials`, `firmware`.
    pub kind: String,
    pub from: Option<Status>,
    pub to: Option<Status>,
    /// Why, or what.
    pub note: Option<String>,
}

impl Record for HistoryEntry {
    const TREE: Tree = Tree::Telemetry;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl HistoryEntry {
    /// The write that belongs into the batch of what happened; replaces the entry that is too old.
    pub(super) fn op(&self, device: &str) -> Result<Op, StoreError> {
        let key = format!("{device}/h/{:03}", self.seq % MAX_HISTORY).into_bytes();
        Ok(Op::Put { tree: Tree::Telemetry, key, rec: self.encode()? })
    }
}

/// A device's history, newest first.
pub(super) fn read(store: &StoreHandle, device: &str, ask: &PageAsk) -> Result<Page<HistoryEntry>, Error> {
    let before = match &ask.after {
        None => u64::MAX,
        Some(cursor) => cursor.parse().map_err(|_| {
            Error::field(Kind::Invalid, &["query", "cursor"], "must be `next_cursor` of a page", cursor.as_str().into())
        })?,
    };
    let entries = store.records::<HistoryEntry>(format!("{device}/h/"), PageRequest::of(200)).values();
    let mut entries = entries.collect::<Result<Vec<_>, StoreError>>()?;
    entries.retain(|entry| entry.seq < before);
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.seq));
    Ok(Page::of(entries.into_iter(), ask.limit, |entry| entry.seq.to_string()))
}
