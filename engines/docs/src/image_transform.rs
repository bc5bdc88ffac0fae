//! q238: image transformation.

use std::collections::BTreeMap;
use std::io::Cursor;

use image::codecs::bmp::BmpEncoder;
use image::codecs::gif::GifEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::imageops::{self, FilterType};
use image::{ExtendedColorType, ImageEncoder, RgbImage};
use muster_engine::prelude::*;

use crate::picture;

const MAX_OPERATIONS: usize = 20;
/// Most pixels of a result, and of all steps together.
const MAX_PIXELS: u64 = 12_000_000;
const MAX_WORK: u64 = 100_000_000;
/// Old width times new height: what resampling holds between its two passes.
const MAX_BETWEEN: u64 = 8_000_000;
/// Most pixels that Lanczos resamples, and of a picture whose quality is searched.
const MAX_LANCZOS: u64 = 4_000_000;
const MAX_SEARCHED: u64 = 4_000_000;
const MAX_SIDE: f64 = 8_192.0;
const MAX_SIGMA: f64 = 50.0;

#[derive(Input)]
pub struct Input {
    image: Bytes,
    operations: Vec<Operation>,
    format: Target,
    quality: u8,
    max_bytes: Option<usize>,
}

#[derive(Input)]
struct Operation {
    op: Op,
    args: BTreeMap<String, f64>,
}

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "kebab")]
enum Op {
    Resize,
    Fit,
    Crop,
    Rotate,
    Flip,
    Greyscale,
    Blur,
    AutoOrient,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Target {
    Png,
    Jpeg,
    Webp,
    Gif,
    Bmp,
}

#[derive(Output)]
pub struct Output {
    image: Bytes,
    width: u32,
    height: u32,
    bytes: usize,
    quality: Option<u8>,
}

/// Decodes, transforms and encodes a picture.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` if it does not fit `max_bytes`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.operations.len() > MAX_OPERATIONS {
        return Err(Failure::too_large(format!("operations: at most {MAX_OPERATIONS}")));
    }
    let (_, decoded) = picture::decoded(&input.image.0, &["image"], picture::LIMITS.side, cx)?;
    let (width, height) = (decoded.width(), decoded.height());
    let mut image = RgbImage::from_raw(width, height, decoded.into_pixels())
        .ok_or_else(|| Failure::invalid(&["image"], "has no pixels"))?;
    let mut work = 0;
    for (at, operation) in input.operations.iter().enumerate() {
        work += pixels(image.width(), image.height());
        if work > MAX_WORK {
            return Err(Failure::too_large("operations: too many for a picture of this size: resize it first"));
        }
        image = apply(image, operation, &at.to_string())?;
    }
    let (encoded, quality) = encode(&image, input.format, input.quality, input.max_bytes)?;
    if input.format == Target::Gif {
        cx.warn("reduced: a GIF has at most 256 colours");
    }
    let bytes = encoded.len();
    Ok(Output { image: Bytes(encoded), width: image.width(), height: image.height(), bytes, quality })
}

fn pixels(width: u32, height: u32) -> u64 {
    u64::from(width) * u64::from(height)
}

/// Reads the arguments of an operation.
struct Arguments<'a> {
    at: &'a str,
    values: &'a BTreeMap<String, f64>,
}

impl Arguments<'_> {
    fn wrong(&self, name: &str, why: impl Into<String>) -> Failure {
        Failure::invalid(&["operations", self.at, "args", name], why)
    }

    fn known(&self, names: &[&str]) -> Result<(), Failure> {
        let unknown = self.values.keys().find(|name| !names.contains(&name.as_str()));
        unknown.map_or(Ok(()), |name| {
            let known =
                if names.is_empty() { "it has none".to_owned() } else { format!("known are {}", names.join(", ")) };
            Err(self.wrong(name, format!("is no argument of this operation: {known}")))
        })
    }

    fn whole(&self, name: &str, least: f64) -> Result<Option<u32>, Failure> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        if value.fract() != 0.0 || !(least..=MAX_SIDE * 2.0).contains(value) {
            return Err(self.wrong(name, format!("must be a whole number of {least} to {}", MAX_SIDE * 2.0)));
        }
        Ok(Some(*value as u32))
    }
}

fn apply(image: RgbImage, operation: &Operation, at: &str) -> Result<RgbImage, Failure> {
    let arguments = Arguments { at, values: &operation.args };
    match operation.op {
        Op::Resize | Op::Fit => resize(&image, operation.op, &arguments),
        Op::Crop => {
            arguments.known(&["x", "y", "width", "height"])?;
            let (x, y) = (arguments.whole("x", 0.0)?.unwrap_or(0), arguments.whole("y", 0.0)?.unwrap_or(0));
            let width = arguments.whole("width", 1.0)?.unwrap_or(image.width().saturating_sub(x));
            let height = arguments.whole("height", 1.0)?.unwrap_or(image.height().saturating_sub(y));
            let inside =
                |from: u32, length: u32, all: u32| length > 0 && from.checked_add(length).is_some_and(|to| to <= all);
            if !inside(x, width, image.width()) || !inside(y, height, image.height()) {
                let (all_width, all_height) = (image.width(), image.height());
                let why = format!("must lie within the picture of {all_width} by {all_height} pixels");
                return Err(Failure::invalid(&["operations", at, "args"], why));
            }
            Ok(imageops::crop_imm(&image, x, y, width, height).to_image())
        }
        Op::Rotate => {
            arguments.known(&["degrees"])?;
            let degrees = arguments.values.get("degrees").copied().unwrap_or(90.0).rem_euclid(360.0);
            match degrees {
                0.0 => Ok(image),
                90.0 => Ok(imageops::rotate90(&image)),
                180.0 => Ok(imageops::rotate180(&image)),
                270.0 => Ok(imageops::rotate270(&image)),
                _ => Err(arguments.wrong("degrees", "must be a multiple of 90, clockwise")),
            }
        }
        Op::Flip => {
            arguments.known(&["horizontal", "vertical"])?;
            let set = |name: &str| arguments.values.get(name).copied();
            let vertical = set("vertical").is_some_and(|on| on != 0.0);
            // Left to right unless something else is asked for.
            let horizontal = set("horizontal").map_or(!vertical, |on| on != 0.0);
            let image = if horizontal { imageops::flip_horizontal(&image) } else { image };
            Ok(if vertical { imageops::flip_vertical(&image) } else { image })
        }
        Op::Greyscale => {
            arguments.known(&[])?;
            let mut image = image;
            for pixel in image.pixels_mut() {
                let [r, g, b] = pixel.0.map(u32::from);
                // As muster-media weighs luma.
                let luma = u8::try_from((299 * r + 587 * g + 114 * b + 500) / 1_000).unwrap_or(u8::MAX);
                pixel.0 = [luma; 3];
            }
            Ok(image)
        }
        Op::Blur => {
            arguments.known(&["sigma"])?;
            let sigma = arguments.values.get("sigma").copied().unwrap_or(2.0);
            if !(0.1..=MAX_SIGMA).contains(&sigma) {
                return Err(arguments.wrong("sigma", format!("must be 0.1 to {MAX_SIGMA} pixels")));
            }
            Ok(imageops::fast_blur(&image, sigma as f32))
        }
        // The picture is upright since it was decoded.
        Op::AutoOrient => arguments.known(&[]).map(|()| image),
    }
}

fn resize(image: &RgbImage, op: Op, arguments: &Arguments<'_>) -> Result<RgbImage, Failure> {
    arguments.known(&["width", "height"])?;
    let (width, height) = (arguments.whole("width", 1.0)?, arguments.whole("height", 1.0)?);
    let (old_width, old_height) = (f64::from(image.width()), f64::from(image.height()));
    let scaled = |scale: f64| ((old_width * scale).round().max(1.0), (old_height * scale).round().max(1.0));
    let by_width = width.map(|width| f64::from(width) / old_width);
    let by_height = height.map(|height| f64::from(height) / old_height);
    let (width, height) = match (op, by_width, by_height) {
        (_, None, None) => return Err(arguments.wrong("width", "is required, or height")),
        (Op::Resize, Some(_), Some(_)) => (f64::from(width.unwrap_or(1)), f64::from(height.unwrap_or(1))),
        // Fitting never enlarges.
        (Op::Fit, a, b) => scaled(a.unwrap_or(f64::INFINITY).min(b.unwrap_or(f64::INFINITY)).min(1.0)),
        (_, a, b) => scaled(a.or(b).unwrap_or(1.0)),
    };
    let between = old_width * height;
    if width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS as f64 || between > MAX_BETWEEN as f64 {
        let message = format!(
            "operations.{}: resampling to {width} by {height} pixels is too large: crop first, or choose smaller sides",
            arguments.at
        );
        return Err(Failure::too_large(message));
    }
    if (width, height) == (old_width, old_height) {
        return Ok(image.clone());
    }
    // A triangle reaches a third as far, which is a third of the work.
    let large = pixels(image.width(), image.height()) > MAX_LANCZOS;
    let filter = if large { FilterType::Triangle } else { FilterType::Lanczos3 };
    Ok(imageops::resize(image, width as u32, height as u32, filter))
}

/// Encodes, and for a limit of bytes searches the best quality of JPEG that fits.
fn encode(
    image: &RgbImage,
    format: Target,
    quality: u8,
    max_bytes: Option<usize>,
) -> Result<(Vec<u8>, Option<u8>), Failure> {
    let (width, height) = image.dimensions();
    let kind = ExtendedColorType::Rgb8;
    let mut bytes = Vec::new();
    let written = match format {
        Target::Jpeg => return jpeg(image, quality, max_bytes),
        Target::Png => return within(picture::png(image.as_raw(), width, height, kind)?, max_bytes),
        Target::Webp => WebPEncoder::new_lossless(&mut bytes).write_image(image.as_raw(), width, height, kind),
        Target::Gif => GifEncoder::new_with_speed(&mut bytes, 10).encode(image.as_raw(), width, height, kind),
        Target::Bmp => BmpEncoder::new(&mut Cursor::new(&mut bytes)).write_image(image.as_raw(), width, height, kind),
    };
    written.map_err(|error| Failure::too_large(format!("the picture cannot be written in this format: {error}")))?;
    within(bytes, max_bytes)
}

fn within(bytes: Vec<u8>, max_bytes: Option<usize>) -> Result<(Vec<u8>, Option<u8>), Failure> {
    if max_bytes.is_some_and(|most| bytes.len() > most) {
        let message =
            format!("the picture has {} bytes: choose jpeg, whose quality is adapted, or resize it", bytes.len());
        return Err(Failure::no_answer(NoAnswer::Infeasible, message));
    }
    Ok((bytes, None))
}

fn jpeg(image: &RgbImage, quality: u8, max_bytes: Option<usize>) -> Result<(Vec<u8>, Option<u8>), Failure> {
    let encoded = |quality: u8| {
        let mut bytes = Vec::new();
        let mut encoder = JpegEncoder::new_with_quality(&mut bytes, quality);
        encoder
            .encode(image.as_raw(), image.width(), image.height(), ExtendedColorType::Rgb8)
            .map(|()| bytes)
            .map_err(|error| Failure::too_large(format!("the picture cannot be written as JPEG: {error}")))
    };
    let whole = encoded(quality)?;
    let Some(most) = max_bytes.filter(|most| whole.len() > *most) else { return Ok((whole, Some(quality))) };
    if pixels(image.width(), image.height()) > MAX_SEARCHED {
        let message =
            format!("max_bytes: is for pictures of up to {MAX_SEARCHED} pixels: resize it, or choose a quality");
        return Err(Failure::too_large(message));
    }
    // The best quality that fits lies between these, `low` fits.
    let least = encoded(1)?;
    if least.len() > most {
        let message = format!("the picture has {} bytes at quality 1, more than max_bytes: resize it", least.len());
        return Err(Failure::no_answer(NoAnswer::Infeasible, message));
    }
    let (mut low, mut high, mut best) = (1, quality, least);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let bytes = encoded(middle)?;
        if bytes.len() <= most {
            (low, best) = (middle, bytes);
        } else {
            high = middle;
        }
    }
    Ok((best, Some(low)))
}
