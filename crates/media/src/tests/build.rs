//! Builds files of pictures.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::header::Limits;

pub const LIMITS: Limits = Limits { pixels: 40_000_000, side: 16_384 };

pub fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(data.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(kind);
    bytes.extend(data);
    let sum = crc32fast::hash(bytes.get(4..).unwrap());
    bytes.extend(sum.to_be_bytes());
    bytes
}

/// A PNG of these dimensions, bit depth and colour type, with chunks before its inflated data.
pub fn png(width: u32, height: u32, [depth, colour, interlace]: [u8; 3], more: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([depth, colour, 0, 0, interlace]);
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.extend(chunk(b"IHDR", &header));
    bytes.extend(more.concat());
    bytes.extend(chunk(b"IDAT", &deflate(data)));
    bytes.extend(chunk(b"IEND", &[]));
    bytes
}

/// An 8-bit grey PNG of these rows.
pub fn grey(rows: &[&[u8]]) -> Vec<u8> {
    let width = u32::try_from(rows[0].len()).unwrap();
    let data: Vec<u8> = rows.iter().flat_map(|row| [&[0], *row].concat()).collect();
    png(width, u32::try_from(rows.len()).unwrap(), [8, 0, 0], &[], &data)
}

/// A segment of a JPEG.
pub fn segment(marker: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xff, marker];
    bytes.extend(u16::try_from(data.len() + 2).unwrap().to_be_bytes());
    bytes.extend(data);
    bytes
}

/// The header of a frame with one component.
pub fn frame(marker: u8, depth: u8, width: u16, height: u16) -> Vec<u8> {
    let mut data = vec![depth];
    data.extend(height.to_be_bytes());
    data.extend(width.to_be_bytes());
    data.extend([1, 1, 0x11, 0]);
    segment(marker, &data)
}

/// The segments of a JPEG up to its first scan.
pub fn jpeg_head(segments: &[Vec<u8>]) -> Vec<u8> {
    [&[0xff, 0xd8], segments.concat().as_slice(), &segment(0xda, &[1, 1, 0, 0, 63, 0])].concat()
}

/// A grey JPEG of one shade, by an encoder.
pub fn jpeg(width: u32, height: u32, shade: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let picture = image::GrayImage::from_pixel(width, height, image::Luma([shade]));
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 95).encode_image(&picture).unwrap();
    bytes
}
