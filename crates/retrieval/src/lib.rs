//! Ranked search over entries held in memory: words and vectors, scored together.
//!
//! Pure: no clock, no store, no network, no actor; the same entries and query always give the same answer.
//!
//! A [`Collection`] holds what is known of one namespace's entries, without their values. [`search`] asks one or several
//! of one owner. How an entry is ranked stands in [`rank`], what its words count in [`text`], how near vectors are found
//! in [`vector`]; every figure that was chosen is a named constant or option with its reason. `make bench-retrieval`
//! measures it.

pub mod analysis;
mod best_first;
pub mod collection;
mod doc_no;
mod filter;
pub mod highlight;
mod pieces;
pub mod rank;
pub mod text;
pub mod vector;

pub use analysis::{Analyzed, Language, Languages, analyze, detect};
pub use collection::{Collection, CollectionOptions, DecodeError, Document, passages};
pub use doc_no::DocNo;
pub use filter::Filter;
pub use highlight::{Highlight, highlights};
pub use rank::{Explain, Found, Hit, Mode, Query, QueryContext, search};
pub use text::{Bm25, Neighbours, Resolved, Statistics, StopWords, TermPart, TextIndex, TextOptions, TextQuery};
pub use vector::{BadVector, VectorIndex, VectorOptions};
