//! Words: tokens, stems, similarity, extraction, versions: what engines of several families compute with.

#![warn(missing_docs)]

pub mod quantities;
pub mod versions;
