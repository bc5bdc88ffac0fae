//! Dense vectors by document: nearest neighbours by cosine, exact or approximate.
//!
//! A vector is stored as 16-bit codes with its own step, split into two planes of 8 bits. Scans and the graph read the
//! high plane; the low plane decides the order of the remaining candidates, so that results are as exact as the codes
//! (cosines within 1e-5). All products are integers: every machine ranks alike.
//!
//! Small collections are scanned. Above [`VectorOptions::exact_below`] an HNSW graph is built incrementally by
//! [`VectorIndex::work`]; vectors not yet in it are scanned.

mod codec;
mod dots;
mod error;
mod graph;
mod index;
mod options;
mod quantized;
mod ranked;
mod rows;
mod scan;
#[cfg(test)]
mod tests;
mod vectors;

pub use error::{DecodeError, InvalidVector};
pub use index::VectorIndex;
pub use options::VectorOptions;
