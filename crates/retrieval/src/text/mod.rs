//! Inverted index with exact BM25.
//!
//! All data is in reference-counted chunks, copied on write: a clone costs one count per chunk, and a later insert
//! copies only the chunks it changes. Terms and postings are encoded as bytes.

mod accumulators;
mod block;
mod bm25;
mod codec;
mod cursor;
mod dictionary;
mod documents;
mod entry_scorer;
mod explain;
mod forward;
mod frame;
mod index;
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

use crate::chunks;

pub use bm25::Bm25;
pub use explain::TermPart;
pub use frame::DecodeError;
pub use index::{TextIndex, TextOptions};
pub use neighbours::Neighbours;
pub use query::{StopWords, TextQuery};
pub use resolved::Resolved;
pub use statistics::Statistics;
