//! Colours of a picture: the commonest by median cut, and shares by rules of hue, saturation and value.

use std::collections::BTreeMap;

use muster_media::Rgb;

use super::Dominant;

/// Bits of a channel that tell colours apart: a box of the cut holds whole cells of the histogram.
const BITS: usize = 5;

/// Sums of the pixels of a cell.
#[derive(Clone, Copy, Default)]
struct Cell {
    count: u64,
    sums: [u64; 3],
}

/// Median cut (Heckbert, SIGGRAPH 1982): the box with the most pixels times its longest side is cut at its median.
pub(super) fn dominant(picture: &Rgb, most: usize) -> Vec<Dominant> {
    let mut cells = vec![Cell::default(); 1 << (3 * BITS)];
    let shift = 8 - BITS;
    for pixel in picture.pixels().chunks_exact(3) {
        let at = pixel.iter().fold(0_usize, |at, sample| at << BITS | usize::from(*sample >> shift));
        if let Some(cell) = cells.get_mut(at) {
            cell.count += 1;
            cell.sums.iter_mut().zip(pixel).for_each(|(sum, sample)| *sum += u64::from(*sample));
        }
    }
    let used: Vec<([usize; 3], Cell)> = cells
        .into_iter()
        .enumerate()
        .filter(|(_, cell)| cell.count > 0)
        .map(|(at, cell)| ([at >> (2 * BITS), at >> BITS & ((1 << BITS) - 1), at & ((1 << BITS) - 1)], cell))
        .collect();
    let total: u64 = used.iter().map(|(_, cell)| cell.count).sum();
    let mut boxes = vec![used];
    while boxes.len() < most {
        let weight = |cells: &Vec<([usize; 3], Cell)>| {
            longest(cells).1 as u64 * cells.iter().map(|(_, cell)| cell.count).sum::<u64>()
        };
        let Some((at, _)) =
            boxes.iter().map(weight).enumerate().filter(|(_, w)| *w > 0).max_by_key(|(at, w)| (*w, usize::MAX - at))
        else {
            break;
        };
        let (low, high) = cut(boxes.swap_remove(at));
        boxes.push(low);
        boxes.push(high);
    }
    let mut found: Vec<(u64, [u64; 3])> = boxes
        .iter()
        .map(|cells| {
            cells.iter().fold((0, [0; 3]), |(count, sums), (_, cell)| {
                let [a, b, c] = sums;
                let [x, y, z] = cell.sums;
                (count + cell.count, [a + x, b + y, c + z])
            })
        })
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    found
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, sums)| {
            let [r, g, b] = sums.map(|sum| (sum + count / 2) / count);
            Dominant { hex: format!("#{r:02x}{g:02x}{b:02x}"), share: count as f64 / total.max(1) as f64 }
        })
        .collect()
}

/// The channel with the widest spread, and the spread.
fn longest(cells: &[([usize; 3], Cell)]) -> (usize, usize) {
    let spread = |channel: usize| {
        let values = || cells.iter().filter_map(move |(at, _)| at.get(channel).copied());
        values().max().unwrap_or(0) - values().min().unwrap_or(0)
    };
    // Green counts most for the eye, so it is first among equals.
    [1, 0, 2]
        .map(|channel| (channel, spread(channel)))
        .into_iter()
        .rev()
        .max_by_key(|(_, spread)| *spread)
        .unwrap_or((0, 0))
}

type Cells = Vec<([usize; 3], Cell)>;

/// Cuts behind the median pixel along the longest side; both halves have cells.
fn cut(mut cells: Cells) -> (Cells, Cells) {
    let (channel, _) = longest(&cells);
    let value = |at: &[usize; 3]| at.get(channel).copied().unwrap_or(0);
    cells.sort_by_key(|(at, _)| (value(at), *at));
    let half = cells.iter().map(|(_, cell)| cell.count).sum::<u64>() / 2;
    let mut seen = 0;
    let mut split = 1;
    for (index, pair) in cells.windows(2).enumerate() {
        let [(left, cell), (right, _)] = pair else { continue };
        seen += cell.count;
        // Cells of one value stay together.
        if value(left) != value(right) {
            split = index + 1;
            if seen >= half {
                break;
            }
        }
    }
    let high = cells.split_off(split);
    (cells, high)
}

/// Shares of the pixels by their colours. They say what is of such a colour, not what is there.
pub(super) fn shares(picture: &Rgb) -> BTreeMap<&'static str, f64> {
    let mut counts = [0_u64; 5];
    for pixel in picture.pixels().chunks_exact(3) {
        let [r, g, b] = pixel else { continue };
        // Whole numbers, as many colours lie on the bounds of the rules: the hue in degrees is taken times the chroma.
        let [r, g, b] = [r, g, b].map(|sample| i32::from(*sample));
        let most = r.max(g).max(b);
        let chroma = most - r.min(g).min(b);
        let hue = if most == r {
            60 * (g - b)
        } else if most == g {
            60 * (b - r) + 120 * chroma
        } else {
            60 * (r - g) + 240 * chroma
        };
        let hue = if hue < 0 { hue + 360 * chroma } else { hue };
        let within = |low: i32, high: i32| (low * chroma..=high * chroma).contains(&hue);
        let saturated = |percent: i32| 100 * chroma >= percent * most;
        let bright = |percent: i32| 100 * most >= percent * 255;
        let rules = [
            // Water and sky.
            within(180, 250) && saturated(20) && bright(15),
            // Vegetation.
            within(65, 165) && saturated(20) && bright(10),
            // Smoke, cloud and haze.
            !saturated(15) && bright(35) && !bright(92),
            // Fire.
            !(50 * chroma..350 * chroma).contains(&hue) && saturated(60) && bright(70),
            // Night and shadow.
            !bright(10),
        ];
        counts.iter_mut().zip(rules).for_each(|(count, is)| *count += u64::from(is));
    }
    let all = f64::from(picture.width()) * f64::from(picture.height());
    let names = ["water", "vegetation", "smoke", "fire", "dark"];
    names.into_iter().zip(counts).map(|(name, count)| (name, count as f64 / all)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By Python's `fractions`: hue 180 and saturation 1/5; hue 250; saturation 3/20, which is no smoke; hue 50.
    #[test]
    fn colours_on_the_bounds_of_the_rules_are_within_them() {
        for (pixel, name, share) in [
            ([40, 50, 50], "water", 1.0),
            ([70, 60, 120], "water", 1.0),
            ([170, 200, 200], "smoke", 0.0),
            ([240, 200, 0], "fire", 0.0),
        ] {
            let picture = Rgb::new(1, 1, pixel.to_vec()).unwrap();
            assert_eq!(shares(&picture)[name], share, "{pixel:?}");
        }
    }
}
