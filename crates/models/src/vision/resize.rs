//! Pictures of our own, and their resampling.

use super::{RgbImage, Rotation};

/// A picture with its pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) data: Vec<u8>,
}

impl Pixels {
    pub(super) fn view(&self) -> RgbImage<'_> {
        RgbImage { width: self.width, height: self.height, pixels: &self.data }
    }
}

/// Source pixels of one output pixel, and their weights, which sum to 1.
struct Window {
    start: usize,
    weights: Vec<f32>,
}

/// Resamples to the given size with a triangle filter, which is widened when the picture shrinks so that nothing is
/// skipped (the "bilinear" filter of Pillow).
pub(super) fn resize(image: RgbImage, width: u32, height: u32) -> Pixels {
    let (width, height) = (width.max(1), height.max(1));
    if (width, height) == (image.width, image.height) {
        return Pixels { width, height, data: image.pixels.to_vec() };
    }
    let row_bytes = image.width as usize * 3;
    let columns = windows(image.width, width);
    let mut narrowed = Vec::with_capacity(width as usize * image.height as usize * 3);
    for row in image.pixels.chunks_exact(row_bytes) {
        for window in &columns {
            narrowed.extend(weighted(row.get(window.start * 3..).unwrap_or_default(), &window.weights));
        }
    }
    let row_bytes = width as usize * 3;
    let mut data = Vec::with_capacity(height as usize * row_bytes);
    let mut sums = vec![0.0_f32; row_bytes];
    for window in windows(image.height, height) {
        sums.fill(0.0);
        let rows = narrowed.chunks_exact(row_bytes).skip(window.start);
        for (row, weight) in rows.zip(&window.weights) {
            for (sum, byte) in sums.iter_mut().zip(row) {
                *sum += weight * f32::from(*byte);
            }
        }
        data.extend(sums.iter().map(|sum| to_byte(*sum)));
    }
    Pixels { width, height, data }
}

fn weighted(pixels: &[u8], weights: &[f32]) -> [u8; 3] {
    let mut sums = [0.0_f32; 3];
    for (pixel, weight) in pixels.chunks_exact(3).zip(weights) {
        for (sum, byte) in sums.iter_mut().zip(pixel) {
            *sum += weight * f32::from(*byte);
        }
    }
    sums.map(to_byte)
}

fn to_byte(value: f32) -> u8 {
    (value + 0.5).clamp(0.0, 255.0) as u8
}

fn windows(from: u32, to: u32) -> Vec<Window> {
    let scale = f64::from(from) / f64::from(to);
    let support = scale.max(1.0);
    let window = |place: u32| {
        let center = (f64::from(place) + 0.5) * scale;
        let start = (center - support + 0.5).max(0.0) as usize;
        let end = ((center + support + 0.5) as usize).min(from as usize);
        let weights = (start..end).map(|pixel| (1.0 - ((pixel as f64 + 0.5 - center) / support).abs()).max(0.0));
        let weights: Vec<f64> = weights.collect();
        let sum: f64 = weights.iter().sum();
        Window { start, weights: weights.iter().map(|weight| (weight / sum) as f32).collect() }
    };
    (0..to).map(window).collect()
}

/// Turns a picture clockwise.
pub(super) fn turned(image: RgbImage, rotation: Rotation) -> Pixels {
    let (width, height) = (image.width as usize, image.height as usize);
    let pixel = |x: usize, y: usize| {
        let start = (y * width + x) * 3;
        image.pixels.get(start..start + 3).unwrap_or(&[0; 3])
    };
    let mut data = Vec::with_capacity(image.pixels.len());
    match rotation {
        Rotation::None => data.extend_from_slice(image.pixels),
        Rotation::Half => image.pixels.chunks_exact(3).rev().for_each(|pixel| data.extend_from_slice(pixel)),
        Rotation::Quarter => {
            (0..width).for_each(|x| (0..height).rev().for_each(|y| data.extend_from_slice(pixel(x, y))))
        }
        Rotation::ThreeQuarters => {
            (0..width).rev().for_each(|x| (0..height).for_each(|y| data.extend_from_slice(pixel(x, y))));
        }
    }
    let (width, height) =
        if rotation.quarters() % 2 == 1 { (image.height, image.width) } else { (image.width, image.height) };
    Pixels { width, height, data }
}

/// Samples a picture between its pixel centres; outside it, its edge repeats. Coordinates are in pixels, the centre of
/// the first pixel is at 0.5.
pub(super) fn sample(image: RgbImage, x: f32, y: f32) -> [f32; 3] {
    let (x, y) = ((x - 0.5).clamp(0.0, (image.width - 1) as f32), (y - 0.5).clamp(0.0, (image.height - 1) as f32));
    let (left, top) = (x as usize, y as usize);
    let (right, bottom) = ((left + 1).min(image.width as usize - 1), (top + 1).min(image.height as usize - 1));
    let (across, down) = (x - left as f32, y - top as f32);
    let pixel = |x: usize, y: usize| {
        let start = (y * image.width as usize + x) * 3;
        match image.pixels.get(start..start + 3) {
            Some(&[red, green, blue]) => [f32::from(red), f32::from(green), f32::from(blue)],
            _ => [0.0; 3],
        }
    };
    let mix = |a: [f32; 3], b: [f32; 3], share: f32| {
        let [a0, a1, a2] = a;
        let [b0, b1, b2] = b;
        [a0 + (b0 - a0) * share, a1 + (b1 - a1) * share, a2 + (b2 - a2) * share]
    };
    mix(mix(pixel(left, top), pixel(right, top), across), mix(pixel(left, bottom), pixel(right, bottom), across), down)
}

/// Writes a picture as a tensor of planes: each channel, in the order given, through its own scale and offset.
pub(super) fn planes(image: RgbImage, channels: [(usize, f32, f32); 3]) -> Vec<f32> {
    let mut tensor = Vec::with_capacity(image.pixels.len());
    for (channel, scale, offset) in channels {
        tensor.extend(image.pixels.iter().skip(channel).step_by(3).map(|byte| f32::from(*byte) * scale + offset));
    }
    tensor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gray(width: u32, values: &[u8]) -> Pixels {
        let data = values.iter().flat_map(|value| [*value; 3]).collect();
        Pixels { width, height: values.len() as u32 / width, data }
    }

    fn values(pixels: &Pixels) -> Vec<u8> {
        pixels.data.iter().copied().step_by(3).collect()
    }

    /// Expected values: Pillow 13.0, `Image.resize(size, Image.Resampling.BILINEAR)`.
    #[test]
    fn resampling_agrees_with_pillow() {
        let row = gray(8, &[0, 10, 20, 200, 255, 90, 30, 7]);
        assert_eq!(values(&resize(row.view(), 3, 1)), PILLOW_8_TO_3);
        let square = gray(2, &[0, 100, 200, 40]);
        assert_eq!(values(&resize(square.view(), 4, 4)), PILLOW_2_TO_4);
    }

    const PILLOW_8_TO_3: [u8; 3] = [24, 160, 55];
    const PILLOW_2_TO_4: [u8; 16] = [0, 25, 75, 100, 50, 59, 76, 85, 150, 126, 79, 55, 200, 160, 80, 40];

    #[test]
    fn quarter_turns_are_clockwise_and_four_of_them_change_nothing() {
        let image = gray(3, &[1, 2, 3, 4, 5, 6]);
        let once = turned(image.view(), Rotation::Quarter);
        assert_eq!((once.width, once.height, values(&once)), (2, 3, vec![4, 1, 5, 2, 6, 3]));
        assert_eq!(values(&turned(image.view(), Rotation::Half)), [6, 5, 4, 3, 2, 1]);
        assert_eq!(turned(once.view(), Rotation::ThreeQuarters), image);
        assert_eq!(turned(once.view(), Rotation::None), once);
    }

    #[test]
    fn sampling_interpolates_between_centres_and_repeats_the_edge() {
        let image = gray(2, &[0, 100, 200, 40]);
        assert_eq!(sample(image.view(), 0.5, 0.5), [0.0; 3]);
        assert_eq!(sample(image.view(), 1.0, 0.5), [50.0; 3]);
        assert_eq!(sample(image.view(), 1.0, 1.0), [85.0; 3]);
        assert_eq!(sample(image.view(), -9.0, 99.0), [200.0; 3]);
    }
}
