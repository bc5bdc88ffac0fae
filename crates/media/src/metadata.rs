//! Kinds of metadata that a picture carries. Values are never kept.

use serde::{Deserialize, Serialize};

/// Kinds of metadata that were found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// A position.
    pub gps: bool,
    /// Maker, model, serial number or software of a device.
    pub device: bool,
    /// A date or time.
    pub time: bool,
    /// A block of metadata that was not opened, because it is compressed or of another standard.
    pub unread: bool,
}

/// Largest part of an XMP packet that is searched.
const MAX_XMP: usize = 256 << 10;

impl Metadata {
    /// Adds the kinds of another.
    pub fn add(&mut self, other: Self) {
        self.gps |= other.gps;
        self.device |= other.device;
        self.time |= other.time;
        self.unread |= other.unread;
    }

    /// Adds the kinds that an XMP packet names (ISO 16684-1; the properties of `exif`, `tiff`, `xmp` and `photoshop`).
    pub(crate) fn add_xmp(&mut self, packet: &[u8]) {
        let packet = packet.get(..packet.len().min(MAX_XMP)).unwrap_or_default();
        let names = |words: &[&str]| words.iter().any(|word| contains(packet, word.as_bytes()));
        self.gps |= names(&["GPSLatitude", "GPSLongitude", "GPSPosition"]);
        self.device |= names(&["tiff:Model", "tiff:Make", "CreatorTool", "SerialNumber"]);
        self.time |= names(&["CreateDate", "ModifyDate", "MetadataDate", "DateTimeOriginal", "DateCreated"]);
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
