//! Ranked search over entries held in memory: words and vectors, scored together.
//!
//! Pure: no clock, no store, no network, no actor; the same entries and query always give the same answer.

pub mod analysis;
mod doc_no;
mod filter;
pub mod highlight;
pub mod text;

pub use analysis::{Analyzed, Language, Languages, analyze, detect};
pub use doc_no::DocNo;
pub use filter::Filter;
pub use highlight::{Highlight, highlights};
pub use text::{
    Bm25, DecodeError, Neighbours, Resolved, Statistics, StopWords, TermPart, TextIndex, TextOptions, TextQuery,
};
