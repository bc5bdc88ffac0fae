//! Formats by their first bytes. What a sender declares does not count.

use serde::{Deserialize, Serialize};

/// A format whose header and pixels can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Portable Network Graphics.
    Png,
    /// JPEG: baseline, extended or progressive Huffman coding.
    Jpeg,
    /// WebP, lossy or lossless; of an animation the first picture.
    Webp,
    /// GIF; the first picture.
    Gif,
    /// Windows bitmap.
    Bmp,
}

impl Format {
    /// Returns the media type.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
            Self::Bmp => "image/bmp",
        }
    }

    /// Returns the name, as people write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Webp => "WebP",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
        }
    }
}

/// What bytes are by their first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognised {
    /// A format of [`Format`].
    Picture(Format),
    /// DICOM Part 10: `DICM` behind a preamble of 128 bytes.
    Dicom,
    /// A known format that is not read, by its name.
    Other(&'static str),
}

/// Length of the preamble of a DICOM file.
pub const DICOM_PREAMBLE: usize = 128;
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Returns what the bytes are; `None` if they are no known format.
#[must_use]
pub fn recognise(bytes: &[u8]) -> Option<Recognised> {
    if bytes.starts_with(PNG) {
        return Some(Recognised::Picture(Format::Png));
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Some(Recognised::Picture(Format::Jpeg));
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some(Recognised::Picture(Format::Webp));
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Some(Recognised::Picture(Format::Gif));
    }
    // The preamble may be that of another format, such as TIFF, so that DICOM comes first.
    if bytes.get(DICOM_PREAMBLE..DICOM_PREAMBLE + 4) == Some(b"DICM") {
        return Some(Recognised::Dicom);
    }
    if is_bitmap(bytes) {
        return Some(Recognised::Picture(Format::Bmp));
    }
    other(bytes).map(Recognised::Other)
}

/// Two letters are too little to tell a bitmap from a text: the size of its second header must be one that exists.
fn is_bitmap(bytes: &[u8]) -> bool {
    let size = bytes.get(14..18).and_then(|size| <[u8; 4]>::try_from(size).ok()).map(u32::from_le_bytes);
    bytes.starts_with(b"BM") && matches!(size, Some(12 | 16 | 40 | 52 | 56 | 64 | 108 | 124))
}

fn other(bytes: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, magic: &[u8]| bytes.get(offset..).is_some_and(|rest| rest.starts_with(magic));
    let named: &[(usize, &[u8], &'static str)] = &[
        (0, b"II*\0", "TIFF"),
        (0, b"MM\0*", "TIFF"),
        (0, b"II+\0", "BigTIFF"),
        (0, b"\0\0\0\x0cjP  ", "JPEG 2000"),
        (0, b"\xff\x4f\xff\x51", "JPEG 2000"),
        (0, b"\xff\x0a", "JPEG XL"),
        (0, b"\0\0\0\x0cJXL ", "JPEG XL"),
        (0, b"\0\0\x01\0", "ICO"),
        (0, b"%PDF", "PDF"),
        (0, b"PK\x03\x04", "ZIP"),
        (0, b"\x1f\x8b", "gzip"),
        (0, b"<svg", "SVG"),
        (0, b"<?xml", "XML or SVG"),
        (0, b"8BPS", "Photoshop"),
        (0, b"n+1\0", "NIfTI"),
    ];
    if at(4, b"ftyp") {
        return Some(match bytes.get(8..12) {
            Some(b"avif" | b"avis") => "AVIF",
            Some(b"heic" | b"heix" | b"heim" | b"heis" | b"mif1" | b"msf1") => "HEIC",
            _ => "a video (ISO base media)",
        });
    }
    named.iter().find(|(offset, magic, _)| at(*offset, magic)).map(|(_, _, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_their_first_bytes_and_others_by_name() {
        assert_eq!(recognise(b"\x89PNG\r\n\x1a\nrest"), Some(Recognised::Picture(Format::Png)));
        assert_eq!(recognise(b"\xff\xd8\xff\xe0"), Some(Recognised::Picture(Format::Jpeg)));
        assert_eq!(recognise(b"GIF89a"), Some(Recognised::Picture(Format::Gif)));
        assert_eq!(recognise(b"RIFF\x10\0\0\0WEBPVP8 "), Some(Recognised::Picture(Format::Webp)));
        assert_eq!(recognise(b"BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0"), Some(Recognised::Picture(Format::Bmp)));
        assert_eq!(recognise(b"BMW drivers are asked to move"), None);
        assert_eq!(recognise(b"\0\0\0\x18ftypheic"), Some(Recognised::Other("HEIC")));
        assert_eq!(recognise(b"\0\0\0\x18ftypisom"), Some(Recognised::Other("a video (ISO base media)")));
        assert_eq!((recognise(b""), recognise(b"\x89PNG"), recognise(b"hello")), (None, None, None));
    }

    #[test]
    fn a_dicom_file_whose_preamble_is_that_of_tiff_is_dicom() {
        let mut bytes = vec![0; DICOM_PREAMBLE];
        bytes[..4].copy_from_slice(b"II*\0");
        assert_eq!(recognise(&bytes), Some(Recognised::Other("TIFF")));
        bytes.extend_from_slice(b"DICM");
        assert_eq!(recognise(&bytes), Some(Recognised::Dicom));
    }
}
