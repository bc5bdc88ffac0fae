//! Semantic memory: entries by owner, namespace and key, durable, found by words and by meaning, gone at their time.
//!
//! One actor writes: it decides in memory, hands what it decided to the store in ordered batches, and answers once a
//! batch is durable and the indexes have it. Reads go to the store, and look at the clock as they answer. What is found
//! by a search is read from the store again before it is shown: an index can be late, never wrong.

mod actor;
mod answers;
mod check;
mod checkpoint;
mod cursor;
mod decision;
mod embed;
mod forget;
mod index;
mod messages;
mod names;
mod place;
mod port;
mod reads;
mod record;
mod republish;
mod search;
mod service;
mod settings;
mod snippets;
mod state;
mod stored;
mod sweep;
mod tallies;
#[cfg(test)]
mod tests;
mod thread;
mod traces;
mod write;

pub use check::{MAX_QUERY, MAX_TAGS, MAX_TTL, MAX_VALUE};
pub use embed::{EmbedFault, EmbedFigures, Embedder, ModelTag, Readiness, Vectors};
pub use index::{IndexOptions, IndexStats, Indexes, Ranking, ShardStats};
pub use messages::{
    Forgotten, FoundEntry, IndexState, ListAsk, NewEntry, Precondition, SearchAsk, SearchReply, SpaceStats, Stats,
    StoreReply,
};
pub use muster_retrieval::{Explain, Hit, Mode, Query};
pub use names::{MAX_KEY, MAX_NAME, NAMESPACE, Unfit, is_namespace, unfit};
pub use place::{change as change_key, entry as entry_key, of_owner, of_space, vector as vector_key};
pub use port::{
    Applied, AppliedKind, Candidate, Candidates, Highlight, Index, IndexAsk, IndexFigures, IndexHealth, IndexSink,
    NewVector, PutVectors, Searcher, Taken,
};
pub use record::{Change, EntryId, EntryRecord, Kept, NoEntryId, Owner, Place, Space, Tally, VectorRecord};
pub use service::{Memory, MemoryOptions};
pub use settings::{DEFAULT_NAMESPACE, MemorySettings};
pub use stored::{changes, entries, entry, entry_by_id, last_change, place_of, vector};
