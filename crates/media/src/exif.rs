//! Exif (CIPA DC-008): which kinds of tags are there, and how the picture is oriented.

use serde::{Deserialize, Serialize};

use crate::cursor::Cursor;
use crate::metadata::Metadata;

/// How stored rows and columns are shown: the values 1 to 8 of the Exif tag `Orientation`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Orientation {
    /// 1: as stored.
    #[default]
    Upright,
    /// 2: mirrored left to right.
    Mirrored,
    /// 3: turned by 180°.
    UpsideDown,
    /// 4: mirrored top to bottom.
    Flipped,
    /// 5: rows and columns exchanged.
    Transposed,
    /// 6: to be turned by 90° clockwise.
    QuarterClockwise,
    /// 7: rows and columns exchanged, then turned by 180°.
    Transversed,
    /// 8: to be turned by 90° counterclockwise.
    QuarterCounterclockwise,
}

impl Orientation {
    fn from_exif(value: u16) -> Option<Self> {
        Some(match value {
            1 => Self::Upright,
            2 => Self::Mirrored,
            3 => Self::UpsideDown,
            4 => Self::Flipped,
            5 => Self::Transposed,
            6 => Self::QuarterClockwise,
            7 => Self::Transversed,
            8 => Self::QuarterCounterclockwise,
            _ => return None,
        })
    }

    /// Returns whether width and height of the picture as shown are exchanged.
    #[must_use]
    pub const fn exchanges_sides(self) -> bool {
        matches!(self, Self::Transposed | Self::QuarterClockwise | Self::Transversed | Self::QuarterCounterclockwise)
    }
}

/// What an Exif block says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Exif {
    pub(crate) metadata: Metadata,
    pub(crate) orientation: Orientation,
}

/// Most entries of a directory that are read.
const MAX_ENTRIES: u16 = 1_000;
/// Type SHORT of a value.
const SHORT: u16 = 3;

mod tag {
    pub(super) const ORIENTATION: u16 = 0x0112;
    pub(super) const EXIF: u16 = 0x8769;
    pub(super) const GPS: u16 = 0x8825;
    /// Make, Model, Software, HostComputer; MakerNote, CameraOwnerName to LensSerialNumber.
    pub(super) const DEVICE: [u16; 11] =
        [0x010f, 0x0110, 0x0131, 0x013c, 0x927c, 0xa430, 0xa431, 0xa432, 0xa433, 0xa434, 0xa435];
    /// DateTime, DateTimeOriginal, DateTimeDigitized.
    pub(super) const TIME: [u16; 3] = [0x0132, 0x9003, 0x9004];
}

#[derive(Clone, Copy)]
enum Directory {
    Main,
    Exif,
}

struct Tiff<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

/// Reads a TIFF structure as Exif embeds it. What is broken in it is passed over: a picture does not need it.
pub(crate) fn read(bytes: &[u8]) -> Exif {
    let big_endian = match bytes.get(..4) {
        Some(b"MM\0*") => true,
        Some(b"II*\0") => false,
        _ => return Exif { metadata: Metadata { unread: true, ..Metadata::default() }, ..Exif::default() },
    };
    let tiff = Tiff { bytes, big_endian };
    let mut exif = Exif::default();
    let first = tiff.u32(&mut Cursor::at(bytes, 4));
    if let Some(nested) = first.and_then(|offset| tiff.directory(offset, Directory::Main, &mut exif)) {
        tiff.directory(nested, Directory::Exif, &mut exif);
    }
    exif
}

impl Tiff<'_> {
    fn u16(&self, cursor: &mut Cursor<'_>) -> Option<u16> {
        if self.big_endian { cursor.u16_be() } else { cursor.u16_le() }
    }

    fn u32(&self, cursor: &mut Cursor<'_>) -> Option<u32> {
        if self.big_endian { cursor.u32_be() } else { cursor.u32_le() }
    }

    /// Reads a directory; returns the offset of the Exif directory, if it names one.
    fn directory(&self, offset: u32, kind: Directory, exif: &mut Exif) -> Option<u32> {
        let mut cursor = Cursor::at(self.bytes, usize::try_from(offset).ok()?);
        let entries = self.u16(&mut cursor)?.min(MAX_ENTRIES);
        let mut nested = None;
        for _ in 0..entries {
            let Some((tag, kind_of_value, value)) = self.entry(&mut cursor) else { break };
            exif.metadata.device |= tag::DEVICE.contains(&tag);
            exif.metadata.time |= tag::TIME.contains(&tag);
            match (kind, tag) {
                (Directory::Main, tag::ORIENTATION) if kind_of_value == SHORT => {
                    let value = self.u16(&mut Cursor::new(&value));
                    exif.orientation = value.and_then(Orientation::from_exif).unwrap_or_default();
                }
                (Directory::Main, tag::EXIF) => nested = self.u32(&mut Cursor::new(&value)),
                // A directory without an entry says nothing.
                (Directory::Main, tag::GPS) => {
                    let offset = self.u32(&mut Cursor::new(&value)).and_then(|offset| usize::try_from(offset).ok());
                    let entries = offset.and_then(|offset| self.u16(&mut Cursor::at(self.bytes, offset)));
                    exif.metadata.gps |= entries.is_some_and(|entries| entries > 0);
                }
                _ => {}
            }
        }
        nested
    }

    /// Tag, type, and the four bytes of the value or its offset.
    fn entry(&self, cursor: &mut Cursor<'_>) -> Option<(u16, u16, [u8; 4])> {
        let (tag, kind) = (self.u16(cursor)?, self.u16(cursor)?);
        let _count = self.u32(cursor)?;
        Some((tag, kind, cursor.array()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory at offset 8 with these entries (tag, type, value).
    fn tiff(entries: &[(u16, u16, u32)], more: &[u8]) -> Vec<u8> {
        let mut bytes = b"II*\0\x08\0\0\0".to_vec();
        bytes.extend(u16::try_from(entries.len()).unwrap().to_le_bytes());
        for (tag, kind, value) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(1_u32.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend([0; 4]);
        bytes.extend(more);
        bytes
    }

    #[test]
    fn kinds_and_orientation_are_read() {
        // The Exif directory is behind the main one: 8 + 2 + 4 · 12 + 4.
        let exif = [1, 0, 0x03, 0x90, 2, 0, 20, 0, 0, 0, 0, 0, 0, 0];
        let mut more = exif.to_vec();
        more.extend([1, 0]);
        let all = [(0x0110, 2, 0), (0x0112, 3, 6), (0x8769, 4, 62), (0x8825, 4, 76)];
        let found = read(&tiff(&all, &more));
        assert_eq!(found.orientation, Orientation::QuarterClockwise);
        assert_eq!(found.metadata, Metadata { gps: true, device: true, time: true, unread: false });
        assert!(found.orientation.exchanges_sides());
    }

    #[test]
    fn a_gps_directory_without_an_entry_is_no_position() {
        let found = read(&tiff(&[(0x8825, 4, 26)], &[0, 0]));
        assert_eq!(found, Exif::default());
    }

    #[test]
    fn broken_blocks_are_passed_over() {
        assert!(read(b"").metadata.unread && read(b"JUNK").metadata.unread);
        assert_eq!(read(b"MM\0*\xff\xff\xff\xff"), Exif::default());
        assert_eq!(read(b"II*\0\x04\0\0\0"), Exif::default());
        // The Exif directory is the main one again: it is read once more, not for ever.
        assert!(read(&tiff(&[(0x8769, 4, 8), (0x0132, 2, 0)], &[])).metadata.time);
    }
}
