//! Hashes by which equal and similar pictures are found.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::measure::Luma;

/// Returns the SHA-256 of the bytes in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Columns and rows of the grid of a difference hash.
const GRID: (u32, u32) = (9, 8);

/// Returns a difference hash: a bit for each of 8 by 8 pairs of neighbours of a grid of 9 by 8 means, set where the left one
/// is brighter. Scaling and recompression change few bits; [`distance`] counts them.
#[must_use]
pub fn difference(picture: &Luma) -> u64 {
    let mut hash = 0;
    for row in 0..GRID.1 {
        let means: Vec<f64> = (0..GRID.0).map(|column| mean_of_cell(picture, column, row)).collect();
        for pair in means.windows(2) {
            let brighter = matches!(pair, [left, right] if left > right);
            hash = hash << 1 | u64::from(brighter);
        }
    }
    hash
}

fn mean_of_cell(picture: &Luma, column: u32, row: u32) -> f64 {
    let span = |nth: u32, cells: u32, length: u32| {
        let edge = |nth: u32| usize::try_from(u64::from(nth) * u64::from(length) / u64::from(cells)).unwrap_or(0);
        // A cell of a picture smaller than the grid is the nearest pixel.
        let start = edge(nth);
        start..edge(nth + 1).max(start + 1)
    };
    let columns = span(column, GRID.0, picture.width());
    let (mut sum, mut count) = (0_u64, 0_u64);
    for line in
        picture.rows().skip(span(row, GRID.1, picture.height()).start).take(span(row, GRID.1, picture.height()).len())
    {
        for pixel in line.get(columns.clone()).unwrap_or_default() {
            sum += u64::from(*pixel);
            count += 1;
        }
    }
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

/// Returns the number of bits in which two difference hashes differ, 0 to 64.
#[must_use]
pub const fn distance(one: u64, other: u64) -> u32 {
    (one ^ other).count_ones()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4 example.
    #[test]
    fn sha256_is_that_of_the_standard() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_difference_hash_stays_when_scaled_and_turns_over_when_mirrored() {
        let falling = |width: u32, height: u32| {
            let line = (0..width).map(|x| 255 - u8::try_from(x * 255 / width).unwrap());
            Luma::new(width, height, (0..height).flat_map(|_| line.clone()).collect()).unwrap()
        };
        assert_eq!(difference(&falling(90, 80)), u64::MAX);
        assert_eq!(difference(&falling(900, 161)), u64::MAX);
        let rising = Luma::new(9, 8, (0..8).flat_map(|_| 0..9).collect()).unwrap();
        assert_eq!(difference(&rising), 0);
        assert_eq!(distance(u64::MAX, 0), 64);
        let _one_pixel_has_a_hash = difference(&Luma::new(1, 1, vec![9]).unwrap());
    }
}
