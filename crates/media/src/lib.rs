//! Pictures as bytes: formats by their first bytes, headers and metadata before any pixel, decoding within bounds,
//! measures and hashes. Texts in pieces: what must survive a translation, and the segments that are translated.
//!
//! Pure: no network or clock, and no file but a language table that the caller has opened. What reads bytes allocates
//! nothing by a length that they declare. Decoding is behind the feature `decode`; untrusted pictures are decoded in a
//! process with a limit of memory and time, because a decoder's own bounds are not strict.

#![warn(missing_docs)]

mod bmp;
pub mod colours;
pub mod cursor;
#[cfg(feature = "decode")]
pub mod decode;
#[cfg(feature = "decode")]
pub mod encode;
mod exif;
#[cfg(feature = "decode")]
pub mod fit;
pub mod format;
mod gif;
pub mod hash;
pub mod header;
mod jpeg;
pub mod languages;
pub mod marks;
pub mod measure;
pub mod metadata;
mod png;
pub mod rgb;
pub mod segments;
#[cfg(feature = "decode")]
mod shrink;
#[cfg(feature = "sketch")]
pub mod sketch;
#[cfg(test)]
mod tests;
pub mod text;
mod webp;

pub use exif::Orientation;
pub use format::{Format, Recognised, recognise};
pub use header::{Header, HeaderError, Limits};
pub use measure::{Luma, Measures};
pub use metadata::Metadata;
pub use rgb::Rgb;
