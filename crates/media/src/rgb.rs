//! Pictures of red, green and blue.

use crate::Orientation;
use crate::measure::Luma;

/// A picture of 8-bit red, green and blue, row by row.
#[derive(Clone, PartialEq, Eq)]
pub struct Rgb {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl std::fmt::Debug for Rgb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rgb({} x {})", self.width, self.height)
    }
}

impl Rgb {
    /// Creates a picture; `None` unless there are three bytes for each of `width` times `height` pixels, at least one.
    #[must_use]
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Option<Self> {
        let count = u64::from(width) * u64::from(height) * 3;
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

    /// Returns red, green and blue of each pixel, row by row from the top left.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// Returns the bytes.
    #[must_use]
    pub fn into_pixels(self) -> Vec<u8> {
        self.pixels
    }

    /// Returns luma of ITU-R BT.601.
    #[must_use]
    pub fn luma(&self) -> Option<Luma> {
        let weigh = |pixel: &[u8]| match pixel {
            [r, g, b] => (299 * u32::from(*r) + 587 * u32::from(*g) + 114 * u32::from(*b) + 500) / 1_000,
            _ => 0,
        };
        let lumas = self.pixels.chunks_exact(3).map(|pixel| u8::try_from(weigh(pixel)).unwrap_or(u8::MAX));
        Luma::new(self.width, self.height, lumas.collect())
    }

    /// Turns and mirrors the picture as its orientation says.
    #[must_use]
    pub fn upright(self, orientation: Orientation) -> Self {
        if orientation == Orientation::Upright {
            return self;
        }
        let (last_column, last_row) = (self.width.saturating_sub(1), self.height.saturating_sub(1));
        let (width, height) =
            if orientation.exchanges_sides() { (self.height, self.width) } else { (self.width, self.height) };
        let mut pixels = Vec::with_capacity(self.pixels.len());
        for y in 0..height {
            for x in 0..width {
                let (column, row) = match orientation {
                    Orientation::Upright => (x, y),
                    Orientation::Mirrored => (last_column - x, y),
                    Orientation::UpsideDown => (last_column - x, last_row - y),
                    Orientation::Flipped => (x, last_row - y),
                    Orientation::Transposed => (y, x),
                    Orientation::QuarterClockwise => (y, last_row - x),
                    Orientation::Transversed => (last_column - y, last_row - x),
                    Orientation::QuarterCounterclockwise => (last_column - y, x),
                };
                let at = (row as usize * self.width as usize + column as usize) * 3;
                pixels.extend_from_slice(self.pixels.get(at..at + 3).unwrap_or(&[255; 3]));
            }
        }
        Self { width, height, pixels }
    }
}
