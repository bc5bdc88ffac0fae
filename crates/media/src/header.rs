//! Headers of pictures, read before any pixel.

use serde::{Deserialize, Serialize};

use crate::exif::Orientation;
use crate::format::Format;
use crate::metadata::Metadata;
use crate::{bmp, gif, jpeg, png, webp};

/// What the header of a picture declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Format.
    pub format: Format,
    /// Stored columns.
    pub width: u32,
    /// Stored rows.
    pub height: u32,
    /// Bits of a sample.
    pub bit_depth: u8,
    /// Samples of a pixel as stored; 1 for an index into a palette.
    pub channels: u8,
    /// Number of pictures: more than one if it is animated.
    pub frames: u32,
    /// How the picture is to be shown.
    pub orientation: Orientation,
    /// Kinds of metadata.
    pub metadata: Metadata,
}

/// Why a header cannot be read or is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// A part begins or ends beyond the bytes.
    #[error("is cut off: the {0} is not complete")]
    Truncated(&'static str),
    /// A value that the format does not permit.
    #[error("is damaged: {0}")]
    Damaged(&'static str),
    /// A variant that is not read.
    #[error("is {0}, which is not read: save it as an 8-bit baseline JPEG or as PNG")]
    Unsupported(&'static str),
    /// A side is longer than is accepted.
    #[error("is {width} by {height} pixels, and a side may have at most {most}: scale it down")]
    Side {
        /// Declared columns.
        width: u32,
        /// Declared rows.
        height: u32,
        /// Most pixels of a side.
        most: u32,
    },
    /// More pixels than are accepted.
    #[error("is {width} by {height} pixels, and at most {} million pixels are accepted: scale it down", .most / 1_000_000)]
    Pixels {
        /// Declared columns.
        width: u32,
        /// Declared rows.
        height: u32,
        /// Most pixels.
        most: u64,
    },
}

/// Most pixels that a header may declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pixels of a frame.
    pub pixels: u64,
    /// Pixels of a side.
    pub side: u32,
}

impl Header {
    /// Returns width and height of the picture as it is shown.
    #[must_use]
    pub const fn upright(&self) -> (u32, u32) {
        if self.orientation.exchanges_sides() { (self.height, self.width) } else { (self.width, self.height) }
    }
}

impl Limits {
    /// Checks declared dimensions.
    ///
    /// # Errors
    /// `Side`, `Pixels`, or `Damaged` where there is no pixel.
    pub fn check(&self, width: u32, height: u32) -> Result<(), HeaderError> {
        if width == 0 || height == 0 {
            return Err(HeaderError::Damaged("it has no pixel by its header"));
        }
        if width > self.side || height > self.side {
            return Err(HeaderError::Side { width, height, most: self.side });
        }
        if u64::from(width) * u64::from(height) > self.pixels {
            return Err(HeaderError::Pixels { width, height, most: self.pixels });
        }
        Ok(())
    }
}

/// Reads the header of a picture and checks its dimensions.
///
/// # Errors
/// Why it cannot be read or is not accepted.
pub fn read(bytes: &[u8], format: Format, limits: &Limits) -> Result<Header, HeaderError> {
    let header = match format {
        Format::Png => png::read(bytes, limits)?,
        Format::Jpeg => jpeg::read(bytes, limits)?,
        Format::Webp => webp::read(bytes, limits)?,
        Format::Gif => gif::read(bytes, limits)?,
        Format::Bmp => bmp::read(bytes)?,
    };
    limits.check(header.width, header.height)?;
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_accepted_up_to_the_bounds() {
        let limits = Limits { pixels: 40_000_000, side: 16_384 };
        assert_eq!(limits.check(8_000, 5_000), Ok(()));
        assert!(matches!(limits.check(8_000, 5_001), Err(HeaderError::Pixels { .. })));
        assert_eq!(limits.check(16_384, 1), Ok(()));
        assert!(matches!(limits.check(1, 16_385), Err(HeaderError::Side { .. })));
        assert!(matches!(limits.check(u32::MAX, u32::MAX), Err(HeaderError::Side { .. })));
        assert!(matches!(limits.check(0, 5), Err(HeaderError::Damaged(_))));
        let message = limits.check(8_000, 5_001).unwrap_err().to_string();
        assert_eq!(message, "is 8000 by 5001 pixels, and at most 40 million pixels are accepted: scale it down");
    }
}
