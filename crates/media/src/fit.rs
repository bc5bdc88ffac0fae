//! Pictures brought to a size: checked, cropped so that they cover it, and encoded as PNG.

use std::io::Cursor;

use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat, ImageReader};

use crate::decode::{Bounds, DecodeError};
use crate::format::Format;
use crate::header;

/// A picture of the size that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The picture as PNG; `None` if the given bytes are one of this size already.
    pub png: Option<Vec<u8>>,
}

/// Decodes a picture, so that a damaged one is found, and crops and scales it to `size`, which it covers. Without a size
/// it keeps its own. A PNG that needs no change is not encoded anew: its marks of provenance stay.
///
/// # Errors
/// Why it cannot be decoded.
pub fn fit(bytes: &[u8], format: Format, size: Option<(u32, u32)>, bounds: &Bounds) -> Result<Fitted, DecodeError> {
    header::read(bytes, format, &bounds.limits)?;
    let known = match format {
        Format::Png => ImageFormat::Png,
        Format::Jpeg => ImageFormat::Jpeg,
        Format::Webp => ImageFormat::WebP,
        Format::Gif => ImageFormat::Gif,
        Format::Bmp => ImageFormat::Bmp,
    };
    // The decoder of JPEG fills what is missing with grey.
    if format == Format::Jpeg && !bytes.windows(2).rev().any(|pair| pair == [0xff, 0xd9]) {
        return Err(DecodeError::Damaged);
    }
    let mut limits = image::Limits::no_limits();
    limits.max_image_width = Some(bounds.limits.side);
    limits.max_image_height = Some(bounds.limits.side);
    limits.max_alloc = Some(bounds.memory);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), known);
    reader.limits(limits);
    let picture = reader.decode().map_err(|_| DecodeError::Damaged)?;
    let own = (picture.width(), picture.height());
    let (width, height) = size.unwrap_or(own);
    if format == Format::Png && (width, height) == own {
        return Ok(Fitted { width, height, png: None });
    }
    let fitted = if (width, height) == own { picture } else { cover(&picture, width, height) };
    let mut png = Cursor::new(Vec::new());
    fitted.write_to(&mut png, ImageFormat::Png).map_err(|_| DecodeError::Damaged)?;
    Ok(Fitted { width, height, png: Some(png.into_inner()) })
}

fn cover(picture: &DynamicImage, width: u32, height: u32) -> DynamicImage {
    picture.resize_to_fill(width, height, FilterType::Lanczos3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    const BOUNDS: Bounds = Bounds { limits: Limits { pixels: 1_000_000, side: 4_000 }, memory: 64 << 20 };

    /// Left half red, right half blue.
    fn halves(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let pixel = |x: u32, _| if x < width / 2 { image::Rgb([255, 0, 0]) } else { image::Rgb([0, 0, 255]) };
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::ImageRgb8(image::ImageBuffer::from_fn(width, height, pixel))
            .write_to(&mut bytes, format)
            .unwrap();
        bytes.into_inner()
    }

    #[test]
    fn a_png_of_the_size_stays_byte_for_byte() {
        let bytes = halves(64, 32, ImageFormat::Png);
        let same = Fitted { width: 64, height: 32, png: None };
        assert_eq!(fit(&bytes, Format::Png, Some((64, 32)), &BOUNDS), Ok(same.clone()));
        assert_eq!(fit(&bytes, Format::Png, None, &BOUNDS), Ok(same));
    }

    #[test]
    fn another_size_is_covered_without_distortion() {
        // The middle 32 of 64 columns remain: half red, half blue.
        let fitted = fit(&halves(64, 32, ImageFormat::Png), Format::Png, Some((16, 16)), &BOUNDS).unwrap();
        let picture = image::load_from_memory(fitted.png.as_deref().unwrap()).unwrap().to_rgb8();
        assert_eq!((picture.width(), picture.height()), (16, 16));
        assert_eq!((picture.get_pixel(1, 8).0, picture.get_pixel(14, 8).0), ([255, 0, 0], [0, 0, 255]));
    }

    #[test]
    fn a_jpeg_becomes_a_png() {
        let fitted = fit(&halves(64, 32, ImageFormat::Jpeg), Format::Jpeg, None, &BOUNDS).unwrap();
        assert_eq!((fitted.width, fitted.height), (64, 32));
        assert!(fitted.png.unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
    }

    #[test]
    fn a_picture_that_is_cut_off_or_too_large_is_refused() {
        for (format, kind) in [(Format::Png, ImageFormat::Png), (Format::Jpeg, ImageFormat::Jpeg)] {
            let bytes = halves(200, 200, kind);
            let half = &bytes[..bytes.len() / 2];
            assert!(fit(half, format, None, &BOUNDS).is_err(), "{format:?}");
        }
        let small = Bounds { limits: Limits { pixels: 1_000, side: 4_000 }, ..BOUNDS };
        assert!(fit(&halves(64, 32, ImageFormat::Png), Format::Png, None, &small).is_err());
    }
}
