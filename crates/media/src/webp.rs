//! WebP (RFC 9649): its chunks.

use crate::Orientation;
use crate::cursor::Cursor;
use crate::exif;
use crate::format::Format;
use crate::header::{Header, HeaderError, Limits};
use crate::metadata::Metadata;

/// Flag of the chunk `VP8X`: some pixels are transparent.
const ALPHA: u8 = 0x10;
/// First bytes of a frame of VP8 behind its tag (RFC 6386, section 9.1).
const VP8_START: [u8; 3] = [0x9d, 0x01, 0x2a];
/// First byte of lossless data.
const LOSSLESS: u8 = 0x2f;

#[derive(Default)]
struct Found {
    canvas: Option<(u32, u32)>,
    picture: Option<(u32, u32)>,
    alpha: bool,
    frames: u32,
    metadata: Metadata,
    orientation: Orientation,
}

/// Reads the heads of the chunks, and Exif.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Header, HeaderError> {
    let mut cursor = Cursor::at(bytes, 12);
    let mut found = Found::default();
    while let Some(kind) = cursor.array::<4>() {
        let length = cursor.u32_le().ok_or(HeaderError::Truncated("chunk"))?;
        let length = usize::try_from(length).map_err(|_| HeaderError::Damaged("a chunk is too long"))?;
        // Metadata may be missing at the end, as the picture is there; a picture is not read without its end.
        let is_picture = matches!(&kind, b"VP8 " | b"VP8L" | b"VP8X" | b"ANMF");
        let Some(data) = cursor.take(length) else {
            if is_picture && found.picture.is_none() {
                return Err(HeaderError::Truncated("image data"));
            }
            break;
        };
        // Chunks begin at even places.
        let _ = cursor.take(length % 2);
        found.add(&kind, data, limits)?;
    }
    let picture = found.picture.ok_or(HeaderError::Damaged("it holds no picture"))?;
    let (width, height) = found.canvas.unwrap_or(picture);
    Ok(Header {
        format: Format::Webp,
        width,
        height,
        bit_depth: 8,
        channels: if found.alpha { 4 } else { 3 },
        frames: found.frames.max(1),
        orientation: found.orientation,
        metadata: found.metadata,
    })
}

impl Found {
    fn add(&mut self, kind: &[u8; 4], data: &[u8], limits: &Limits) -> Result<(), HeaderError> {
        match kind {
            b"VP8X" => {
                let sides = extended(data).ok_or(HeaderError::Truncated("header"))?;
                self.canvas = Some(sides);
                self.alpha |= data.first().is_some_and(|flags| flags & ALPHA != 0);
                limits.check(sides.0, sides.1)?;
            }
            b"VP8 " | b"VP8L" => {
                let sides = if kind == b"VP8 " { lossy(data) } else { lossless(data) };
                let sides = sides.ok_or(HeaderError::Damaged("its image data has no header"))?;
                limits.check(sides.0, sides.1)?;
                self.picture.get_or_insert(sides);
            }
            b"ANMF" => {
                let sides = frame(data).ok_or(HeaderError::Truncated("first picture"))?;
                limits.check(sides.0, sides.1)?;
                self.picture.get_or_insert(sides);
                self.frames += 1;
            }
            b"ALPH" => self.alpha = true,
            b"EXIF" => {
                let exif = exif::read(data.strip_prefix(b"Exif\0\0").unwrap_or(data));
                self.metadata.add(exif.metadata);
                self.orientation = exif.orientation;
            }
            b"XMP " => self.metadata.add_xmp(data),
            _ => {}
        }
        Ok(())
    }
}

fn u24(cursor: &mut Cursor<'_>) -> Option<u32> {
    cursor.array::<3>().map(|[low, middle, high]| u32::from_le_bytes([low, middle, high, 0]))
}

fn extended(data: &[u8]) -> Option<(u32, u32)> {
    let mut cursor = Cursor::at(data, 4);
    Some((u24(&mut cursor)? + 1, u24(&mut cursor)? + 1))
}

/// Width and height of a frame of an animation.
fn frame(data: &[u8]) -> Option<(u32, u32)> {
    let mut cursor = Cursor::at(data, 6);
    Some((u24(&mut cursor)? + 1, u24(&mut cursor)? + 1))
}

fn lossy(data: &[u8]) -> Option<(u32, u32)> {
    let mut cursor = Cursor::at(data, 3);
    (cursor.array()? == VP8_START).then_some(())?;
    // The upper two bits are a scale, which decoders ignore.
    Some((u32::from(cursor.u16_le()? & 0x3fff), u32::from(cursor.u16_le()? & 0x3fff)))
}

fn lossless(data: &[u8]) -> Option<(u32, u32)> {
    let mut cursor = Cursor::new(data);
    (cursor.u8()? == LOSSLESS).then_some(())?;
    let bits = cursor.u32_le()?;
    Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
}
