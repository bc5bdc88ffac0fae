//! Vectors of texts by signed feature hashing (Weinberger et al. 2009): of words and of character n-grams within words
//! (Bojanowski et al. 2017). They need no model; texts are alike that share words or parts of words.

use std::collections::BTreeMap;

use muster_kernel_words::stop;
use muster_kernel_words::tokens::{fold, words};

/// Dimensions of a vector where the caller does not say.
pub(crate) const DIMENSIONS: usize = 512;
/// Characters of n-grams.
const GRAMS: std::ops::RangeInclusive<usize> = 3..=5;
/// Characters of a word that are cut into n-grams.
const MAX_WORD: usize = 40;
/// Weight of stop words, which any text has, and of an n-gram beside its word.
const STOP: f64 = 0.1;
const GRAM: f64 = 0.3;
const SEED: u32 = 0x5eed;

/// Returns a vector of a text with length 1; of a text without words that of zeros.
pub(crate) fn vector(text: &str, dimensions: usize) -> Vec<f64> {
    normalised(sum(text, dimensions))
}

/// Returns the sum of the features of a text.
pub(crate) fn sum(text: &str, dimensions: usize) -> Vec<f64> {
    let stop = stop::of("en");
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    for (_, word) in words(text) {
        *counts.entry(fold(word)).or_default() += 1.0;
    }
    let mut vector = vec![0.0; dimensions.max(1)];
    for (word, count) in counts {
        let common = stop.is_some_and(|stop| stop.contains(word.as_str()));
        let weight = (1.0 + f64::ln(count)) * if common { STOP } else { 1.0 };
        add(&mut vector, word.as_bytes(), weight);
        let padded: Vec<char> = std::iter::once('<').chain(word.chars().take(MAX_WORD)).chain(['>']).collect();
        let grams: Vec<&[char]> = GRAMS.flat_map(|length| padded.windows(length)).collect();
        // All n-grams of a word together weigh less than the word, however long it is.
        let each = weight * GRAM / (grams.len().max(1) as f64).sqrt();
        for gram in grams {
            add(&mut vector, gram.iter().collect::<String>().as_bytes(), each);
        }
    }
    vector
}

fn add(vector: &mut [f64], feature: &[u8], weight: f64) {
    let hash = murmur3(feature, SEED);
    // The highest bit is the sign, the others choose the place.
    let sign = if hash >> 31 == 1 { -1.0 } else { 1.0 };
    let place = (hash & 0x7fff_ffff) as usize % vector.len().max(1);
    if let Some(value) = vector.get_mut(place) {
        *value += sign * weight;
    }
}

/// Returns the vector with length 1, or as it is if its length is 0.
pub(crate) fn normalised(mut vector: Vec<f64>) -> Vec<f64> {
    let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    vector
}

/// Returns the cosine of two vectors, 0 if one is zero.
pub(crate) fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let (mut dot, mut left, mut right) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        dot += a * b;
        left += a * a;
        right += b * b;
    }
    if left > 0.0 && right > 0.0 { (dot / (left.sqrt() * right.sqrt())).clamp(-1.0, 1.0) } else { 0.0 }
}

/// MurmurHash3 of 32 bits (Appleby, `MurmurHash3_x86_32`).
fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    let mixed = |block: u32| block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = seed;
    let mut blocks = bytes.chunks_exact(4);
    for block in &mut blocks {
        let block = block.iter().rev().fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte));
        hash = (hash ^ mixed(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let tail = blocks.remainder().iter().rev().fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte));
    if tail != 0 {
        hash ^= mixed(tail);
    }
    hash ^= u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published test vectors of MurmurHash3_x86_32 (mmh3 5 of PyPI gives the same).
    #[test]
    fn murmur3_by_its_test_vectors() {
        for (text, seed, expected) in [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("test", 0, 0xba6b_d213),
            ("Hello, world!", 0, 0xc036_3e43),
            ("The quick brown fox jumps over the lazy dog", 0, 0x2e4f_f723),
        ] {
            assert_eq!(murmur3(text.as_bytes(), seed), expected, "{text}");
        }
    }

    #[test]
    fn texts_with_common_parts_are_alike() {
        let of = |text: &str| vector(text, DIMENSIONS);
        let near = cosine(&of("the flooded town"), &of("floods in town"));
        let far = cosine(&of("the flooded town"), &of("a parliament debate"));
        assert!(near > 0.4 && far < 0.2, "{near} {far}");
        assert!((cosine(&of("cafe\u{301}"), &of("CAFÉ")) - 1.0).abs() < 1e-12);
        assert_eq!(cosine(&of(""), &of("a")), 0.0);
    }
}
