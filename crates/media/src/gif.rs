//! GIF (87a and 89a): its screen, its first picture, and the number of pictures.

use crate::Orientation;
use crate::cursor::Cursor;
use crate::format::Format;
use crate::header::{Header, HeaderError, Limits};
use crate::metadata::Metadata;

const PICTURE: u8 = 0x2c;
const EXTENSION: u8 = 0x21;
const END: u8 = 0x3b;

/// Reads the blocks without their data.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Header, HeaderError> {
    let mut cursor = Cursor::at(bytes, 6);
    let screen = || HeaderError::Truncated("screen descriptor");
    let (width, height) = (cursor.u16_le().ok_or_else(screen)?, cursor.u16_le().ok_or_else(screen)?);
    let flags = cursor.u8().ok_or_else(screen)?;
    cursor.take(2).ok_or_else(screen)?;
    cursor.take(table(flags)).ok_or(HeaderError::Truncated("colour table"))?;
    let mut frames = 0_u32;
    // Nothing but the first picture is needed: what is broken behind it ends the count.
    while let Some(kind) = cursor.u8() {
        let read = match kind {
            PICTURE => picture(&mut cursor),
            EXTENSION => cursor.u8().and_then(|_| blocks(&mut cursor)).map(|()| (0, 0)),
            _ if kind == END || frames > 0 => break,
            _ => return Err(HeaderError::Damaged("it has an unknown block")),
        };
        if kind == PICTURE {
            let first = frames == 0;
            if first {
                let (width, height) = read.ok_or(HeaderError::Truncated("first picture"))?;
                limits.check(width, height)?;
            }
            frames += 1;
        }
        if read.is_none() {
            break;
        }
    }
    if frames == 0 {
        return Err(HeaderError::Damaged("it holds no picture"));
    }
    Ok(Header {
        format: Format::Gif,
        width: width.into(),
        height: height.into(),
        bit_depth: 8,
        channels: 1,
        frames,
        orientation: Orientation::Upright,
        metadata: Metadata::default(),
    })
}

/// Bytes of a colour table by its flags.
fn table(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Passes a picture; returns its width and height.
fn picture(cursor: &mut Cursor<'_>) -> Option<(u32, u32)> {
    cursor.take(4)?;
    let (width, height) = (cursor.u16_le()?, cursor.u16_le()?);
    let flags = cursor.u8()?;
    cursor.take(table(flags))?;
    cursor.u8()?;
    blocks(cursor)?;
    Some((width.into(), height.into()))
}

/// Passes blocks up to the empty one.
fn blocks(cursor: &mut Cursor<'_>) -> Option<()> {
    loop {
        match cursor.u8()? {
            0 => return Some(()),
            length => cursor.take(length.into())?,
        };
    }
}
