//! Pictures that callers send: bounds of decoding, and failures that name the field.

use image::ExtendedColorType;
use image::ImageEncoder;
use image::codecs::png::PngEncoder;
use muster_engine::prelude::*;
use muster_engine::stack;
use muster_media::decode::{Bounds, DecodeError, rgb};
use muster_media::format::Recognised;
use muster_media::header::{self, Header, HeaderError};
use muster_media::{Format, Limits, Rgb, recognise};

/// Largest file in bytes.
pub(crate) const MAX_FILE: usize = 16 << 20;
/// Most pixels of a picture, and of a side.
pub(crate) const LIMITS: Limits = Limits { pixels: 20_000_000, side: 16_384 };
const STACK: usize = 4 << 20;
const BOUNDS: Bounds = Bounds { limits: LIMITS, memory: 96 << 20 };

/// Returns the format of a picture by its first bytes.
///
/// # Errors
/// `TooLarge`, `Invalid` with the names of the formats that are read.
pub(crate) fn format_of(bytes: &[u8], field: &[&str]) -> Result<Format, Failure> {
    if bytes.len() > MAX_FILE {
        return Err(Failure::too_large(format!("{}: is over {} MiB", field.join("."), MAX_FILE >> 20)));
    }
    match recognise(bytes) {
        Some(Recognised::Picture(format)) => Ok(format),
        Some(Recognised::Dicom) => Err(Failure::invalid(field, "is DICOM: PNG, JPEG, WebP, GIF and BMP are read")),
        Some(Recognised::Other(name)) => {
            Err(Failure::invalid(field, format!("is {name}: PNG, JPEG, WebP, GIF and BMP are read")))
        }
        None => Err(Failure::invalid(field, "is no picture: PNG, JPEG, WebP, GIF and BMP are read")),
    }
}

/// Reads a header.
///
/// # Errors
/// `TooLarge`, `Invalid`.
pub(crate) fn header_of(bytes: &[u8], field: &[&str]) -> Result<Header, Failure> {
    let format = format_of(bytes, field)?;
    header::read(bytes, format, &LIMITS).map_err(|error| match error {
        HeaderError::Side { .. } | HeaderError::Pixels { .. } => {
            Failure::too_large(format!("{}: {error}", field.join(".")))
        }
        error => Failure::invalid(field, error.to_string()),
    })
}

/// Decodes a picture upright, on white, no side longer than `side`.
///
/// # Errors
/// `TooLarge`, `Invalid`.
pub(crate) fn decoded(bytes: &[u8], field: &[&str], side: u32, cx: &Context) -> Result<(Header, Rgb), Failure> {
    let format = format_of(bytes, field)?;
    // A decoder that panics met a damaged picture.
    let broken = || failure(&DecodeError::Damaged, field);
    stack::on_stack(cx, STACK, broken, || rgb(bytes, format, &BOUNDS, side).map_err(|error| failure(&error, field)))
}

pub(crate) fn failure(error: &DecodeError, field: &[&str]) -> Failure {
    match error {
        DecodeError::TooLarge(_) | DecodeError::Memory(_) | DecodeError::Inflates => {
            Failure::too_large(format!("{}: {error}", field.join(".")))
        }
        DecodeError::Header(_) | DecodeError::Damaged => Failure::invalid(field, error.to_string()),
    }
}

/// Encodes samples as PNG; the encoder's settings are fixed, so that equal samples give equal bytes.
///
/// # Errors
/// `Internal` if the samples do not fit the size.
pub(crate) fn png(samples: &[u8], width: u32, height: u32, kind: ExtendedColorType) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes).write_image(samples, width, height, kind).map_err(Failure::internal)?;
    Ok(bytes)
}
