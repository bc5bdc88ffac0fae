//! Pictures built by hand.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};

pub fn base64(bytes: &[u8]) -> String {
    use ::base64::Engine;
    ::base64::engine::general_purpose::STANDARD.encode(bytes)
}

pub fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zlib stream that inflates to this many zeros, made from one compressed mebibyte.
pub fn zeros(count: u64) -> Vec<u8> {
    let part = vec![0; 1 << 20];
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&part).unwrap();
    // Ends at a whole byte, and what follows may be another deflate block.
    encoder.flush().unwrap();
    let block = encoder.get_ref().clone();
    let mut last = DeflateEncoder::new(Vec::new(), Compression::best());
    last.write_all(&part[..usize::try_from(count % (1 << 20)).unwrap()]).unwrap();
    // Adler-32 of zeros: the first sum is 1, the second their count.
    let adler = u32::try_from(count % 65_521).unwrap() << 16 | 1;
    let blocks = block.repeat(usize::try_from(count >> 20).unwrap());
    [&[0x78, 0xda][..], &blocks, &last.finish().unwrap(), &adler.to_be_bytes()].concat()
}

pub fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(data.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(kind);
    bytes.extend(data);
    let sum = crc32fast::hash(&bytes[4..]);
    bytes.extend(sum.to_be_bytes());
    bytes
}

/// A PNG of these dimensions; bit depth, colour type and interlacing; chunks before its compressed data.
pub fn png(width: u32, height: u32, fields: [u8; 3], more: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
    let [depth, colour, interlace] = fields;
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([depth, colour, 0, 0, interlace]);
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.extend(chunk(b"IHDR", &header));
    bytes.extend(more.concat());
    bytes.extend(chunk(b"IDAT", data));
    bytes.extend(chunk(b"IEND", &[]));
    bytes
}

/// An 8-bit grey PNG of these rows.
pub fn grey(rows: &[&[u8]]) -> Vec<u8> {
    let data: Vec<u8> = rows.iter().flat_map(|row| [&[0], *row].concat()).collect();
    let (width, height) = (u32::try_from(rows[0].len()).unwrap(), u32::try_from(rows.len()).unwrap());
    png(width, height, [8, 0, 0], &[], &deflate(&data))
}

/// A JPEG of a gradient, with this Exif block if it is not empty.
pub fn jpeg(width: u32, height: u32, exif: &[u8]) -> Vec<u8> {
    let picture = image::GrayImage::from_fn(width, height, |x, _| image::Luma([u8::try_from(x % 256).unwrap()]));
    let mut bytes = Vec::new();
    image::codecs::jpeg::JpegEncoder::new(&mut bytes).encode_image(&picture).unwrap();
    if !exif.is_empty() {
        let length = u16::try_from(exif.len() + 8).unwrap().to_be_bytes();
        let segment = [&[0xff, 0xe1][..], &length, b"Exif\0\0", exif].concat();
        bytes.splice(2..2, segment);
    }
    bytes
}

/// An element in explicit little endian.
pub fn element(group: u16, number: u16, representation: &[u8; 2], value: &[u8]) -> Vec<u8> {
    let mut bytes = [&group.to_le_bytes()[..], &number.to_le_bytes(), representation].concat();
    if matches!(representation, b"OW" | b"OB" | b"SQ" | b"UN") {
        bytes.extend([0, 0]);
        bytes.extend(u32::try_from(value.len()).unwrap().to_le_bytes());
    } else {
        bytes.extend(u16::try_from(value.len()).unwrap().to_le_bytes());
    }
    bytes.extend(value);
    bytes
}

/// A DICOM file in Explicit VR Little Endian with these elements.
pub fn dicom(elements: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0; 128];
    bytes.extend(b"DICM");
    bytes.extend(element(2, 0x10, b"UI", b"1.2.840.10008.1.2.1\0"));
    bytes.extend(elements.concat());
    bytes
}
