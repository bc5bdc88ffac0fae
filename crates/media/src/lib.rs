//! Pictures as bytes: formats by their first bytes, headers and metadata before any pixel, decoding within bounds,
//! measures and hashes.
//!
//! Pure: no file, network or clock. What reads bytes allocates nothing by a length that they declare. Decoding is behind
//! the feature `decode`; untrusted pictures are decoded in a process with a limit of memory and time, because a decoder's
//! own bounds are not strict.

#![warn(missing_docs)]

pub mod cursor;
#[cfg(feature = "decode")]
pub mod decode;
mod exif;
pub mod format;
pub mod hash;
pub mod header;
mod jpeg;
pub mod measure;
pub mod metadata;
mod png;
#[cfg(test)]
mod tests;
pub mod text;

pub use exif::Orientation;
pub use format::{Format, Recognised, recognise};
pub use header::{Header, HeaderError, Limits};
pub use measure::{Luma, Measures};
pub use metadata::Metadata;
