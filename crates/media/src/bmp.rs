//! Windows bitmaps: their headers.

use crate::Orientation;
use crate::cursor::Cursor;
use crate::format::Format;
use crate::header::{Header, HeaderError};
use crate::metadata::Metadata;

/// Size of the header of OS/2, whose sides have 16 bits.
const CORE: u32 = 12;

/// Reads the headers.
pub(crate) fn read(bytes: &[u8]) -> Result<Header, HeaderError> {
    let mut cursor = Cursor::at(bytes, 14);
    let (width, height, bits) = sides(&mut cursor).ok_or(HeaderError::Truncated("header"))?;
    if width < 0 {
        return Err(HeaderError::Damaged("its width is negative"));
    }
    if !matches!(bits, 1 | 2 | 4 | 8 | 16 | 24 | 32) {
        return Err(HeaderError::Unsupported("a bitmap of an unusual number of bits a pixel"));
    }
    Ok(Header {
        format: Format::Bmp,
        width: width.unsigned_abs(),
        // A negative height means rows from the top.
        height: height.unsigned_abs(),
        bit_depth: 8,
        channels: match bits {
            32 => 4,
            16 | 24 => 3,
            _ => 1,
        },
        frames: 1,
        orientation: Orientation::Upright,
        metadata: Metadata::default(),
    })
}

/// Width, height, bits of a pixel.
fn sides(cursor: &mut Cursor<'_>) -> Option<(i32, i32, u16)> {
    let (width, height) = if cursor.u32_le()? == CORE {
        (cursor.u16_le()?.into(), cursor.u16_le()?.into())
    } else {
        (cursor.u32_le()?.cast_signed(), cursor.u32_le()?.cast_signed())
    };
    cursor.u16_le()?;
    Some((width, height, cursor.u16_le()?))
}
