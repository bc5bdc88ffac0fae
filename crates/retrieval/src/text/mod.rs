//! An inverted index with exact BM25.
//!
//! All of it is in pieces behind counted references, copied on write: a clone costs a count for each piece, and an insert
//! after it copies only what it touches. Terms and postings are bytes, not objects.

mod block;
mod bm25;
mod codec;
mod cursor;
mod dictionary;
mod documents;
mod explain;
mod forward;
mod found;
mod frame;
mod index;
mod look;
mod neighbours;
mod plan;
mod postings;
mod query;
mod resolved;
mod search;
mod statistics;
mod top;
mod varint;

#[cfg(test)]
mod tests;

use crate::pieces;

pub use bm25::Bm25;
pub use explain::TermPart;
pub use frame::DecodeError;
pub use index::{TextIndex, TextOptions};
pub use neighbours::Neighbours;
pub use query::{StopWords, TextQuery};
pub use resolved::Resolved;
pub use statistics::Statistics;
