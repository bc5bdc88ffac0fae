//! Storage of the house: one port, an embedded engine behind it.
//!
//! Knows nobody: no actor, no HTTP. A write that was acknowledged survives `kill -9`, and a power cut as far as the
//! disk keeps its word.

mod error;
mod port;

pub use error::StoreError;
pub use port::{Batch, Expect, Op, Order, Page, Rec, Report, Scan, Store, StoreStats, Tree};
