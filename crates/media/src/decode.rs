//! Decoding of pixels within bounds of size and memory.
//!
//! The bounds are those of a decoder that counts its own buffers; time and the rest of its memory are bounded by the process
//! that decodes.

use std::io::{Cursor, Read};

use flate2::read::ZlibDecoder;
use image::codecs::bmp::BmpDecoder;
use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::error::{ImageError, LimitErrorKind};
use image::{DynamicImage, ImageDecoder};
use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::header::{self, Header, HeaderError, Limits};
use crate::measure::Luma;
use crate::png;
use crate::rgb::Rgb;
use crate::shrink::Shrink;

/// Bounds of decoding.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Most pixels.
    pub limits: Limits,
    /// Most bytes of the decoder's buffers.
    pub memory: u64,
}

/// Why a picture cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum DecodeError {
    /// The header is not accepted.
    #[error("{0}")]
    Header(String),
    /// It is larger than is accepted.
    #[error("{0}")]
    TooLarge(String),
    /// The image data inflates to more than the header declares.
    #[error("holds more image data than its header declares: save it again")]
    Inflates,
    /// The decoder needs more memory than is permitted.
    #[error("needs more than {0} MiB to be decoded: scale it down, or save it with 8 bits a sample")]
    Memory(u64),
    /// The image data is damaged.
    #[error("cannot be decoded, its image data is damaged or cut off: save it again")]
    Damaged,
}

impl From<HeaderError> for DecodeError {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Side { .. } | HeaderError::Pixels { .. } => Self::TooLarge(error.to_string()),
            _ => Self::Header(error.to_string()),
        }
    }
}

/// Decodes a picture to luma, as stored (orientation is not applied): `0.299 R + 0.587 G + 0.114 B` (ITU-R BT.601) of
/// samples of 8 bits, transparent pixels on white.
///
/// # Errors
/// Why it cannot be decoded.
pub fn luma(bytes: &[u8], format: Format, bounds: &Bounds) -> Result<(Header, Luma), DecodeError> {
    let (header, decoded) = decoded(bytes, format, bounds)?;
    let (width, height) = (decoded.width(), decoded.height());
    let pixels = flatten(decoded).ok_or(DecodeError::Damaged)?;
    Luma::new(width, height, pixels).map(|luma| (header, luma)).ok_or(DecodeError::Damaged)
}

/// Decodes a picture to red, green and blue, upright by its Exif orientation, transparent pixels on white, shrunk so that
/// no side is longer than `side` by the mean of the pixels that a pixel covers. Of an animation the first picture.
///
/// # Errors
/// Why it cannot be decoded.
pub fn rgb(bytes: &[u8], format: Format, bounds: &Bounds, side: u32) -> Result<(Header, Rgb), DecodeError> {
    let (header, decoded) = decoded(bytes, format, bounds)?;
    let small = shrunk(&decoded, side).ok_or(DecodeError::Damaged)?;
    // Before the turn needs its own memory.
    drop(decoded);
    Ok((header, small.upright(header.orientation)))
}

fn decoded(bytes: &[u8], format: Format, bounds: &Bounds) -> Result<(Header, DynamicImage), DecodeError> {
    let header = header::read(bytes, format, &bounds.limits)?;
    let cursor = Cursor::new(bytes);
    let decoded = match format {
        Format::Png => {
            check_inflated(bytes)?;
            pixels(PngDecoder::with_limits(cursor, limits(bounds)), bounds)
        }
        Format::Jpeg => {
            check_end(bytes)?;
            pixels(JpegDecoder::new(cursor), bounds)
        }
        Format::Webp => pixels(WebPDecoder::new(cursor), bounds),
        Format::Gif => pixels(GifDecoder::new(cursor), bounds),
        Format::Bmp => pixels(BmpDecoder::new(cursor), bounds),
    }?;
    if (decoded.width(), decoded.height()) != (header.width, header.height) {
        return Err(DecodeError::Damaged);
    }
    Ok((header, decoded))
}

fn limits(bounds: &Bounds) -> image::Limits {
    let mut limits = image::Limits::no_limits();
    limits.max_image_width = Some(bounds.limits.side);
    limits.max_image_height = Some(bounds.limits.side);
    limits.max_alloc = Some(bounds.memory);
    limits
}

fn pixels<D: ImageDecoder>(decoder: Result<D, ImageError>, bounds: &Bounds) -> Result<DynamicImage, DecodeError> {
    let failure = |error: ImageError| match error {
        ImageError::Limits(limit) if matches!(limit.kind(), LimitErrorKind::InsufficientMemory) => {
            DecodeError::Memory(bounds.memory >> 20)
        }
        _ => DecodeError::Damaged,
    };
    let mut decoder = decoder.map_err(failure)?;
    // Not every decoder counts its own output.
    if decoder.total_bytes() > bounds.memory {
        return Err(DecodeError::Memory(bounds.memory >> 20));
    }
    decoder.set_limits(limits(bounds)).map_err(failure)?;
    DynamicImage::from_decoder(decoder).map_err(failure)
}

/// Checks that the image data of a PNG inflates to no more than its header declares: decoders ignore the rest, and need
/// time for it.
fn check_inflated(bytes: &[u8]) -> Result<(), DecodeError> {
    let mut chunks = png::chunks(bytes);
    let first = chunks.next().unwrap_or(Err(HeaderError::Truncated("header")))?;
    let declared = png::ImageHeader::read(first)?.inflated();
    let parts: Vec<&[u8]> =
        chunks.filter_map(Result::ok).filter(|chunk| &chunk.kind == b"IDAT").map(|chunk| chunk.data).collect();
    let mut inflating = ZlibDecoder::new(Joined { parts: parts.iter(), current: &[] }).take(declared + 1);
    let mut buffer = vec![0; 64 << 10];
    let mut inflated = 0_u64;
    loop {
        match inflating.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => inflated += read as u64,
            Err(_) => return Err(DecodeError::Damaged),
        }
    }
    match inflated {
        inflated if inflated > declared => Err(DecodeError::Inflates),
        inflated if inflated < declared => Err(DecodeError::Damaged),
        _ => Ok(()),
    }
}

/// Checks that a JPEG has a marker of its end: the decoder fills what is missing with grey.
fn check_end(bytes: &[u8]) -> Result<(), DecodeError> {
    let has_end = bytes.windows(2).rev().any(|pair| pair == [0xff, 0xd9]);
    if has_end { Ok(()) } else { Err(DecodeError::Damaged) }
}

/// Reads slices one after another.
struct Joined<'a> {
    parts: std::slice::Iter<'a, &'a [u8]>,
    current: &'a [u8],
}

impl Read for Joined<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.current.is_empty() {
            let Some(next) = self.parts.next() else { return Ok(0) };
            self.current = next;
        }
        self.current.read(buffer)
    }
}

/// A sample as one of 8 bits, rounded.
trait Sample: Copy {
    fn level(self) -> u32;
}

impl Sample for u8 {
    fn level(self) -> u32 {
        u32::from(self)
    }
}

impl Sample for u16 {
    fn level(self) -> u32 {
        (u32::from(self) * 255 + 32_767) / 65_535
    }
}

fn flatten(decoded: DynamicImage) -> Option<Vec<u8>> {
    Some(match decoded {
        DynamicImage::ImageLuma8(image) => image.into_raw(),
        DynamicImage::ImageLumaA8(image) => lumas(image.as_raw(), 2),
        DynamicImage::ImageRgb8(image) => lumas(image.as_raw(), 3),
        DynamicImage::ImageRgba8(image) => lumas(image.as_raw(), 4),
        DynamicImage::ImageLuma16(image) => lumas(image.as_raw(), 1),
        DynamicImage::ImageLumaA16(image) => lumas(image.as_raw(), 2),
        DynamicImage::ImageRgb16(image) => lumas(image.as_raw(), 3),
        DynamicImage::ImageRgba16(image) => lumas(image.as_raw(), 4),
        _ => return None,
    })
}

fn shrunk(decoded: &DynamicImage, side: u32) -> Option<Rgb> {
    let (width, height) = (decoded.width(), decoded.height());
    match decoded {
        DynamicImage::ImageLuma8(image) => shrink(image.as_raw(), 1, width, height, side),
        DynamicImage::ImageLumaA8(image) => shrink(image.as_raw(), 2, width, height, side),
        DynamicImage::ImageRgb8(image) => shrink(image.as_raw(), 3, width, height, side),
        DynamicImage::ImageRgba8(image) => shrink(image.as_raw(), 4, width, height, side),
        DynamicImage::ImageLuma16(image) => shrink(image.as_raw(), 1, width, height, side),
        DynamicImage::ImageLumaA16(image) => shrink(image.as_raw(), 2, width, height, side),
        DynamicImage::ImageRgb16(image) => shrink(image.as_raw(), 3, width, height, side),
        DynamicImage::ImageRgba16(image) => shrink(image.as_raw(), 4, width, height, side),
        _ => None,
    }
}

/// Shrinks row by row, so that no second picture of the full size is held.
fn shrink<T: Sample>(samples: &[T], channels: usize, width: u32, height: u32, side: u32) -> Option<Rgb> {
    let mut shrink = Shrink::new(width, height, side)?;
    let mut row = Vec::new();
    for samples in samples.chunks_exact(usize::try_from(width).ok()? * channels) {
        row.clear();
        row.extend(samples.chunks_exact(channels).flat_map(colour));
        shrink.add(&row);
    }
    shrink.finish()
}

/// Red, green and blue of a pixel on white.
fn colour<T: Sample>(pixel: &[T]) -> [u8; 3] {
    let on_white = |sample: &T, alpha: u32| {
        u8::try_from((sample.level() * alpha + 255 * (255 - alpha) + 127) / 255).unwrap_or(u8::MAX)
    };
    match pixel {
        [grey] => [on_white(grey, 255); 3],
        [grey, alpha] => [on_white(grey, alpha.level()); 3],
        [r, g, b] => [r, g, b].map(|sample| on_white(sample, 255)),
        [r, g, b, alpha] => [r, g, b].map(|sample| on_white(sample, alpha.level())),
        _ => [255; 3],
    }
}

fn lumas<T: Sample>(samples: &[T], channels: usize) -> Vec<u8> {
    let weigh = |r: &T, g: &T, b: &T| (299 * r.level() + 587 * g.level() + 114 * b.level() + 500) / 1_000;
    let on_white = |level: u32, alpha: &T| (level * alpha.level() + 255 * (255 - alpha.level()) + 127) / 255;
    let luma = |pixel: &[T]| match pixel {
        [grey] => grey.level(),
        [grey, alpha] => on_white(grey.level(), alpha),
        [r, g, b] => weigh(r, g, b),
        [r, g, b, alpha] => on_white(weigh(r, g, b), alpha),
        _ => 0,
    };
    samples.chunks_exact(channels).map(|pixel| u8::try_from(luma(pixel)).unwrap_or(u8::MAX)).collect()
}
