//! Finding QR codes in pictures.

use muster_engine::prelude::*;
use muster_engine::stack;
use muster_media::Rgb;
use rqrr::PreparedImage;

use super::Code;
use crate::picture;

/// Longest sides at which a picture is searched, one after another: noise and moiré vanish in smaller ones.
const SIDES: [u32; 3] = [1_600, 800, 400];
/// Most shapes like the corner of a code. The search compares each with each.
const MAX_CORNERS: usize = 150;
const STACK: usize = 16 << 20;

/// Returns the version of the first code, and the codes from top to bottom.
pub(super) fn codes(bytes: &[u8], cx: &Context) -> Result<(Option<usize>, Vec<Code>), Failure> {
    let (header, largest) = picture::decoded(bytes, &["image"], SIDES[0], cx)?;
    let (full, _) = header.upright();
    let mut crowded = false;
    for side in SIDES {
        let small = if side == SIDES[0] { largest.clone() } else { halved(&largest, side) };
        let bitmap = Bitmap::of(&small);
        if bitmap.corners() > MAX_CORNERS {
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
        "not_found: no code was found, and the picture has many shapes like corners of codes: cut it to the code"
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

    /// Counts shapes whose rows are dark and light as 1:1:3:1:1, by rows that lie on one another.
    fn corners(&self) -> usize {
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut count = 0;
        for y in 0..self.height {
            let mut here = Vec::new();
            let mut runs: [usize; 5] = [0; 5];
            let mut begin = 0;
            for x in 0..=self.width {
                let dark = x < self.width && self.is_dark(x, y);
                let was_dark = begin < self.width && self.is_dark(begin, y);
                if x < self.width && dark == was_dark {
                    continue;
                }
                runs.rotate_left(1);
                runs[4] = x - begin;
                if was_dark && x > begin && is_corner(runs) {
                    let end = x - runs[4] - runs[3];
                    here.push((end - runs[2], end));
                }
                begin = x;
            }
            count += here.iter().filter(|(from, to)| !open.iter().any(|(a, b)| a < to && from < b)).count();
            open = here;
        }
        count
    }
}

/// With three quarters of a module of tolerance, as the search has.
fn is_corner([a, b, c, d, e]: [usize; 5]) -> bool {
    let unit = (a + b + d + e) as f64 / 4.0;
    let near = |run: usize, modules: f64| (run as f64 - modules * unit).abs() <= modules * unit * 0.75;
    a > 0 && near(a, 1.0) && near(b, 1.0) && near(c, 3.0) && near(d, 1.0) && near(e, 1.0)
}
