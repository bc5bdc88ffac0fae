//! Shrinking by the mean of the pixels that a pixel covers, in integers, row by row.

use crate::rgb::Rgb;

/// A picture that is being shrunk.
#[derive(Debug)]
pub(crate) struct Shrink {
    from: [u64; 2],
    to: [u64; 2],
    /// Rows that came.
    rows: u64,
    /// Sums of the row that is being made: each pixel of the source counts by the area that it covers.
    sums: Vec<u64>,
    pixels: Vec<u8>,
}

impl Shrink {
    /// Begins with a picture of these sides; `None` if one is zero.
    pub(crate) fn new(width: u32, height: u32, side: u32) -> Option<Self> {
        let longest = width.max(height);
        if width == 0 || height == 0 || side == 0 {
            return None;
        }
        let shrunk = |length: u32| {
            let exact = u64::from(length) * u64::from(side.min(longest));
            ((exact + u64::from(longest) / 2) / u64::from(longest)).max(1)
        };
        let to = [shrunk(width), shrunk(height)];
        let sums = usize::try_from(to[0]).ok()? * 3;
        let pixels = Vec::with_capacity(sums * usize::try_from(to[1]).ok()?);
        Some(Self { from: [width.into(), height.into()], to, rows: 0, sums: vec![0; sums], pixels })
    }

    /// Adds the next row of the source, red, green and blue of each pixel.
    pub(crate) fn add(&mut self, row: &[u8]) {
        if self.from == self.to {
            self.pixels.extend_from_slice(row);
            return;
        }
        let across = self.across(row);
        let [from, to] = [self.from[1], self.to[1]];
        // In units of 1 / (from · to) of the height, a row of the source is `to` high and one of the result `from`.
        let start = self.rows * to;
        let edge = (start / from + 1) * from;
        let above = to.min(edge - start);
        self.weigh(&across, above);
        if start + to >= edge {
            self.emit();
            self.weigh(&across, to - above);
        }
        self.rows += 1;
    }

    fn weigh(&mut self, row: &[u64], weight: u64) {
        for (sum, value) in self.sums.iter_mut().zip(row) {
            *sum += value * weight;
        }
    }

    fn emit(&mut self) {
        let area = self.from[0] * self.from[1];
        let mean = |sum: &u64| u8::try_from((sum + area / 2) / area).unwrap_or(u8::MAX);
        self.pixels.extend(self.sums.iter().map(mean));
        self.sums.fill(0);
    }

    /// The row shrunk across, as sums.
    fn across(&self, row: &[u8]) -> Vec<u64> {
        let [from, to] = [self.from[0], self.to[0]];
        let mut sums = vec![0_u64; self.sums.len()];
        let mut start = 0;
        for pixel in row.chunks_exact(3) {
            let column = start / from;
            let left = to.min((column + 1) * from - start);
            let at = usize::try_from(column * 3).unwrap_or(usize::MAX);
            for (place, weight) in [(at, left), (at.saturating_add(3), to - left)] {
                let Some(sums) = sums.get_mut(place..).filter(|_| weight > 0) else { continue };
                for (sum, sample) in sums.iter_mut().zip(pixel) {
                    *sum += u64::from(*sample) * weight;
                }
            }
            start += to;
        }
        sums
    }

    /// Returns the picture; `None` if rows are missing.
    pub(crate) fn finish(self) -> Option<Rgb> {
        Rgb::new(u32::try_from(self.to[0]).ok()?, u32::try_from(self.to[1]).ok()?, self.pixels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shrunk(width: u32, rows: &[&[u8]], side: u32) -> Rgb {
        let mut shrink = Shrink::new(width, u32::try_from(rows.len()).unwrap(), side).unwrap();
        for row in rows {
            let row: Vec<u8> = row.iter().flat_map(|grey| [*grey; 3]).collect();
            shrink.add(&row);
        }
        shrink.finish().unwrap()
    }

    fn greys(picture: &Rgb) -> Vec<u8> {
        picture.pixels().chunks_exact(3).map(|pixel| pixel[0]).collect()
    }

    #[test]
    fn each_pixel_is_the_mean_of_what_it_covers() {
        let quarter = shrunk(4, &[&[0, 100, 10, 20], &[200, 100, 30, 40], &[1, 1, 2, 2], &[1, 1, 2, 2]], 2);
        assert_eq!((quarter.width(), quarter.height(), greys(&quarter)), (2, 2, vec![100, 25, 1, 2]));
        // Three to two: the middle pixel belongs to both by halves. (90 + 30/2)/1.5 = 70, (30/2 + 0)/1.5 = 10.
        assert_eq!(greys(&shrunk(3, &[&[90, 30, 0]], 2)), [70, 10]);
        assert_eq!(greys(&shrunk(1, &[&[90], &[30], &[0]], 2)), [70, 10]);
    }

    #[test]
    fn a_picture_within_the_bound_is_not_changed_and_no_side_falls_to_nothing() {
        assert_eq!(greys(&shrunk(2, &[&[1, 2]], 2)), [1, 2]);
        let line = shrunk(1_000, &[&[7; 1_000]], 10);
        assert_eq!((line.width(), line.height(), greys(&line)), (10, 1, vec![7; 10]));
        assert!(Shrink::new(0, 3, 5).is_none());
    }

    #[test]
    fn a_picture_of_one_shade_keeps_it_at_every_size() {
        for side in 1..=37 {
            let rows: Vec<Vec<u8>> = vec![vec![201; 37]; 23];
            let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
            let small = shrunk(37, &rows, side);
            assert!(small.width() == side && greys(&small).iter().all(|grey| *grey == 201), "{side}");
        }
    }
}
