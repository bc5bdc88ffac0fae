//! Headers and metadata.

use super::build::{LIMITS, chunk, frame, grey, jpeg, jpeg_head, png, segment};
use crate::header::{HeaderError, read};
use crate::{Format, Header, Metadata, Orientation};

/// An Exif block whose main directory has a model and a GPS directory of one entry.
const EXIF: &[u8] = b"MM\0*\0\0\0\x08\0\x03\
    \x01\x10\0\x02\0\0\0\x01\0\0\0\0\
    \x01\x12\0\x03\0\0\0\x01\0\x08\0\0\
    \x88\x25\0\x04\0\0\0\x01\0\0\0\x32\
    \0\0\0\0\0\x01";

fn of_png(bytes: &[u8]) -> Result<Header, HeaderError> {
    read(bytes, Format::Png, &LIMITS)
}

fn of_jpeg(bytes: &[u8]) -> Result<Header, HeaderError> {
    read(bytes, Format::Jpeg, &LIMITS)
}

#[test]
fn a_png_has_the_fields_of_its_header() {
    let header = of_png(&png(3, 2, [16, 6, 1], &[], &[])).unwrap();
    assert_eq!((header.width, header.height, header.bit_depth, header.channels, header.frames), (3, 2, 16, 4, 1));
    assert_eq!(header.metadata, Metadata::default());
    let animated = of_png(&png(1, 1, [1, 3, 0], &[chunk(b"acTL", &[0, 0, 0, 7, 0, 0, 0, 0])], &[0, 0])).unwrap();
    assert_eq!((animated.frames, animated.bit_depth, animated.channels), (7, 1, 1));
}

#[test]
fn kinds_of_metadata_in_a_png_are_found() {
    let kinds =
        |kind: &[u8; 4], data: &[u8]| of_png(&png(1, 1, [8, 0, 0], &[chunk(kind, data)], &[0, 0])).unwrap().metadata;
    let none = Metadata::default();
    assert_eq!(kinds(b"tIME", &[0; 7]), Metadata { time: true, ..none });
    assert_eq!(kinds(b"tEXt", b"Creation Time\0Tuesday"), Metadata { time: true, ..none });
    assert_eq!(kinds(b"tEXt", b"Software\0x"), Metadata { device: true, ..none });
    assert_eq!(kinds(b"tEXt", b"Comment\0GPS device time"), none);
    assert_eq!(kinds(b"zTXt", b"Raw profile type APP1\0\0xx"), Metadata { unread: true, ..none });
    assert_eq!(kinds(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<exif:GPSLatitude>"), Metadata { gps: true, ..none });
    assert_eq!(kinds(b"iTXt", b"XML:com.adobe.xmp\0\x01\0\0\0xx"), Metadata { unread: true, ..none });
    assert_eq!(kinds(b"eXIf", EXIF), Metadata { gps: true, device: true, ..none });
}

#[test]
fn a_jpeg_has_the_fields_of_its_frame_and_kinds_of_metadata() {
    let header = of_jpeg(&jpeg(31, 17, 90)).unwrap();
    assert_eq!((header.width, header.height, header.bit_depth, header.channels), (31, 17, 8, 1));
    assert_eq!(header.metadata, Metadata::default());
    let app1 = segment(0xe1, &[b"Exif\0\0", EXIF].concat());
    let header = of_jpeg(&jpeg_head(&[app1, frame(0xc2, 8, 4, 5)])).unwrap();
    assert_eq!((header.width, header.height, header.orientation), (4, 5, Orientation::QuarterCounterclockwise));
    assert_eq!(header.metadata, Metadata { gps: true, device: true, ..Metadata::default() });
    let xmp = segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0<xmp:CreateDate>");
    let iptc = segment(0xed, b"Photoshop 3.0\0");
    let header = of_jpeg(&jpeg_head(&[xmp, iptc, frame(0xc0, 8, 4, 5)])).unwrap();
    assert_eq!(header.metadata, Metadata { time: true, unread: true, ..Metadata::default() });
}

#[test]
fn dimensions_beyond_the_bounds_are_refused_before_anything_else_is_read() {
    // Nothing follows the header.
    let cut = |bytes: Vec<u8>| bytes[..33].to_vec();
    let bomb = cut(png(50_000, 50_000, [8, 6, 0], &[], &[]));
    assert!(matches!(of_png(&bomb), Err(HeaderError::Side { width: 50_000, .. })));
    let wide = cut(png(16_000, 16_000, [1, 0, 0], &[], &[]));
    assert!(matches!(of_png(&wide), Err(HeaderError::Pixels { .. })));
    let huge = jpeg_head(&[frame(0xc0, 8, 65_535, 65_535)]);
    assert!(matches!(of_jpeg(&huge), Err(HeaderError::Side { .. })));
    assert!(matches!(of_jpeg(&jpeg_head(&[frame(0xc0, 8, 8_001, 5_000)])), Err(HeaderError::Pixels { .. })));
    for (width, height) in [(0, 1), (1, 0)] {
        assert!(matches!(of_png(&png(width, height, [8, 0, 0], &[], &[])), Err(HeaderError::Damaged(_))));
    }
}

#[test]
fn damaged_and_unsupported_headers_are_refused_by_their_reason() {
    let whole = grey(&[&[1, 2], &[3, 4]]);
    for length in [8, 20, 33, 40, whole.len() - 1] {
        assert!(matches!(of_png(&whole[..length]), Err(HeaderError::Truncated(_))), "{length}");
    }
    for fields in [[3, 0, 0], [16, 3, 0], [4, 2, 0], [8, 7, 0], [8, 0, 2]] {
        assert!(matches!(of_png(&png(1, 1, fields, &[], &[])), Err(HeaderError::Damaged(_))), "{fields:?}");
    }
    let mut misplaced = whole.clone();
    misplaced[12] = b'X';
    assert!(matches!(of_png(&misplaced), Err(HeaderError::Damaged(_))));
    let mut long = whole;
    long[33..37].copy_from_slice(&u32::MAX.to_be_bytes());
    assert!(matches!(of_png(&long), Err(HeaderError::Truncated(_))));

    for (marker, name) in [(0xc3, "lossless"), (0xc9, "arithmetic"), (0xc5, "hierarchical")] {
        let error = of_jpeg(&jpeg_head(&[frame(marker, 8, 4, 4)])).unwrap_err();
        assert!(matches!(error, HeaderError::Unsupported(_)) && error.to_string().contains(name), "{error}");
    }
    assert!(matches!(of_jpeg(&jpeg_head(&[frame(0xc1, 12, 4, 4)])), Err(HeaderError::Unsupported(_))));
    assert!(matches!(of_jpeg(&jpeg_head(&[])), Err(HeaderError::Damaged(_))));
    assert!(matches!(of_jpeg(&jpeg_head(&[frame(0xc0, 8, 4, 4), frame(0xc0, 8, 4, 4)])), Err(HeaderError::Damaged(_))));
    assert!(matches!(of_jpeg(b"\xff\xd8\xff\xd9"), Err(HeaderError::Damaged(_))));
    assert!(matches!(of_jpeg(b"\xff\xd8\xff\xe0\0\x01"), Err(HeaderError::Damaged(_))));
    assert!(matches!(of_jpeg(b"\xff\xd8\xff\xe0\xff\xff"), Err(HeaderError::Truncated(_))));
    assert!(matches!(of_jpeg(b"\xff\xd8\xff\xff\xff"), Err(HeaderError::Truncated(_))));
}
