//! Finding QR codes in pictures.

use std::collections::BTreeSet;

use muster_engine::prelude::*;
use muster_engine::stack;
use muster_media::Rgb;
use rqrr::PreparedImage;

use super::Code;
use crate::picture;

/// Longest sides at which a picture is searched, one after another: noise and moiré vanish in smaller ones.
const SIDES: [u32; 3] = [1_600, 800, 400];
/// Most corner marks: three for each of twenty codes. The search compares each with each.
const MAX_CORNERS: usize = 60;
/// Most rows of pixels that are like the middle of a corner mark. For each the search fills what is around it with a colour.
const MAX_MATCHES: usize = 5_000;
const STACK: usize = 16 << 20;

/// Returns the version of the first code, and the codes from top to bottom.
pub(super) fn codes(bytes: &[u8], cx: &Context) -> Result<(Option<usize>, Vec<Code>), Failure> {
    let (header, largest) = picture::decoded(bytes, &["image"], SIDES[0], cx)?;
    let (full, _) = header.upright();
    let mut crowded = false;
    for side in SIDES {
        let small = if side == SIDES[0] { largest.clone() } else { halved(&largest, side) };
        let bitmap = Bitmap::of(&small);
        if bitmap.is_crowded() {
            crowded = true;
            continue;
        }
        let scale = f64::from(full) / f64::from(small.width());
        let broken = || Failure::invalid(&["image"], "has a code that cannot be read");
        let found = stack::on_stack(cx, STACK, broken, || Ok(search(&bitmap, scale)))?;
        if !found.is_empty() {
            let version = found.first().map(|(version, _)| *version);
            return Ok((version, found.into_iter().map(|(_, code)| code).collect()));
        }
        if largest.width().max(largest.height()) <= side / 2 {
            break;
        }
    }
    cx.warn(if crowded {
        "not_found: no code was found, and the picture has many shapes like the corners of codes: cut it to the code"
    } else {
        "not_found: no code was found"
    });
    Ok((None, Vec::new()))
}

fn search(bitmap: &Bitmap, scale: f64) -> Vec<(usize, Code)> {
    let mut image = PreparedImage::prepare_from_bitmap(bitmap.width, bitmap.height, |x, y| bitmap.is_dark(x, y));
    let mut found = Vec::new();
    for grid in image.detect_grids() {
        let mut text = Vec::new();
        let Ok(meta) = grid.decode_to(&mut text) else { continue };
        // As written: level M is 0 (ISO/IEC 18004, table 12).
        let ecc = match meta.ecc_level {
            0 => "M",
            1 => "L",
            2 => "H",
            _ => "Q",
        };
        let corners =
            grid.bounds.iter().map(|point| vec![f64::from(point.x) * scale, f64::from(point.y) * scale]).collect();
        let text = String::from_utf8(text).unwrap_or_else(|error| {
            // Without a declared encoding it is ISO 8859-1 by the standard.
            error.into_bytes().into_iter().map(char::from).collect()
        });
        let place = grid.bounds.first().map_or((0, 0), |point| (point.y, point.x));
        found.push((place, (meta.version.0, Code { text, corners, ecc })));
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, code)| code).collect()
}

/// Means of squares of pixels.
fn halved(picture: &Rgb, side: u32) -> Rgb {
    let factor = picture.width().max(picture.height()).div_ceil(side).max(1);
    let (width, height) = ((picture.width() / factor).max(1), (picture.height() / factor).max(1));
    let mut pixels = Vec::with_capacity((width * height * 3) as usize);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3_u32 {
                let (mut sum, mut count) = (0_u32, 0_u32);
                for (dx, dy) in (0..factor).flat_map(|dy| (0..factor).map(move |dx| (dx, dy))) {
                    let (column, row) = (x * factor + dx, y * factor + dy);
                    let at = (row as usize * picture.width() as usize + column as usize) * 3 + channel as usize;
                    if let Some(sample) = picture.pixels().get(at).filter(|_| column < picture.width()) {
                        sum += u32::from(*sample);
                        count += 1;
                    }
                }
                pixels.push(u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX));
            }
        }
    }
    Rgb::new(width, height, pixels).unwrap_or_else(|| picture.clone())
}

/// Dark and light pixels.
struct Bitmap {
    width: usize,
    height: usize,
    dark: Vec<bool>,
}

impl Bitmap {
    /// A pixel is dark that is an eighth darker than the mean of the square of a quarter of the width around it
    /// (Bradley and Roth, Journal of Graphics Tools 12, 2007).
    fn of(picture: &Rgb) -> Self {
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        let lumas: Vec<u32> = picture
            .pixels()
            .chunks_exact(3)
            .map(|pixel| match pixel {
                [r, g, b] => (299 * u32::from(*r) + 587 * u32::from(*g) + 114 * u32::from(*b) + 500) / 1_000,
                _ => 0,
            })
            .collect();
        // Sums of all pixels above and to the left; 1,600 by 1,600 by 255 fits.
        let mut sums = vec![0_u32; (width + 1) * (height + 1)];
        for (y, line) in lumas.chunks_exact(width).enumerate() {
            let mut row = 0;
            for (x, luma) in line.iter().enumerate() {
                row += luma;
                let above = sums.get(y * (width + 1) + x + 1).copied().unwrap_or(0);
                if let Some(sum) = sums.get_mut((y + 1) * (width + 1) + x + 1) {
                    *sum = above + row;
                }
            }
        }
        let reach = (width.max(height) / 8).max(2);
        let at = |x: usize, y: usize| i64::from(sums.get(y * (width + 1) + x).copied().unwrap_or(0));
        let mut dark = Vec::with_capacity(width * height);
        for (y, line) in lumas.chunks_exact(width).enumerate() {
            let (top, bottom) = (y.saturating_sub(reach), (y + reach + 1).min(height));
            for (x, luma) in line.iter().enumerate() {
                let (left, right) = (x.saturating_sub(reach), (x + reach + 1).min(width));
                let sum = at(right, bottom) - at(left, bottom) - at(right, top) + at(left, top);
                let count = ((right - left) * (bottom - top)) as i64;
                dark.push(i64::from(*luma) * count * 8 < sum * 7);
            }
        }
        Self { width, height, dark }
    }

    fn is_dark(&self, x: usize, y: usize) -> bool {
        x < self.width && self.dark.get(y * self.width + x).copied().unwrap_or(false)
    }

    fn dark_runs(&self, y: usize) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut x = 0;
        while x < self.width {
            let length = (x..self.width).take_while(|at| self.is_dark(*at, y)).count();
            if length > 0 {
                runs.push(Run { begin: x, end: x + length });
            }
            x += length.max(1);
        }
        runs
    }

    /// Whether the search would take too long.
    fn is_crowded(&self) -> bool {
        let rows: Vec<Vec<Run>> = (0..self.height).map(|y| self.dark_runs(y)).collect();
        let mut regions = Regions::of(&rows);
        let (mut first, mut matches) = (0, 0);
        let mut corners = BTreeSet::new();
        for runs in &rows {
            for (at, window) in runs.windows(3).enumerate() {
                let [left, stone, right] = window else { continue };
                if !is_corner([
                    left.end - left.begin,
                    stone.begin - left.end,
                    stone.end - stone.begin,
                    right.begin - stone.end,
                    right.end - right.begin,
                ]) {
                    continue;
                }
                matches += 1;
                let at = first + at;
                let (ring, inner) = (regions.root(at), regions.root(at + 1));
                let share = regions.area(inner) * 100 / regions.area(ring).max(1);
                if ring == regions.root(at + 2) && ring != inner && (11..70).contains(&share) {
                    corners.insert(ring);
                }
            }
            first += runs.len();
        }
        matches > MAX_MATCHES || corners.len() > MAX_CORNERS
    }
}

/// Dark pixels of a row, from the first to behind the last.
struct Run {
    begin: usize,
    end: usize,
}

/// Runs that touch one another, above and below, as sets with a number: that of a run in the order of rows.
struct Regions {
    parents: Vec<usize>,
    areas: Vec<usize>,
}

impl Regions {
    fn of(rows: &[Vec<Run>]) -> Self {
        let areas: Vec<usize> = rows.iter().flatten().map(|run| run.end - run.begin).collect();
        let mut regions = Self { parents: (0..areas.len()).collect(), areas };
        let mut first = 0;
        for (upper, lower) in rows.iter().zip(rows.iter().skip(1)) {
            let (mut above, mut below) = (0, 0);
            while let (Some(a), Some(b)) = (upper.get(above), lower.get(below)) {
                if a.begin < b.end && b.begin < a.end {
                    regions.join(first + above, first + upper.len() + below);
                }
                if a.end < b.end {
                    above += 1;
                } else {
                    below += 1;
                }
            }
            first += upper.len();
        }
        regions
    }

    fn parent(&self, run: usize) -> usize {
        self.parents.get(run).copied().unwrap_or(run)
    }

    /// The set of a run; halves the way there.
    fn root(&mut self, mut run: usize) -> usize {
        while self.parent(run) != run {
            let above = self.parent(self.parent(run));
            if let Some(parent) = self.parents.get_mut(run) {
                *parent = above;
            }
            run = above;
        }
        run
    }

    fn area(&self, root: usize) -> usize {
        self.areas.get(root).copied().unwrap_or(0)
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        // The smaller joins the larger: ways stay short.
        let (small, large) = if self.area(a) < self.area(b) { (a, b) } else { (b, a) };
        let area = self.area(small);
        if let Some(parent) = self.parents.get_mut(small) {
            *parent = large;
        }
        if let Some(total) = self.areas.get_mut(large) {
            *total += area;
        }
    }
}

/// 1:1:3:1:1 with the tolerance and the rounding of the search.
fn is_corner(runs: [usize; 5]) -> bool {
    let [a, b, _, d, e] = runs;
    let unit = (a + b + d + e) / 4;
    let slack = unit * 3 / 4;
    let near = |(run, modules): (usize, usize)| run + slack >= modules * unit && run <= modules * unit + slack;
    runs.into_iter().zip([1, 1, 3, 1, 1]).all(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bitmap(rows: &[&str]) -> Bitmap {
        let dark = rows.iter().flat_map(|row| row.chars().map(|c| c == '#')).collect();
        Bitmap { width: rows[0].len(), height: rows.len(), dark }
    }

    /// `count` marks in a row.
    fn marks(count: usize) -> Bitmap {
        let mark = ["####### ", "#     # ", "# ### # ", "# ### # ", "# ### # ", "#     # ", "####### "];
        let rows: Vec<String> = mark.iter().map(|row| row.repeat(count)).collect();
        bitmap(&rows.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn marks_are_counted_once() {
        assert!(!marks(MAX_CORNERS).is_crowded());
        assert!(marks(MAX_CORNERS + 1).is_crowded());
    }

    #[test]
    fn rows_of_stripes_are_no_marks_until_there_are_many() {
        let stripes = |rows: usize| bitmap(&vec!["# # ### # # "; rows]);
        assert!(!stripes(MAX_MATCHES).is_crowded());
        assert!(stripes(MAX_MATCHES + 1).is_crowded());
    }
}
