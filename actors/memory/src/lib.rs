//! Semantic memory: durable entries by owner, namespace and key, with an optional expiry time, found by words and by
//! vectors.
//!
//! One actor writes: it decides in memory, passes its decisions to the store in ordered batches, and responds once a
//! batch is durable and indexed. Reads go to the store, and omit entries that have expired by the time of the response.
//! Search results are read from the store again before they are returned: an index may be late, never wrong.

#![warn(missing_docs)]

mod actor;
mod check;
mod checkpoint;
mod cursor;
mod decision;
mod embed;
mod forget;
mod index;
mod keys;
mod messages;
mod names;
mod owner_data;
mod port;
mod reads;
mod record;
mod republish;
mod responses;
mod search;
mod service;
mod settings;
mod snippets;
mod state;
mod stored;
mod sweep;
#[cfg(test)]
mod tests;
mod thread;
mod usage_cache;
mod write;

pub use check::{MAX_QUERY, MAX_TAGS, MAX_TTL, MAX_VALUE};
pub use embed::{EmbedFault, EmbedStats, Embedder, ModelTag, Readiness, Vectors};
pub use index::{IndexOptions, IndexStats, Indexes, Ranking, ShardStats};
pub use keys::{entry as entry_key, vector as vector_key};
pub use messages::{
    ForgottenCounts, FoundEntry, IndexState, ListParams, NewEntry, Precondition, SearchParams, SearchResponse,
    SpaceStats, Stats, StoreResponse,
};
pub use muster_retrieval::{Explain, Hit, Mode, Query};
pub use names::{InvalidName, MAX_KEY, MAX_NAME, NAMESPACE, invalid_name, is_namespace};
pub use port::{
    Applied, AppliedKind, ApplyOutcome, Candidate, Candidates, Highlight, Index, IndexHealth, IndexSearch, IndexSink,
    NewVector, OwnerIndexStats, PutVectors, Searcher,
};
pub use record::{EntryId, EntryRecord, InvalidEntryId, Owner, Place, RetainedVersion, Space, Usage, VectorRecord};
pub use service::{Memory, MemoryOptions};
pub use settings::{DEFAULT_NAMESPACE, MemorySettings};
pub use stored::{last_change, stored_entries};
