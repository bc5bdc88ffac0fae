//! Measures of a picture's luma. They say how it was taken, never what it shows.

use serde::{Deserialize, Serialize};

use crate::hash;

/// A picture of 8-bit luma, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Luma {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Luma {
    /// Creates a picture; `None` unless there are `width` times `height` pixels, at least one.
    #[must_use]
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Option<Self> {
        let count = u64::from(width) * u64::from(height);
        (count > 0 && u64::try_from(pixels.len()) == Ok(count)).then_some(Self { width, height, pixels })
    }

    /// Returns the number of columns.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Returns the number of rows.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// Returns the rows from the top.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.pixels.chunks_exact(usize::try_from(self.width).unwrap_or(usize::MAX))
    }
}

/// Measures of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Variance of the Laplacian (kernel 0 1 0, 1 −4 1, 0 1 0) over the pixels that are not on the border, of luma 0 to 255;
    /// `None` for a picture without such pixels. Pech-Pacheco et al., ICPR 2000. Comparable only between pictures of one
    /// kind and size.
    pub sharpness: Option<f64>,
    /// Mean luma, 0 (black) to 1 (white).
    pub brightness: f64,
    /// Standard deviation of luma as a share of its range, 0 to 0.5.
    pub contrast: f64,
    /// Share of pixels that are entirely black or white, 0 to 1.
    pub clipped_share: f64,
    /// Whether the picture is of one shade: all but one in a thousand of its darkest and brightest pixels are within two of
    /// 256 levels.
    pub blank: bool,
    /// [`hash::difference`] of the picture.
    pub difference_hash: u64,
}

/// Levels of luma within which a picture is blank.
const BLANK_LEVELS: usize = 2;

/// Measures a picture.
#[must_use]
pub fn measure(picture: &Luma) -> Measures {
    let mut histogram = [0_u64; 256];
    for pixel in &picture.pixels {
        if let Some(count) = histogram.get_mut(usize::from(*pixel)) {
            *count += 1;
        }
    }
    let count = picture.pixels.len() as f64;
    let levels = || histogram.iter().enumerate().map(|(level, count)| (level as f64, *count as f64));
    let mean = levels().map(|(level, count)| level * count).sum::<f64>() / count;
    let variance = levels().map(|(level, count)| (level - mean).powi(2) * count).sum::<f64>() / count;
    let clipped = histogram.first().unwrap_or(&0) + histogram.last().unwrap_or(&0);
    Measures {
        sharpness: sharpness(picture),
        brightness: mean / 255.0,
        contrast: variance.sqrt() / 255.0,
        clipped_share: clipped as f64 / count,
        blank: is_blank(&histogram, picture.pixels.len() as u64),
        difference_hash: hash::difference(picture),
    }
}

fn is_blank(histogram: &[u64; 256], count: u64) -> bool {
    // The level that one in a thousand pixels is beyond, from either end.
    let beyond = |levels: &mut dyn Iterator<Item = (usize, &u64)>| {
        let mut seen = 0;
        for (level, count_of_level) in levels {
            seen += count_of_level;
            if seen * 1_000 > count {
                return level;
            }
        }
        0
    };
    let darkest = beyond(&mut histogram.iter().enumerate());
    let brightest = beyond(&mut histogram.iter().enumerate().rev());
    brightest.saturating_sub(darkest) <= BLANK_LEVELS
}

fn sharpness(picture: &Luma) -> Option<f64> {
    let rows: Vec<&[u8]> = picture.rows().collect();
    // An integer: at most 1020² times 40 million.
    let (mut sum, mut squares, mut count) = (0_i64, 0_i64, 0_u64);
    for window in rows.windows(3) {
        let [above, row, below] = window else { continue };
        let centres = row.windows(3).zip(above.iter().skip(1)).zip(below.iter().skip(1));
        for ((row, above), below) in centres {
            let [left, centre, right] = row else { continue };
            let around = i64::from(*left) + i64::from(*right) + i64::from(*above) + i64::from(*below);
            let laplacian = around - 4 * i64::from(*centre);
            sum += laplacian;
            squares += laplacian * laplacian;
            count += 1;
        }
    }
    let count = (count > 0).then_some(count as f64)?;
    let mean = sum as f64 / count;
    Some((squares as f64 / count - mean * mean).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-9
    }

    /// One bright pixel in the middle of 5 by 5. The Laplacian of the nine inner pixels is −400 once, 100 four times and 0
    /// four times: mean 0, variance (160,000 + 40,000) / 9. Mean luma 100/25; variance 100²·(1/25 − 1/625).
    #[test]
    fn a_picture_with_one_bright_pixel_has_the_measures_computed_by_hand() {
        let mut pixels = vec![0; 25];
        pixels[12] = 100;
        let found = measure(&Luma::new(5, 5, pixels).unwrap());
        assert!(close(found.sharpness.unwrap(), 200_000.0 / 9.0), "{found:?}");
        assert!(close(found.brightness, 4.0 / 255.0), "{found:?}");
        assert!(close(found.contrast, (10_000.0_f64 * 24.0 / 625.0).sqrt() / 255.0), "{found:?}");
        assert!(close(found.clipped_share, 24.0 / 25.0), "{found:?}");
        assert!(!found.blank);
    }

    #[test]
    fn one_shade_is_blank_also_with_a_speck() {
        let grey = |speck: u8| {
            let mut pixels = vec![128; 10_000];
            pixels[5_000] = speck;
            measure(&Luma::new(100, 100, pixels).unwrap())
        };
        let found = grey(128);
        assert!(found.blank && found.sharpness == Some(0.0) && found.contrast == 0.0 && found.clipped_share == 0.0);
        assert!(grey(255).blank);
        let halves = Luma::new(2, 1, vec![128, 131]).unwrap();
        assert!(!measure(&halves).blank);
        assert!(measure(&Luma::new(2, 1, vec![128, 130]).unwrap()).blank);
    }

    #[test]
    fn a_picture_without_inner_pixels_has_no_sharpness() {
        assert_eq!(measure(&Luma::new(2, 9, vec![7; 18]).unwrap()).sharpness, None);
        assert_eq!(Luma::new(3, 3, vec![0; 8]), None);
        assert_eq!(Luma::new(0, 3, vec![]), None);
    }
}
