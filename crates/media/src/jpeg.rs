//! JPEG (ITU-T T.81): its segments up to the first scan.

use crate::cursor::Cursor;
use crate::exif;
use crate::format::Format;
use crate::header::{Header, HeaderError, Limits};
use crate::metadata::Metadata;

mod marker {
    pub(super) const START: u8 = 0xd8;
    pub(super) const END: u8 = 0xd9;
    pub(super) const SCAN: u8 = 0xda;
    pub(super) const APP1: u8 = 0xe1;
    pub(super) const APP13: u8 = 0xed;
}

/// Reads the segments before the first scan.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Header, HeaderError> {
    let mut cursor = Cursor::at(bytes, 2);
    let mut frame = None;
    let mut metadata = Metadata::default();
    let mut orientation = exif::Orientation::default();
    loop {
        let marker = next_marker(&mut cursor)?;
        if matches!(marker, 0x01 | 0xd0..=0xd7) {
            continue;
        }
        if matches!(marker, marker::START | marker::END) {
            return Err(HeaderError::Damaged("it ends before its image data"));
        }
        let data = segment(&mut cursor)?;
        match marker {
            marker::SCAN => break,
            0xc4 | 0xc8 | 0xcc => {}
            0xc0..=0xcf => {
                let found = Frame::read(marker, data)?;
                limits.check(found.width, found.height)?;
                if frame.replace(found).is_some() {
                    return Err(HeaderError::Damaged("it has two frame headers"));
                }
            }
            marker::APP1 => {
                if let Some(block) = data.strip_prefix(b"Exif\0\0") {
                    let exif = exif::read(block);
                    metadata.add(exif.metadata);
                    orientation = exif.orientation;
                } else if data.starts_with(b"http://ns.adobe.com/") {
                    metadata.add_xmp(data);
                }
            }
            // IPTC in a Photoshop block may have place, date and names.
            marker::APP13 => metadata.unread = true,
            _ => {}
        }
    }
    let frame = frame.ok_or(HeaderError::Damaged("it has no frame header before its first scan"))?;
    Ok(Header {
        format: Format::Jpeg,
        width: frame.width,
        height: frame.height,
        bit_depth: frame.bit_depth,
        channels: frame.channels,
        frames: 1,
        orientation,
        metadata,
    })
}

/// Takes a marker; it may have fill bytes before it.
fn next_marker(cursor: &mut Cursor<'_>) -> Result<u8, HeaderError> {
    let cut = HeaderError::Truncated("list of segments");
    if cursor.u8().ok_or(cut)? != 0xff {
        return Err(HeaderError::Damaged("a segment does not begin with a marker"));
    }
    loop {
        match cursor.u8().ok_or(cut)? {
            0xff => {}
            0 => return Err(HeaderError::Damaged("a segment does not begin with a marker")),
            marker => return Ok(marker),
        }
    }
}

fn segment<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], HeaderError> {
    let length = cursor.u16_be().ok_or(HeaderError::Truncated("list of segments"))?;
    let length =
        usize::from(length).checked_sub(2).ok_or(HeaderError::Damaged("a segment is shorter than its length"))?;
    cursor.take(length).ok_or(HeaderError::Truncated("last segment"))
}

struct Frame {
    width: u32,
    height: u32,
    bit_depth: u8,
    channels: u8,
}

impl Frame {
    fn read(marker: u8, data: &[u8]) -> Result<Self, HeaderError> {
        match marker {
            0xc0..=0xc2 => {}
            0xc3 | 0xc7 | 0xcb | 0xcf => return Err(HeaderError::Unsupported("a lossless JPEG")),
            0xc9..=0xce => return Err(HeaderError::Unsupported("a JPEG with arithmetic coding")),
            _ => return Err(HeaderError::Unsupported("a hierarchical JPEG")),
        }
        let mut cursor = Cursor::new(data);
        let fields = (|| Some((cursor.u8()?, cursor.u16_be()?, cursor.u16_be()?, cursor.u8()?)))();
        let (bit_depth, height, width, channels) = fields.ok_or(HeaderError::Truncated("frame header"))?;
        if bit_depth != 8 {
            return Err(HeaderError::Unsupported("a JPEG of more than 8 bits a sample"));
        }
        if !matches!(channels, 1 | 3 | 4) {
            return Err(HeaderError::Damaged("its frame has neither 1, 3 nor 4 components"));
        }
        if data.len() != 6 + 3 * usize::from(channels) {
            return Err(HeaderError::Damaged("its frame header does not have the length of its components"));
        }
        Ok(Self { width: width.into(), height: height.into(), bit_depth, channels })
    }
}
