//! In-memory indexes: shards that own collections, loaded from checkpoints and the store.
//!
//! Owners are assigned to slots, slots to shards, and each shard is an actor on its own thread: a search takes no time
//! of an HTTP thread, and one owner always belongs to the same shard. The writer sends each durable change to the
//! shards before it responds; a shard reads changes that it missed while down or overloaded from `Tree::MemoryChanges`
//! before it answers the next search. At start a shard answers immediately from new changes, while a loader reads
//! checkpoints, or the store if there is no valid one, and installs slot by slot (`loader`).
//!
//! Search results are candidates: their entries are read from the store before they are returned.

mod actor;
mod catch_up;
mod checkpoints;
mod loader;
mod messages;
mod missing_vectors;
mod published;
mod query;
mod ranking;
mod rebuild;
mod service;
mod shard_context;
mod shards;
mod slot;
mod stats;
#[cfg(test)]
pub(super) mod tests;
mod timings;
mod trim;

pub use ranking::Ranking;
pub use service::{IndexOptions, Indexes};
pub use stats::{IndexStats, ShardStats};
