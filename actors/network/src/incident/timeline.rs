//! Timeline of an incident: append-only entries beside its record, numbered without gaps.

use muster_store::{Encoding, Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lifecycle::State;
use muster_core::page::{Page, PageParams};
use muster_core::{Error, Kind, Millis};

/// An entry of a timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// Sequence number within the incident, from 1, without gaps.
    pub seq: u64,
    /// Time.
    pub at: Millis,
    /// Principal that caused it: `usr_…`, `dev_…` or `system`.
    pub actor: String,
    /// Kind, such as `acknowledge` or `note`.
    pub kind: String,
    /// State before, if it changed.
    pub from: Option<State>,
    /// State after, if it changed.
    pub to: Option<State>,
    /// Note or reason.
    pub note: Option<String>,
    /// Further data by kind.
    pub data: Value,
}

impl Record for TimelineEntry {
    const TREE: Tree = Tree::Timeline;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// Zero-padded, so that the order of the keys is the order of the entries.
fn place(incident: &str, seq: u64) -> Vec<u8> {
    format!("{incident}/{seq:020}").into_bytes()
}

impl TimelineEntry {
    /// Returns the write of the entry for the batch of its incident.
    ///
    /// # Errors
    /// The entry is too large to be stored.
    pub fn op(&self, incident: &str) -> Result<Op, StoreError> {
        Ok(Op::Put { tree: Tree::Timeline, key: place(incident, self.seq), rec: self.encode()? })
    }
}

/// Returns a page of a timeline, oldest first; the cursor is the last `seq` of the page before.
///
/// # Errors
/// `Invalid` for a malformed cursor; errors of the store.
pub fn read(store: &StoreHandle, incident: &str, params: &PageParams) -> Result<Page<TimelineEntry>, Error> {
    let after = params.after.as_deref().map(str::parse::<u64>).transpose();
    let after = after.map_err(|_| {
        let input = Value::from(params.after.clone());
        Error::field(Kind::Invalid, &["query", "cursor"], "must be `next_cursor` of the page before", input)
    })?;
    let from = after.map(|seq| place(incident, seq.saturating_add(1)));
    let request = PageRequest::of(params.limit).starting_at(from);
    let page = store.record_page::<TimelineEntry>(format!("{incident}/"), request)?;
    let items: Vec<TimelineEntry> = page.items.into_iter().map(|(_, entry)| entry).collect();
    let next = page.next.and_then(|_| items.last().map(|entry| entry.seq.to_string()));
    Ok(Page { items, next })
}
