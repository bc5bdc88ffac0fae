//! Colours, orientation, shrinking, and the formats beside PNG and JPEG. Their files are made by the encoders of the image
//! crate, or byte by byte.

use image::{ExtendedColorType, ImageEncoder};

use super::build::{LIMITS, chunk, jpeg_head, png, segment};
use crate::decode::{Bounds, DecodeError, rgb};
use crate::header::read;
use crate::{Format, Header, HeaderError, Orientation, Rgb, recognise};

const BOUNDS: Bounds = Bounds { limits: LIMITS, memory: 256 << 20 };

fn decoded(bytes: &[u8], format: Format) -> Result<(Header, Rgb), DecodeError> {
    rgb(bytes, format, &BOUNDS, 2_048)
}

/// An Exif block of one entry, the orientation.
fn exif(orientation: u8) -> Vec<u8> {
    let mut bytes = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    bytes.extend([orientation, 0, 0, 0, 0, 0, 0]);
    bytes
}

pub(super) fn webp(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = image::codecs::webp::WebPEncoder::new_lossless(&mut bytes);
    encoder.write_image(pixels, width, height, ExtendedColorType::Rgba8).unwrap();
    bytes
}

pub(super) fn gif(frames: &[[u8; 4]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
    for colour in frames {
        let frame = image::Frame::new(image::RgbaImage::from_pixel(3, 2, image::Rgba(*colour)));
        encoder.encode_frame(frame).unwrap();
    }
    drop(encoder);
    bytes
}

pub(super) fn bmp(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = image::codecs::bmp::BmpEncoder::new(&mut bytes);
    encoder.write_image(pixels, width, height, ExtendedColorType::Rgb8).unwrap();
    bytes
}

/// The values 1 to 8 of a picture of two by three, of which the letters are shades:
/// ```text
/// A B C D E F
/// ```
#[test]
fn each_orientation_of_exif_is_turned_upright() {
    let stored = [[b'A', b'B'], [b'C', b'D'], [b'E', b'F']];
    let data: Vec<u8> = stored.iter().flat_map(|row| [&[0], row.as_slice()].concat()).collect();
    for (value, shown) in [
        (1, ["AB", "CD", "EF"].as_slice()),
        (2, &["BA", "DC", "FE"]),
        (3, &["FE", "DC", "BA"]),
        (4, &["EF", "CD", "AB"]),
        (5, &["ACE", "BDF"]),
        (6, &["ECA", "FDB"]),
        (7, &["FDB", "ECA"]),
        (8, &["BDF", "ACE"]),
    ] {
        let bytes = png(2, 3, [8, 0, 0], &[chunk(b"eXIf", &exif(value))], &data);
        let (header, picture) = decoded(&bytes, Format::Png).unwrap();
        let letters: String = picture.pixels().iter().step_by(3).map(|shade| char::from(*shade)).collect();
        assert_eq!(letters, shown.concat(), "{value}");
        assert_eq!(picture.width() as usize, shown[0].len(), "{value}");
        assert_eq!(header.upright(), (picture.width(), picture.height()), "{value}");
    }
}

#[test]
fn colours_are_on_white_and_large_pictures_are_shrunk() {
    let glass = png(2, 1, [8, 6, 0], &[], &[0, 0, 0, 0, 0, 255, 0, 0, 128]);
    assert_eq!(decoded(&glass, Format::Png).unwrap().1.pixels(), [255, 255, 255, 255, 127, 127]);
    let wide = png(4, 2, [8, 2, 0], &[], &[[0].as_slice(), &[10; 12], &[0], &[30; 12]].concat());
    let (header, picture) = rgb(&wide, Format::Png, &BOUNDS, 2).unwrap();
    assert_eq!((header.width, picture.width(), picture.height(), picture.pixels()), (4, 2, 1, [20; 6].as_slice()));
}

#[test]
fn webp_gif_and_bmp_are_read() {
    let pixels = [255, 0, 0, 255, 0, 0, 255, 0];
    let (header, picture) = decoded(&webp(2, 1, &pixels), Format::Webp).unwrap();
    assert_eq!((header.width, header.height, header.frames), (2, 1, 1));
    assert_eq!(picture.pixels(), [255, 0, 0, 255, 255, 255], "transparent on white");
    let (header, picture) = decoded(&gif(&[[255, 0, 0, 255], [0, 255, 0, 255]]), Format::Gif).unwrap();
    assert_eq!((header.width, header.height, header.frames), (3, 2, 2));
    assert_eq!(picture.pixels(), [255, 0, 0].repeat(6), "the first picture");
    let (header, picture) = decoded(&bmp(1, 2, &[1, 2, 3, 4, 5, 6]), Format::Bmp).unwrap();
    assert_eq!((header.width, header.height, picture.pixels()), (1, 2, [1, 2, 3, 4, 5, 6].as_slice()));
    for bytes in [webp(2, 1, &pixels), gif(&[[0; 4]]), bmp(1, 1, &[0; 3])] {
        assert!(matches!(recognise(&bytes), Some(crate::Recognised::Picture(_))));
    }
}

/// A WebP with `VP8X`, the encoder's lossless data and an Exif chunk that says to turn it.
#[test]
fn the_orientation_of_a_webp_is_that_of_its_exif_chunk() {
    let plain = webp(2, 1, &[9, 9, 9, 255, 7, 7, 7, 255]);
    let mut body = b"WEBPVP8X\x0a\0\0\0\x08\0\0\0\x01\0\0\0\0\0".to_vec();
    body.extend(&plain[12..]);
    let exif = exif(6);
    body.extend(b"EXIF");
    body.extend(u32::try_from(exif.len()).unwrap().to_le_bytes());
    body.extend(&exif);
    let bytes = [b"RIFF".as_slice(), &u32::try_from(body.len()).unwrap().to_le_bytes(), &body].concat();
    let (header, picture) = decoded(&bytes, Format::Webp).unwrap();
    assert_eq!(header.orientation, Orientation::QuarterClockwise);
    assert_eq!((picture.width(), picture.height()), (1, 2));
}

#[test]
fn sides_are_judged_by_the_header_in_each_format() {
    let mut large = bmp(1, 1, &[0; 3]);
    large[18..22].copy_from_slice(&50_000_u32.to_le_bytes());
    assert!(matches!(read(&large, Format::Bmp, &LIMITS), Err(HeaderError::Side { width: 50_000, .. })));
    let mut large = gif(&[[0; 4]]);
    large[6..10].copy_from_slice(&[0xff; 4]);
    assert!(matches!(read(&large, Format::Gif, &LIMITS), Err(HeaderError::Side { width: 65_535, .. })));
    // The canvas is small, and the frame within is not.
    let frame = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\0\0\0\0\0\0ANMF\x10\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\0\0\0\0";
    assert!(matches!(read(frame, Format::Webp, &LIMITS), Err(HeaderError::Side { .. })));
    let app1 = segment(0xe1, &[b"Exif\0\0".as_slice(), &exif(6)].concat());
    let tall = jpeg_head(&[app1, super::build::frame(0xc0, 8, 20, 10)]);
    assert_eq!(read(&tall, Format::Jpeg, &LIMITS).unwrap().upright(), (10, 20));
}

#[test]
fn what_is_cut_off_is_refused() {
    for (bytes, format) in [
        (webp(40, 40, &[1; 6_400]), Format::Webp),
        (gif(&[[1, 2, 3, 255]]), Format::Gif),
        (bmp(9, 9, &[7; 243]), Format::Bmp),
    ] {
        for length in 0..bytes.len() / 2 {
            assert!(decoded(&bytes[..length], format).is_err(), "{format:?} of {length} bytes");
        }
    }
}
