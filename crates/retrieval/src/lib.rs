//! Ranked in-memory search over entries: words and vectors, scored together.
//!
//! It has no clock, store, network or actor: the same entries and query always give the same result.
//!
//! A [`Collection`] indexes one namespace's entries, without their values. [`search`] searches one or several
//! collections of one owner. Ranking is described in [`rank`], word scores in [`text`], vector search in [`vector`];
//! every tuned number is a named constant or option with its reason. `make bench-retrieval` measures speed and quality.

#![warn(missing_docs)]

pub mod analysis;
mod best_first;
mod chunks;
pub mod collection;
mod doc_no;
mod filter;
pub mod highlight;
pub mod rank;
pub mod text;
pub mod vector;

pub use analysis::{Analyzed, Language, Languages, analyze, detect};
pub use collection::{Collection, CollectionOptions, DecodeError, Document, passages};
pub use doc_no::DocNo;
pub use filter::Filter;
pub use highlight::{Highlight, highlights};
pub use rank::{Explain, Hit, Mode, Query, QueryContext, SearchResults, search};
pub use text::{Bm25, Neighbours, Resolved, Statistics, StopWords, TermPart, TextIndex, TextOptions, TextQuery};
pub use vector::{InvalidVector, VectorIndex, VectorOptions};
