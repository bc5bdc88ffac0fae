//! Pixels.

use super::build::{LIMITS, chunk, grey, jpeg, png};
use crate::Format;
use crate::decode::{Bounds, DecodeError, luma};
use crate::measure::{Luma, measure};

const BOUNDS: Bounds = Bounds { limits: LIMITS, memory: 256 << 20 };

fn of_png(bytes: &[u8]) -> Result<Luma, DecodeError> {
    luma(bytes, Format::Png, &BOUNDS).map(|(_, luma)| luma)
}

fn rows(luma: &Luma) -> Vec<Vec<u8>> {
    luma.rows().map(<[u8]>::to_vec).collect()
}

#[test]
fn luma_is_that_of_bt_601_on_white() {
    assert_eq!(rows(&of_png(&grey(&[&[1, 2], &[3, 255]])).unwrap()), [[1, 2], [3, 255]]);
    // Red, green, blue: 76.2, 149.7, 29.1.
    let colours = of_png(&png(3, 1, [8, 2, 0], &[], &[0, 255, 0, 0, 0, 255, 0, 0, 0, 255])).unwrap();
    assert_eq!(rows(&colours), [[76, 150, 29]]);
    // Transparent black, half-transparent black: 255 − 128.
    let glass = of_png(&png(2, 1, [8, 4, 0], &[], &[0, 0, 0, 0, 128])).unwrap();
    assert_eq!(rows(&glass), [[255, 127]]);
    let deep = of_png(&png(3, 1, [16, 0, 0], &[], &[0, 0, 0, 0x80, 0x80, 0xff, 0xff])).unwrap();
    assert_eq!(rows(&deep), [[0, 128, 255]]);
    // One bit each: 1, 0, 1.
    assert_eq!(rows(&of_png(&png(3, 1, [1, 0, 0], &[], &[0, 0b1010_0000])).unwrap()), [[255, 0, 255]]);
    let palette = chunk(b"PLTE", &[0, 0, 0, 255, 255, 255]);
    assert_eq!(rows(&of_png(&png(2, 1, [1, 3, 0], &[palette], &[0, 0b0100_0000])).unwrap()), [[0, 255]]);
}

#[test]
fn a_jpeg_of_one_shade_has_that_shade() {
    let (header, luma) = luma(&jpeg(33, 20, 90), Format::Jpeg, &BOUNDS).unwrap();
    assert_eq!((header.width, luma.height()), (33, 20));
    assert!(luma.rows().flatten().all(|pixel| pixel.abs_diff(90) <= 1));
    assert!(measure(&luma).blank);
}

/// The vector of engine q240: its expected sharpness is that of numpy over the inner pixels.
#[test]
fn a_chessboard_has_the_sharpness_that_numpy_computes() {
    let text = "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAALElEQVR4nGNkYGBg+M/AwMCIg2ZiIAAoV8CIz35GOrmBAY/9o+EwGg4jNBwA05wgNfG83zYAAAAASUVORK5CYII=";
    let bytes = crate::text::decode(text, 1_000).unwrap();
    let found = measure(&of_png(&bytes).unwrap());
    assert!((found.sharpness.unwrap() - 89_012.0).abs() < 1e-6, "{found:?}");
    assert!((found.brightness, found.contrast, found.clipped_share) == (0.5, 0.5, 1.0), "{found:?}");
}

#[test]
fn data_that_inflates_to_more_or_less_than_the_header_declares_is_refused() {
    assert_eq!(of_png(&png(2, 2, [8, 0, 0], &[], &[0; 7])), Err(DecodeError::Inflates));
    assert_eq!(of_png(&png(2, 2, [8, 0, 0], &[], &[0; 5])), Err(DecodeError::Damaged));
    // 64 MiB of zeros in 64 KiB for one pixel.
    let bomb = png(1, 1, [8, 0, 0], &[], &vec![0; 64 << 20]);
    assert!(bomb.len() < 70_000);
    assert_eq!(of_png(&bomb), Err(DecodeError::Inflates));
}

/// Passes of 5 by 5 pixels: 1 by 1, 1 by 1, 2 by 1, 1 by 2, 3 by 1, 2 by 3, 5 by 2: rows of 2, 2, 3, 2 + 2, 4, 3 · 3, 2 · 6.
#[test]
fn an_interlaced_picture_has_the_length_of_its_passes() {
    assert!(of_png(&png(5, 5, [8, 0, 1], &[], &[0; 36])).is_ok());
    assert_eq!(of_png(&png(5, 5, [8, 0, 1], &[], &[0; 37])), Err(DecodeError::Inflates));
}

#[test]
fn damaged_data_is_refused() {
    let mut broken = grey(&[&[1, 2], &[3, 4]]);
    // The first byte of the deflated data.
    broken[41] ^= 0xff;
    assert_eq!(of_png(&broken), Err(DecodeError::Damaged));
    let whole = jpeg(64, 64, 90);
    let cut = &whole[..whole.len() - 2];
    assert_eq!(luma(cut, Format::Jpeg, &BOUNDS).unwrap_err(), DecodeError::Damaged);
}

#[test]
fn a_picture_that_needs_more_memory_than_permitted_is_refused() {
    let small = Bounds { memory: 1_000, ..BOUNDS };
    let picture = png(100, 100, [8, 0, 0], &[], &vec![0; 10_100]);
    assert!(matches!(luma(&picture, Format::Png, &small), Err(DecodeError::Memory(_))));
    assert!(matches!(luma(&jpeg(100, 100, 9), Format::Jpeg, &small), Err(DecodeError::Memory(_))));
}
