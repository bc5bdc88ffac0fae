//! What semantic memory is asked, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::port::{Highlight, IndexFigures, IndexHealth};
use super::record::{EntryRecord, Tally};
use muster_core::page::PageAsk;
use muster_core::precondition::IfMatch;
use muster_retrieval::{Hit, Mode, Query};

/// An entry to be stored: a known key of the namespace is replaced.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewEntry {
    /// 1 to 512 bytes, no control characters.
    pub key: String,
    /// Up to 256 KiB.
    pub value: String,
    /// At most 64, of 1 to 128 bytes each, no control characters; one that comes twice counts once.
    pub tags: Vec<String>,
    /// 1 to 315,360,000 (ten years); `None` is for ever.
    pub ttl_seconds: Option<u64>,
    /// 1 to 128 of `A-Z a-z 0-9 . _ : / -`; `default` where none is said.
    pub namespace: Option<String>,
    /// What it is a part of, such as a conversation: 1 to 128 bytes, no control characters. Where none is said, the tags
    /// `conversation:…`, `conv:…`, `thread:…` and `session:…` name it.
    pub thread: Option<String>,
    /// 0 to 1.
    pub importance: Option<f32>,
    /// A language tag (BCP 47), such as `de`: told by the value where none is said.
    pub language: Option<String>,
}

/// What must hold of the entry that a request would change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precondition {
    #[default]
    None,
    /// It is there, at that version.
    Match(IfMatch),
    /// It is not there (`If-None-Match: *`).
    Absent,
}

/// How an entry can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexState {
    /// By text and by meaning.
    Indexed,
    /// By text; what a model makes of it is not there yet, or there is no model.
    Text,
    /// Durable, and found once the index has caught up.
    Pending,
}

/// The answer to a store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreReply {
    pub record: Arc<EntryRecord>,
    /// No entry was there before.
    pub created: bool,
    pub index_state: IndexState,
    /// This answer was given before, to the same `Idempotency-Key`.
    pub replayed: bool,
}

/// A search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchAsk {
    /// What to find. Its limit, 1 to 200, is the size of the page; its offset is determined by `after`.
    pub query: Query,
    /// `None`: all namespaces of the caller's own. A shared one must be named.
    pub namespace: Option<String>,
    /// `next` of the page before, of the same search.
    pub after: Option<String>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchReply {
    /// The ranking that was used: `Text` where there is no model.
    pub mode: Mode,
    /// Best first.
    pub hits: Vec<FoundEntry>,
    /// Entries that match, those on other pages among them.
    pub total: usize,
    /// The cursor of the next page; `None` at the end.
    pub next: Option<String>,
    pub took: Duration,
    pub warnings: Vec<String>,
    pub index: IndexHealth,
}

/// An entry that answers a search, as it is stored now.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundEntry {
    pub record: Arc<EntryRecord>,
    /// From 1, over all pages.
    pub rank: usize,
    /// Its scores and its neighbours in its thread.
    pub hit: Hit,
    pub highlights: Vec<Highlight>,
}

/// Which entries a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListAsk {
    /// All of the asker's own namespaces where none is said; a shared one must be.
    pub namespace: Option<String>,
    /// Every one of them.
    pub tags: Vec<String>,
    pub key_prefix: Option<String>,
    pub thread: Option<String>,
    pub page: PageAsk,
}

/// What was deleted with an owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    pub entries: u64,
    /// Replaced versions.
    pub versions: u64,
    pub vectors: u64,
}

/// Figures of one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceStats {
    pub namespace: Arc<str>,
    pub tally: Tally,
}

/// Figures of an owner's memory. Expired entries count until they are swept, at most seconds later.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    pub tally: Tally,
    /// At most the first thousand, by name.
    pub namespaces: Vec<SpaceStats>,
    /// `None` where the index does not answer.
    pub index: Option<IndexFigures>,
    pub health: IndexHealth,
}
