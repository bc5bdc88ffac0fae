//! Words: tokens, stems, similarity, extraction, versions: what engines of several families compute with.

#![warn(missing_docs)]

pub mod bayes;
pub mod facts;
pub mod quantities;
pub mod stop;
pub mod syllables;
pub mod tokens;
pub mod units;
pub mod versions;
