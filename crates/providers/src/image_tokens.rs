//! Prompt tokens of images, by the providers' published formulas.
//!
//! - OpenAI ("Images and vision", section "Calculating costs"): models that count tiles scale the image into 2048 × 2048
//!   and its shorter side to 768, and bill 85 tokens and 170 for each tile of 512 × 512 (`gpt-4o-mini`: 2833 and 5667).
//!   Models that count patches bill `ceil(w / 32) × ceil(h / 32)` times a factor: the small models at most 1536 patches,
//!   times up to 2.46; later models every patch, times 1.2.
//! - Anthropic ("Vision", section "Evaluate image size"): `w × h / 750`, after scaling to a size that costs at most about
//!   4784 tokens.
//! - Google ("Understand and count tokens", section "Images"): 258 for each tile of 768 × 768, one tile where both sides
//!   are at most 384; Gemini 3 bills 1120 by default.
//!
//! Where a provider has several formulas, the dearer one counts: which of them a model uses is not published for every
//! model, and money is reserved by this figure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{Image, ImageSource, ProviderKind};

/// Base64 characters that are decoded in the search for the dimensions: a JPEG can have large metadata before them.
const SEARCHED_CHARS: usize = 1 << 20;
/// Patches of OpenAI's later models beyond which an image is scaled down.
const MAX_PATCHES: u64 = 12_500;
/// Patches of OpenAI's small models, and their largest factor.
const SMALL_PATCHES: u64 = 1_536;
/// Largest cost of an image at Anthropic.
const MAX_ANTHROPIC: u64 = 4_784;
/// Cost of an image at Gemini 3, at the default resolution.
const GEMINI_3: u64 = 1_120;
/// Tiles of the largest image at Gemini: larger ones are scaled down to 3072 × 3072.
const MAX_GEMINI_TILES: u64 = 16;

/// Returns the prompt tokens of an image at a provider. An image whose dimensions are unknown, as that of an address,
/// counts as the largest.
pub fn image_tokens(kind: ProviderKind, model: &str, image: &Image) -> u32 {
    tokens(kind, model, dimensions(&image.source), image.detail.as_deref())
}

/// Returns the largest number of prompt tokens of an image at any provider, for a request whose provider is not known
/// yet.
pub fn image_tokens_at_most(image: &Image) -> u32 {
    let dimensions = dimensions(&image.source);
    let all = ProviderKind::ALL.into_iter().map(|kind| tokens(kind, "", dimensions, image.detail.as_deref()));
    all.max().unwrap_or_default()
}

fn tokens(kind: ProviderKind, model: &str, dimensions: Option<(u32, u32)>, detail: Option<&str>) -> u32 {
    let sides = dimensions.map(|(width, height)| (u64::from(width.max(1)), u64::from(height.max(1))));
    let tokens = match kind {
        ProviderKind::OpenAi => openai(model, sides, detail),
        ProviderKind::Anthropic => {
            sides.map_or(MAX_ANTHROPIC, |(width, height)| width.saturating_mul(height).div_ceil(750).min(MAX_ANTHROPIC))
        }
        ProviderKind::Gemini => gemini(sides),
        // The embedded models read no images.
        ProviderKind::Embedded => 0,
    };
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

fn openai(model: &str, sides: Option<(u64, u64)>, detail: Option<&str>) -> u64 {
    let (base, tile) = if model.contains("4o-mini") { (2_833, 5_667) } else { (85, 170) };
    // An image of unknown size is as dear as the largest; 2048 × 768 has the most tiles.
    let (tiles, patches) = sides.map_or((8, MAX_PATCHES), |(width, height)| {
        (tiles(width, height), width.div_ceil(32).saturating_mul(height.div_ceil(32)))
    });
    let small = patches.min(SMALL_PATCHES) * 246 / 100;
    if detail == Some("low") {
        // One tile's worth at most: it is scaled to 512 × 512, which are 256 patches.
        return base.max(small.min(256 * 246 / 100));
    }
    (base + tile * tiles).max(small).max(patches.min(MAX_PATCHES) * 12 / 10)
}

/// Tiles of 512 × 512 after scaling into 2048 × 2048 and the shorter side to 768.
fn tiles(width: u64, height: u64) -> u64 {
    let (mut width, mut height) = (width as f64, height as f64);
    let fit = (2048.0 / width.max(height)).min(1.0);
    (width, height) = (width * fit, height * fit);
    let fit = (768.0 / width.min(height)).min(1.0);
    // At most four by four; the casts are within range.
    let count = |side: f64| ((side * fit) / 512.0).ceil().clamp(1.0, 4.0) as u64;
    count(width) * count(height)
}

fn gemini(sides: Option<(u64, u64)>) -> u64 {
    let tiles = match sides {
        Some((width, height)) if width <= 384 && height <= 384 => 1,
        Some((width, height)) => width.div_ceil(768).saturating_mul(height.div_ceil(768)).min(MAX_GEMINI_TILES),
        None => MAX_GEMINI_TILES,
    };
    (tiles * 258).max(GEMINI_3)
}

/// Returns width and height of an inline image, from its header.
fn dimensions(source: &ImageSource) -> Option<(u32, u32)> {
    let ImageSource::Data { base64, .. } = source else { return None };
    // A PNG, a GIF and a WebP have their dimensions at their beginning; a JPEG may have them later.
    let first = decoded(base64, 64)?;
    header_dimensions(&first).or_else(|| {
        first.starts_with(&[0xff, 0xd8]).then(|| decoded(base64, SEARCHED_CHARS)).flatten().and_then(|all| jpeg(&all))
    })
}

/// Decodes the first characters, a multiple of four.
fn decoded(base64: &str, chars: usize) -> Option<Vec<u8>> {
    let head = if base64.len() <= chars { base64 } else { base64.get(..chars / 4 * 4)? };
    STANDARD.decode(head).ok()
}

fn header_dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let little = |at: usize, count: usize| {
        let bytes = bytes.get(at..at + count)?;
        Some(bytes.iter().rev().fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte)))
    };
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some((big(16)?, big(20)?));
    }
    if bytes.starts_with(b"GIF8") {
        return Some((little(6, 2)?, little(8, 2)?));
    }
    if !bytes.starts_with(b"RIFF") || bytes.get(8..12)? != b"WEBP" {
        return None;
    }
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(24, 3)? + 1, little(27, 3)? + 1)),
        b"VP8L" => {
            let bits = little(21, 4)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some((little(26, 2)? & 0x3fff, little(28, 2)? & 0x3fff)),
        _ => None,
    }
}

/// Finds the frame header of a JPEG (ITU-T T.81, annex B).
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let short = |at: usize| Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match *bytes.get(at + 1)? {
            // Fill bytes.
            0xff => at += 1,
            // SOF0 to SOF15, without the tables DHT, JPG and DAC between them.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => return Some((short(at + 7)?, short(at + 5)?)),
            0x01 | 0xd0..=0xd7 => at += 2,
            _ => at += 2 + usize::try_from(short(at + 2)?).ok()?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(bytes: &[u8], detail: Option<&str>) -> Image {
        let source = ImageSource::Data { media_type: "image/png".to_owned(), base64: STANDARD.encode(bytes) };
        Image { source, detail: detail.map(str::to_owned) }
    }

    /// The beginning of a PNG of this size.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes().into_iter().chain(height.to_be_bytes()));
        bytes.extend([8, 2, 0, 0, 0]);
        bytes.extend([0; 200]);
        bytes
    }

    #[test]
    fn dimensions_are_read_from_every_accepted_format() {
        let found = |bytes: &[u8]| dimensions(&image(bytes, None).source);
        assert_eq!(found(&png(640, 480)), Some((640, 480)));
        assert_eq!(found(b"GIF89a\x20\x03\x58\x02\0\0\0"), Some((800, 600)));
        let riff = |chunk: &[u8]| [b"RIFF\0\0\0\0WEBP".as_slice(), chunk].concat();
        assert_eq!(found(&riff(b"VP8X\x0a\0\0\0\0\0\0\0\x1f\x03\0\x57\x02\0")), Some((800, 600)));
        // Lossless: 14 bits each of width - 1 and height - 1.
        let bits = (799_u32 | (599 << 14)).to_le_bytes();
        assert_eq!(found(&riff(&[b"VP8L\0\0\0\0\x2f".as_slice(), &bits].concat())), Some((800, 600)));
        assert_eq!(found(&riff(b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x20\x03\x58\x02")), Some((800, 600)));
        // A JPEG with 60 kB of metadata before its frame header.
        let mut jpeg = vec![0xff, 0xd8, 0xff, 0xe1];
        jpeg.extend(60_000_u16.to_be_bytes());
        jpeg.resize(jpeg.len() + 59_998, 0);
        jpeg.extend([0xff, 0xc0, 0, 17, 8, 0x02, 0x58, 0x03, 0x20, 3]);
        assert_eq!(found(&jpeg), Some((800, 600)));
        assert_eq!(found(b"no image at all"), None);
        assert_eq!(found(&[0xff, 0xd8, 0xff]), None);
    }

    /// The examples of OpenAI's documentation: 1024 × 1024 is 765 by tiles and 2048 × 4096 is 1105; 1024 × 1024 has 1024
    /// patches, and 1800 × 2400 is scaled to fit 1536 of them.
    #[test]
    fn the_examples_of_the_documentation() {
        assert_eq!((tiles(1024, 1024), tiles(2048, 4096)), (4, 6));
        let at = |kind, bytes: &[u8]| image_tokens(kind, "gpt-4.1-mini", &image(bytes, None));
        let openai = |width, height| at(ProviderKind::OpenAi, &png(width, height));
        assert!(openai(1024, 1024) >= 1024 * 162 / 100 && openai(1800, 2400) >= 1452 * 162 / 100);
        // Anthropic: 200 × 200 costs about 54 tokens, 1000 × 1000 about 1334.
        let anthropic = |width, height| at(ProviderKind::Anthropic, &png(width, height));
        assert_eq!((anthropic(200, 200), anthropic(1000, 1000), anthropic(9000, 9000)), (54, 1334, 4784));
        // Google: 960 × 540 are two tiles, both less than the 1120 of Gemini 3; a large one has more.
        let gemini = |width, height| at(ProviderKind::Gemini, &png(width, height));
        assert_eq!((gemini(300, 300), gemini(960, 540), gemini(3072, 2304)), (1120, 1120, 12 * 258));
        // gpt-4o-mini: 2833 and 5667 for each of four tiles.
        assert_eq!(image_tokens(ProviderKind::OpenAi, "gpt-4o-mini", &image(&png(1024, 1024), None)), 25_501);
        assert_eq!(image_tokens(ProviderKind::OpenAi, "gpt-4o-mini", &image(&png(1024, 1024), Some("low"))), 2_833);
    }

    #[test]
    fn an_image_of_unknown_size_is_the_largest_and_no_header_breaks_the_count() {
        let address = Image { source: ImageSource::Url("https://example.org/a.png".to_owned()), detail: None };
        for kind in [ProviderKind::OpenAi, ProviderKind::Anthropic, ProviderKind::Gemini] {
            let unknown = image_tokens(kind, "m", &address);
            for (width, height) in [(1, 1), (4032, 3024), (u32::MAX, u32::MAX), (0, 7), (1, u32::MAX)] {
                let known = image_tokens(kind, "m", &image(&png(width, height), None));
                assert!((1..=unknown).contains(&known), "{kind} {width}x{height}: {known} of {unknown}");
                assert!(image_tokens_at_most(&image(&png(width, height), None)) >= known);
            }
        }
    }
}
