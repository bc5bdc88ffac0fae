//! Ranked search over entries held in memory: words and vectors, scored together.
//!
//! Pure: no clock, no store, no network, no actor; the same entries and query always give the same answer.

mod doc_no;
mod filter;
pub mod vector;

pub use doc_no::DocNo;
pub use filter::Filter;
pub use vector::{BadVector, VectorIndex, VectorOptions};
