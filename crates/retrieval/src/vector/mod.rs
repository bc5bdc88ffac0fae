//! Dense vectors by document: what is nearest to a query by cosine, exactly or nearly.
//!
//! A vector is kept as 16-bit codes with a step of its own, split into two planes of 8 bits. The high plane is what scans
//! and the graph read; the low plane settles the order of the few that are left, so that no result is less exact than the
//! codes are (cosines within 1e-5). All products are integers: every machine ranks alike.
//!
//! Small collections are scanned. Above [`VectorOptions::exact_below`] a graph (HNSW) is grown beside the scan, in slices
//! that the owner asks for with [`VectorIndex::work`]; what it does not hold yet is scanned.

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

pub use error::{BadVector, DecodeError};
pub use index::VectorIndex;
pub use options::VectorOptions;
