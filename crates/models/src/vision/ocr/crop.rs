//! Cuts lines out of a picture: straightened, of the height that the recognizer takes, and none too wide.

use crate::vision::RgbImage;
use crate::vision::geometry::LineBox;
use crate::vision::resize::sample;

/// Height of a line for the recognizer.
pub(super) const HEIGHT: usize = 48;
/// Widest line that the recognizer reads at once; its memory grows with it.
pub(super) const MAX_WIDTH: usize = 3200;
/// Share of a piece's greatest width within which a gap is looked for.
const GAP_FROM: f32 = 0.6;
/// A column is empty when its contrast is less than this share of the greatest one.
const EMPTY_CONTRAST: f32 = 0.25;

/// Width of a line scaled to [`HEIGHT`], not bounded.
pub(super) fn scaled_width(line: &LineBox) -> f32 {
    (HEIGHT as f32 * line.length / line.height.max(1.0)).ceil().max(1.0)
}

/// Cuts a line that is too wide into pieces at its gaps.
pub(super) fn pieces(image: RgbImage, line: &LineBox) -> Vec<LineBox> {
    let width = scaled_width(line);
    let most = MAX_WIDTH as f32 / width;
    let mut cuts = vec![0.0_f32];
    let mut from = 0.0;
    while 1.0 - from > most {
        from = gap(image, line, from + GAP_FROM * most, from + most);
        cuts.push(from);
    }
    cuts.push(1.0);
    cuts.iter().zip(cuts.iter().skip(1)).map(|(from, to)| line.part(*from, *to)).collect()
}

/// Middle of the widest run of columns without ink between two shares of a line's length; else its end.
fn gap(image: RgbImage, line: &LineBox, from: f32, to: f32) -> f32 {
    let columns = ((to - from) * line.length).ceil().clamp(1.0, 4096.0) as usize;
    let share = |column: usize| from + (to - from) * (column as f32 + 0.5) / columns as f32;
    let contrasts: Vec<f32> = (0..columns).map(|column| contrast(image, line, share(column))).collect();
    let limit = contrasts.iter().copied().fold(0.0, f32::max) * EMPTY_CONTRAST;
    let (mut best, mut run) = ((0, 0), (0, 0));
    for (column, contrast) in contrasts.iter().enumerate() {
        run = if *contrast > limit { (column + 1, 0) } else { (run.0, run.1 + 1) };
        if run.1 > best.1 {
            best = run;
        }
    }
    if best.1 == 0 { to } else { share(best.0 + best.1 / 2) }
}

fn contrast(image: RgbImage, line: &LineBox, share: f32) -> f32 {
    let rows = (line.height.ceil() as usize).clamp(1, 64);
    let light = (0..rows).map(|row| {
        let [x, y] = line.point(share, (row as f32 + 0.5) / rows as f32);
        sample(image, x, y).iter().sum::<f32>() / 3.0
    });
    let (low, high) = light.fold((f32::INFINITY, 0.0_f32), |(low, high), value| (low.min(value), high.max(value)));
    high - low
}

/// Writes a line into three planes of `plane_width` columns: blue, green, red from −1 to 1; the columns behind it stay
/// as they are.
pub(super) fn write(image: RgbImage, line: &LineBox, width: usize, planes: &mut [f32], plane_width: usize) {
    let step = line.height / HEIGHT as f32;
    // Reduced lines are averaged over as many samples as lie in a pixel.
    let samples = (step.ceil() as usize).clamp(1, 4);
    let mut rest = planes.chunks_exact_mut(plane_width * HEIGHT);
    let (Some(blue), Some(green), Some(red)) = (rest.next(), rest.next(), rest.next()) else { return };
    let rows = blue.chunks_exact_mut(plane_width).zip(green.chunks_exact_mut(plane_width));
    for (row, ((blue, green), red)) in rows.zip(red.chunks_exact_mut(plane_width)).enumerate() {
        for (column, ((blue, green), red)) in blue.iter_mut().zip(green).zip(red).take(width).enumerate() {
            let [r, g, b] = averaged(image, line, [column, row], width, samples);
            (*blue, *green, *red) = (b / 127.5 - 1.0, g / 127.5 - 1.0, r / 127.5 - 1.0);
        }
    }
}

fn averaged(image: RgbImage, line: &LineBox, [column, row]: [usize; 2], width: usize, samples: usize) -> [f32; 3] {
    let mut sums = [0.0; 3];
    for across in 0..samples {
        for down in 0..samples {
            let along = (column as f32 + (across as f32 + 0.5) / samples as f32) / width as f32;
            let down = (row as f32 + (down as f32 + 0.5) / samples as f32) / HEIGHT as f32;
            let [x, y] = line.point(along, down);
            for (sum, value) in sums.iter_mut().zip(sample(image, x, y)) {
                *sum += value;
            }
        }
    }
    sums.map(|sum| sum / (samples * samples) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_straight_out_of_the_picture_in_its_own_direction() {
        // Left half black, right half white; read from the right to the left.
        let pixels: Vec<u8> = (0..48).flat_map(|_| (0..96).flat_map(|x| [if x < 48 { 0 } else { 255 }; 3])).collect();
        let image = RgbImage { width: 96, height: 48, pixels: &pixels };
        let line = LineBox { center: [48.0, 24.0], along: [-1.0, 0.0], length: 96.0, height: 48.0 };
        let mut planes = vec![0.0; 3 * HEIGHT * 100];
        write(image, &line, 96, &mut planes, 100);
        assert_eq!((planes[0], planes[95], planes[96], planes[99]), (1.0, -1.0, 0.0, 0.0));
        assert_eq!(planes[2 * HEIGHT * 100 + 47 * 100], 1.0);
    }

    #[test]
    fn a_line_that_is_too_wide_is_cut_in_its_gaps() {
        // 2,000 x 10 pixels of stripes with one gap of 40 pixels, from 500 on.
        let ink = |x: usize| x % 4 < 2 && !(500..540).contains(&x);
        let pixels: Vec<u8> =
            (0..10).flat_map(|y| (0..2000).flat_map(move |x| [if ink(x) && y > 2 { 0 } else { 255 }; 3])).collect();
        let image = RgbImage { width: 2000, height: 10, pixels: &pixels };
        let line = LineBox { center: [1000.0, 5.0], along: [1.0, 0.0], length: 2000.0, height: 10.0 };
        let cut = pieces(image, &line);
        assert!(cut.iter().all(|piece| scaled_width(piece) <= MAX_WIDTH as f32 + 1.0), "{cut:?}");
        assert!((cut[0].length - 520.0).abs() < 2.0, "{cut:?}");
        assert!((cut.iter().map(|piece| piece.length).sum::<f32>() - 2000.0).abs() < 0.1);
        let short = line.part(0.0, 0.2);
        assert_eq!(pieces(image, &short), [short.part(0.0, 1.0)]);
    }
}
