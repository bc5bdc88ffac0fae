//! Requests and responses of the service.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::port::{Highlight, IndexHealth, OwnerIndexStats};
use super::record::{EntryRecord, Usage};
use muster_core::page::PageParams;
use muster_core::precondition::IfMatch;
use muster_retrieval::{Hit, Mode, Query};

/// An entry to be stored. An entry of the namespace with the same key is replaced.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewEntry {
    /// Key: 1 to 512 bytes without control characters.
    pub key: String,
    /// Value: at most 256 KiB.
    pub value: String,
    /// At most 64 tags of 1 to 128 bytes without control characters. Duplicates are removed.
    pub tags: Vec<String>,
    /// Time to live in seconds, 1 to 315,360,000 (ten years); `None` for unlimited.
    pub ttl_seconds: Option<u64>,
    /// Namespace: 1 to 128 of `A-Z a-z 0-9 . _ : / -`; `default` if `None`.
    pub namespace: Option<String>,
    /// Thread that the entry belongs to, such as a conversation: 1 to 128 bytes without control characters. If `None`, it
    /// is derived from the tags `conversation:…`, `conv:…`, `thread:…` and `session:…`.
    pub thread: Option<String>,
    /// Importance, 0 to 1.
    pub importance: Option<f32>,
    /// Language tag (BCP 47), such as `de`; detected from the value if `None`.
    pub language: Option<String>,
}

/// Condition on the stored entry under which a change is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precondition {
    /// No condition.
    #[default]
    None,
    /// The entry exists, at this version (`If-Match`).
    Match(IfMatch),
    /// The entry does not exist (`If-None-Match: *`).
    Absent,
}

/// How an entry can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexState {
    /// By words and by its vector.
    Indexed,
    /// By words only: its vector has not been computed yet, or there is no model.
    Text,
    /// Not yet: the entry is durable and is found once the index has caught up.
    Pending,
}

/// Response to a request that stores an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreResponse {
    /// The stored version.
    pub record: Arc<EntryRecord>,
    /// Whether the entry is new rather than replaced.
    pub created: bool,
    /// How the entry can be found now.
    pub index_state: IndexState,
    /// Whether this is the stored response to an earlier request with the same `Idempotency-Key`.
    pub replayed: bool,
}

/// Parameters of a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchParams {
    /// The query. Its limit, 1 to 200, is the size of the page; its offset is determined by `after`.
    pub query: Query,
    /// Namespace to search; `None` for all of the caller's own. A shared namespace must be named.
    pub namespace: Option<String>,
    /// `next` of the previous page of the same search; `None` for the first page.
    pub after: Option<String>,
}

/// Results of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResponse {
    /// The ranking that was used: `Text` if there is no vector of the query.
    pub mode: Mode,
    /// Found entries, best first.
    pub hits: Vec<FoundEntry>,
    /// Number of matching entries on all pages.
    pub total: usize,
    /// Cursor of the next page; `None` on the last.
    pub next: Option<String>,
    /// Duration of the search.
    pub took: Duration,
    /// Messages for the caller, such as why vectors did not count.
    pub warnings: Vec<String>,
    /// Whether the searched index is complete.
    pub index: IndexHealth,
}

/// A search result: an entry as it is stored now, with its scores.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundEntry {
    /// The current version.
    pub record: Arc<EntryRecord>,
    /// Position in the results of all pages, from 1.
    pub rank: usize,
    /// Its scores, and its neighbours in its thread.
    pub hit: Hit,
    /// Parts of the value that match the query.
    pub highlights: Vec<Highlight>,
}

/// Parameters of a list of entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListParams {
    /// Namespace to list; `None` for all of the caller's own. A shared namespace must be named.
    pub namespace: Option<String>,
    /// Tags that an entry must all have.
    pub tags: Vec<String>,
    /// Prefix of an entry's key.
    pub key_prefix: Option<String>,
    /// Thread of an entry.
    pub thread: Option<String>,
    /// Size of the page, and cursor of the previous one.
    pub page: PageParams,
}

/// Numbers of records deleted with an owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenCounts {
    /// Entries.
    pub entries: u64,
    /// Retained replaced versions.
    pub versions: u64,
    /// Vectors.
    pub vectors: u64,
}

/// Usage of one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceStats {
    /// Name of the namespace.
    pub namespace: Arc<str>,
    /// Number and size of its entries.
    pub usage: Usage,
}

/// Statistics of an owner's memory. Expired entries count until they are swept, at most seconds later.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// Number and size of all entries.
    pub usage: Usage,
    /// The same by namespace, ordered by name; at most the first 1,000.
    pub namespaces: Vec<SpaceStats>,
    /// Statistics of the index; `None` if it does not respond.
    pub index: Option<OwnerIndexStats>,
    /// Whether the indexes are complete.
    pub health: IndexHealth,
}
