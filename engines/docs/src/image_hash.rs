//! q239: perceptual hashes.

use image::imageops::{FilterType, resize};
use image::{GrayImage, ImageBuffer};
use muster_engine::prelude::*;
use muster_engine::repeated;

use crate::picture;

/// Most pictures, and most pixels of all.
const MAX_IMAGES: usize = 50;
const MAX_PIXELS: u64 = 60_000_000;
/// The transform takes this many times the size of the hash (Zauner 2010, section 3.2.1).
const FACTOR: usize = 4;

#[derive(Input)]
pub struct Input {
    images: Vec<Picture>,
    hash_size: usize,
    threshold: u32,
}

#[derive(Input)]
struct Picture {
    id: String,
    image: Bytes,
}

#[derive(Output)]
pub struct Output {
    hashes: Vec<Hashes>,
    pairs: Vec<Pair>,
    groups: Vec<Vec<String>>,
}

#[derive(Output)]
struct Hashes {
    id: String,
    ahash: String,
    dhash: String,
    phash: String,
}

#[derive(Output)]
struct Pair {
    a: String,
    b: String,
    distance: u32,
    method: &'static str,
}

/// Bits of the three hashes of a picture, row by row.
struct Bits([Vec<bool>; 3]);

const METHODS: [&str; 3] = ["ahash", "dhash", "phash"];

/// Hashes pictures, and finds those that are alike.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.images.len() > MAX_IMAGES {
        return Err(Failure::too_large(format!("images: at most {MAX_IMAGES}, and there are {}", input.images.len())));
    }
    if let Some(at) = repeated(input.images.iter().map(|picture| picture.id.as_str())) {
        return Err(Failure::invalid(&["images", &at.to_string(), "id"], "occurs twice"));
    }
    let mut pixels = 0;
    let mut bits = Vec::new();
    for (at, picture) in input.images.iter().enumerate() {
        let at = at.to_string();
        let field = ["images", at.as_str(), "image"];
        let header = picture::header_of(&picture.image.0, &field)?;
        pixels += u64::from(header.width) * u64::from(header.height);
        if pixels > MAX_PIXELS {
            return Err(Failure::too_large(format!(
                "images: more than {} million pixels together",
                MAX_PIXELS / 1_000_000
            )));
        }
        bits.push(hashes(&picture.image.0, &field, input.hash_size, cx)?);
    }
    let mut pairs = Vec::new();
    let mut alike = Vec::new();
    for (a, one) in bits.iter().enumerate() {
        for (b, other) in bits.iter().enumerate().skip(a + 1) {
            let mut near = 0;
            for ((one, other), method) in one.0.iter().zip(&other.0).zip(METHODS) {
                let distance = one.iter().zip(other).filter(|(x, y)| x != y).count() as u32;
                if distance <= input.threshold {
                    near += 1;
                    pairs.push(Pair { a: name(&input.images, a), b: name(&input.images, b), distance, method });
                }
            }
            // One hash alone is often equal for different plain pictures.
            if near >= 2 {
                alike.push((a, b));
            }
        }
    }
    let groups = groups(bits.len(), &alike)
        .into_iter()
        .map(|group| group.into_iter().map(|at| name(&input.images, at)).collect())
        .collect();
    let hashes = input.images.iter().zip(&bits).map(|(picture, Bits([ahash, dhash, phash]))| Hashes {
        id: picture.id.clone(),
        ahash: hex(ahash),
        dhash: hex(dhash),
        phash: hex(phash),
    });
    Ok(Output { hashes: hashes.collect(), pairs, groups })
}

fn name(pictures: &[Picture], at: usize) -> String {
    pictures.get(at).map_or_else(String::new, |picture| picture.id.clone())
}

/// Sets of two pictures or more that are connected, in order of their first.
fn groups(count: usize, alike: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut label: Vec<usize> = (0..count).collect();
    for (a, b) in alike {
        let of = |at: &usize, label: &[usize]| label.get(*at).copied().unwrap_or(0);
        let (from, to) = (of(b, &label).max(of(a, &label)), of(b, &label).min(of(a, &label)));
        label.iter_mut().filter(|at| **at == from).for_each(|at| *at = to);
    }
    let members =
        |of: usize| label.iter().enumerate().filter(move |(_, l)| **l == of).map(|(at, _)| at).collect::<Vec<_>>();
    (0..count).map(members).filter(|group| group.len() > 1).collect()
}

fn hashes(bytes: &[u8], field: &[&str], size: usize, cx: &Context) -> Result<Bits, Failure> {
    let (_, decoded) = picture::decoded(bytes, field, picture::LIMITS.side, cx)?;
    let (width, height) = (decoded.width(), decoded.height());
    let luma = decoded.luma().map(|luma| luma.rows().flatten().copied().collect::<Vec<u8>>());
    let grey: GrayImage = luma
        .and_then(|luma| ImageBuffer::from_raw(width, height, luma))
        .ok_or_else(|| Failure::invalid(field, "has no pixels"))?;
    let scaled = |columns: usize, rows: usize| -> Vec<u8> {
        let side = |n: usize| u32::try_from(n).unwrap_or(1);
        resize(&grey, side(columns), side(rows), FilterType::Lanczos3).into_raw()
    };
    let square = scaled(size, size);
    let mean = square.iter().map(|p| f64::from(*p)).sum::<f64>() / square.len().max(1) as f64;
    let average = square.iter().map(|p| f64::from(*p) > mean).collect();
    let difference = scaled(size + 1, size)
        .chunks_exact(size + 1)
        .flat_map(|row| row.windows(2).map(|pair| matches!(pair, [left, right] if right > left)))
        .collect();
    Ok(Bits([average, difference, perceptual(&scaled(size * FACTOR, size * FACTOR), size)]))
}

/// Low frequencies of the cosine transform above their median.
fn perceptual(pixels: &[u8], size: usize) -> Vec<bool> {
    let n = size * FACTOR;
    let rows: Vec<f64> = pixels.iter().map(|p| f64::from(*p)).collect();
    // Row `k` of the transform; only the lowest frequencies are used.
    let waves: Vec<f64> = (0..size)
        .flat_map(|k| {
            (0..n).map(move |i| libm::cos(std::f64::consts::PI * k as f64 * (2 * i + 1) as f64 / (2 * n) as f64))
        })
        .collect();
    let mut across = Vec::with_capacity(n * size);
    for row in rows.chunks_exact(n) {
        for wave in waves.chunks_exact(n) {
            across.push(row.iter().zip(wave).map(|(p, w)| p * w).sum::<f64>());
        }
    }
    let mut low = Vec::with_capacity(size * size);
    for wave in waves.chunks_exact(n) {
        for column in 0..size {
            let values = across.iter().skip(column).step_by(size);
            low.push(values.zip(wave).map(|(p, w)| p * w).sum::<f64>());
        }
    }
    let mut sorted = low.clone();
    sorted.sort_by(f64::total_cmp);
    let at = |at: usize| sorted.get(at).copied().unwrap_or(0.0);
    let median = (at((sorted.len() - 1) / 2) + at(sorted.len() / 2)) / 2.0;
    low.iter().map(|value| *value > median).collect()
}

/// Four bits a digit, the first bit highest; filled with zeros in front, as by `ImageHash`.
fn hex(bits: &[bool]) -> String {
    let lead = (4 - bits.len() % 4) % 4;
    let padded: Vec<bool> = std::iter::repeat_n(false, lead).chain(bits.iter().copied()).collect();
    padded
        .chunks(4)
        .map(|digit| digit.iter().fold(0_u32, |value, bit| value << 1 | u32::from(*bit)))
        .filter_map(|value| char::from_digit(value, 16))
        .collect()
}
