//! What happened to an incident: append-only entries beside its record, numbered without gaps.

use muster_store::{Encoding, Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lifecycle::State;
use muster_core::page::{Page, PageAsk};
use muster_core::{Error, Kind, Millis};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// From 1, gapless within its incident.
    pub seq: u64,
    pub at: Millis,
    /// `usr_…`, `dev_…` or `system`.
    pub actor: String,
    /// Such as `acknowledge` or `note`.
    pub kind: String,
    pub from: Option<State>,
    pub to: Option<State>,
    pub note: Option<String>,
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
    /// The write that belongs into the batch of the incident's.
    ///
    /// # Errors
    /// It is too large to be stored.
    pub fn op(&self, incident: &str) -> Result<Op, StoreError> {
        Ok(Op::Put { tree: Tree::Timeline, key: place(incident, self.seq), rec: self.encode()? })
    }
}

/// A page of an incident's timeline, oldest first; the cursor is the last `seq` of the page before.
///
/// # Errors
/// `Invalid` names a cursor that is none; the store refuses.
pub fn read(store: &StoreHandle, incident: &str, ask: &PageAsk) -> Result<Page<TimelineEntry>, Error> {
    let after = ask.after.as_deref().map(str::parse::<u64>).transpose();
    let after = after.map_err(|_| {
        let input = Value::from(ask.after.clone());
        Error::field(Kind::Invalid, &["query", "cursor"], "must be `next_cursor` of the page before", input)
    })?;
    let from = after.map(|seq| place(incident, seq.saturating_add(1)));
    let request = PageRequest::of(ask.limit).starting_at(from);
    let page = store.record_page::<TimelineEntry>(format!("{incident}/"), request)?;
    let items: Vec<TimelineEntry> = page.items.into_iter().map(|(_, entry)| entry).collect();
    let next = page.next.and_then(|_| items.last().map(|entry| entry.seq.to_string()));
    Ok(Page { items, next })
}
