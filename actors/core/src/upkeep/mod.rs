//! Upkeep: what must be done again and again beside the requests, such as the store's snapshots.

mod actor;

pub use actor::{Job, UpkeepActor, start};
