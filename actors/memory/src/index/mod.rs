//! The indexes in memory: shards that own collections, brought up from checkpoints and the store.
//!
//! Owners fall into slots, slots into shards, each an actor on a thread of its own: a search takes no time of an HTTP
//! thread, and one owner is always with the same shard. The writer tells the shards of each durable change before it
//! answers; what a shard misses while it is down or overloaded, it reads from `Tree::MemoryChanges` before it answers the
//! next search. At its start a shard answers at once with what it is told from then on, while a loader beside it reads
//! checkpoints, or the store where there is none that is good, and hands over slot by slot (`loader`).
//!
//! What is found is a proposal: whoever shows it reads the entry from the store first.

mod actor;
mod catch_up;
mod checkpoints;
mod kit;
mod lacking;
mod loader;
mod messages;
mod published;
mod query;
mod ranking;
mod rebuild;
mod service;
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
