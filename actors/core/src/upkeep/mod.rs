//! Periodic maintenance beside the serving of requests, such as snapshots of the store.

mod actor;

pub use actor::{PeriodicJob, UpkeepActor, start};
