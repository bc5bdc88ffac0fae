//! History of a device: its last entries, in a ring of keys in the store.

use muster_store::{Encoding, Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};

use super::record::Status;
use muster_core::page::{Page, PageParams};
use muster_core::{Error, Kind, Millis};

/// Number of history entries kept for one device.
pub(super) const MAX_HISTORY: u64 = 200;

/// An entry of a device's history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Sequence number, from 1 for each device.
    pub seq: u64,
    /// When it happened.
    pub at: Millis,
    /// Principal that caused it: `usr_…`, `dev_…` or `system`.
    pub actor: String,
    /// Kind: `registered`, `status`, `command`, `credentials` or `firmware`.
    pub kind: String,
    /// Status before, for a status change.
    pub from: Option<Status>,
    /// Status after, for a status change.
    pub to: Option<Status>,
    /// Reason or details.
    pub note: Option<String>,
}

impl Record for HistoryEntry {
    const TREE: Tree = Tree::Telemetry;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl HistoryEntry {
    /// Returns the write of this entry, which replaces the oldest one of the ring.
    pub(super) fn op(&self, device: &str) -> Result<Op, StoreError> {
        let key = format!("{device}/h/{:03}", self.seq % MAX_HISTORY).into_bytes();
        Ok(Op::Put { tree: Tree::Telemetry, key, rec: self.encode()? })
    }
}

/// Returns a page of a device's history, newest first.
pub(super) fn read(store: &StoreHandle, device: &str, params: &PageParams) -> Result<Page<HistoryEntry>, Error> {
    let before = match &params.after {
        None => u64::MAX,
        Some(cursor) => cursor.parse().map_err(|_| {
            Error::field(Kind::Invalid, &["query", "cursor"], "must be `next_cursor` of a page", cursor.as_str().into())
        })?,
    };
    let entries = store.records::<HistoryEntry>(format!("{device}/h/"), PageRequest::of(200)).values();
    let mut entries = entries.collect::<Result<Vec<_>, StoreError>>()?;
    entries.retain(|entry| entry.seq < before);
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.seq));
    Ok(Page::of(entries.into_iter(), params.limit, |entry| entry.seq.to_string()))
}
