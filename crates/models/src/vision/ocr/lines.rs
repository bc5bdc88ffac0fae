//! Finds lines of text: a map of probabilities, then the boxes of its connected parts (Liao et al. 2020, "Real-time
//! scene text detection with differentiable binarization"). Constants as in PaddleOCR's PP-OCRv5 pipeline.

use std::path::Path;

use rten_imageproc::{RetrievalMode, find_contours};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

use super::rectangle::{hull, smallest_rectangle};
use crate::media::MediaModel;
use crate::vision::geometry::LineBox;
use crate::vision::resize::{planes, resize};
use crate::vision::session::{Session, inference, output};
use crate::vision::types::checkpoint;
use crate::vision::{IsCancelled, RgbImage, VisionError};

/// Longest side of the picture that the model sees at first.
const SIDE: u32 = 960;
/// Longest side when the lines are small.
const LARGE_SIDE: u32 = 1600;
/// Median height of boxes under which lines are small: 14 pixels of the picture that the model sees, from edge to edge.
/// Boxes are measured between pixel centres before they grow by 3/4 of their height on each side: 2.5 less.
const SMALL_LINE: f32 = 11.5;
/// The model halves the sides five times.
const MULTIPLE: u32 = 32;
const PIXEL_THRESHOLD: f32 = 0.3;
const BOX_THRESHOLD: f32 = 0.6;
/// A bent line leaves much of its rectangle empty. Where the model is this sure of the pixels that it marked, a lower mean
/// of a long rectangle suffices. Frames, rings and discs stay below it.
const SURE_PIXELS: f32 = 0.9;
const BENT_BOX_THRESHOLD: f32 = 0.4;
/// Length over height of a rectangle that may hold a bent line.
const BENT_ASPECT: f32 = 5.0;
/// Growth of a box: its area by this, over its perimeter, is added on each side, since the model marks shrunken lines.
const UNCLIP_RATIO: f32 = 1.5;
const MIN_SIDE: f32 = 3.0;
const MAX_BOXES: usize = 1000;

/// Finds the lines of a page.
#[derive(Debug)]
pub(super) struct LineDetector {
    session: Session,
}

/// Probabilities of text by pixel.
struct TextMap {
    width: usize,
    height: usize,
    data: Vec<f32>,
    /// Sums of each row from its start: `width + 1` a row.
    sums: Vec<RowSum>,
}

/// What is in a row up to a place.
#[derive(Debug, Clone, Copy, Default)]
struct RowSum {
    all: f32,
    /// Probabilities above the threshold, and their number.
    marked: f32,
    marks: u32,
}

/// Mean probabilities inside a rectangle.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Means {
    all: f32,
    /// Of the pixels above the threshold.
    marked: f32,
}

impl Means {
    fn are_of_text(self, rectangle: &LineBox) -> bool {
        let (short, long) = (rectangle.length.min(rectangle.height), rectangle.length.max(rectangle.height));
        let is_bent = long >= BENT_ASPECT * short && self.marked >= SURE_PIXELS;
        self.all >= if is_bent { BENT_BOX_THRESHOLD } else { BOX_THRESHOLD }
    }
}

impl LineDetector {
    pub(super) fn load(model: &MediaModel, cache: &Path) -> Result<Self, VisionError> {
        Ok(Self { session: Session::load(model, cache, "detection")? })
    }

    /// Finds the lines of a picture, at most 1,000, each read rightwards within 45 degrees.
    pub(super) fn find(&self, image: RgbImage, is_cancelled: IsCancelled) -> Result<Vec<LineBox>, VisionError> {
        let map = self.map(image, SIDE)?;
        let boxes = map.boxes();
        let is_reduced = image.width.max(image.height) > SIDE;
        let map = if is_reduced && median_height(&boxes).is_some_and(|height| height < SMALL_LINE) {
            checkpoint(is_cancelled)?;
            self.map(image, LARGE_SIDE)?
        } else {
            map
        };
        checkpoint(is_cancelled)?;
        let boxes = map.boxes();
        let (across, down) = (image.width as f32 / map.width as f32, image.height as f32 / map.height as f32);
        Ok(boxes.into_iter().map(|line| scaled(line, across, down)).collect())
    }

    fn map(&self, image: RgbImage, longest: u32) -> Result<TextMap, VisionError> {
        let (width, height) = model_size(image, longest);
        let small = resize(image, width, height);
        // The model takes blue first, but its statistics are those of red, green and blue in this order.
        let channels = [(2, 0.485, 0.229), (1, 0.456, 0.224), (0, 0.406, 0.225)];
        let input = planes(
            small.view(),
            channels.map(|(at, mean, deviation)| (at, 1.0 / (255.0 * deviation), -mean / deviation)),
        );
        let (width, height) = (width as usize, height as usize);
        let outputs = self.session.run([1, 3, height, width], input)?;
        let map = output::<4>(outputs.into_iter().next())?;
        if map.shape != [1, 1, height, width] {
            return Err(inference(format!("the text map has the shape {:?}", map.shape)));
        }
        Ok(TextMap::new(width, height, map.data))
    }
}

/// Size of the picture that the model sees: never enlarged, its sides multiples of 32.
fn model_size(image: RgbImage, longest: u32) -> (u32, u32) {
    let scale = (longest as f32 / image.width.max(image.height) as f32).min(1.0);
    let side = |side: u32| ((side as f32 * scale / MULTIPLE as f32).round() as u32).max(1) * MULTIPLE;
    (side(image.width), side(image.height))
}

fn median_height(boxes: &[LineBox]) -> Option<f32> {
    let mut heights: Vec<f32> = boxes.iter().map(|line| line.height.min(line.length)).collect();
    heights.sort_by(f32::total_cmp);
    heights.get(heights.len() / 2).copied()
}

/// Scales a box by two factors that are nearly the same.
fn scaled(line: LineBox, across: f32, down: f32) -> LineBox {
    let [x, y] = line.center;
    let stretch = |[x, y]: [f32; 2]| (x * across).hypot(y * down);
    let [ax, ay] = line.along;
    let norm = stretch(line.along).max(f32::MIN_POSITIVE);
    LineBox {
        center: [x * across, y * down],
        along: [ax * across / norm, ay * down / norm],
        length: line.length * norm,
        height: line.height * stretch(line.down()),
    }
}

impl TextMap {
    fn new(width: usize, height: usize, data: Vec<f32>) -> Self {
        let mut sums = Vec::with_capacity((width + 1) * height);
        for row in data.chunks_exact(width) {
            let mut sum = RowSum::default();
            sums.push(sum);
            sums.extend(row.iter().map(|value| {
                sum.all += value;
                if *value > PIXEL_THRESHOLD {
                    sum.marked += value;
                    sum.marks += 1;
                }
                sum
            }));
        }
        Self { width, height, data, sums }
    }

    /// Boxes of the parts above the threshold, grown to the size of the lines.
    fn boxes(&self) -> Vec<LineBox> {
        let mask: Vec<bool> = self.data.iter().map(|value| *value > PIXEL_THRESHOLD).collect();
        let mask = NdTensor::from_data([self.height, self.width], mask);
        let contours = find_contours(mask.view(), RetrievalMode::External);
        let rectangle = |contour: &[rten_imageproc::Point]| {
            smallest_rectangle(&hull(contour.iter().map(|point| [point.x, point.y]).collect()))
        };
        contours.iter().take(MAX_BOXES).filter_map(rectangle).filter_map(|found| self.line(&found)).collect()
    }

    /// Returns the line of a rectangle around the pixels above the threshold, unless it is too small or too faint.
    fn line(&self, found: &LineBox) -> Option<LineBox> {
        if found.length.min(found.height) < MIN_SIDE || !self.means(found).are_of_text(found) {
            return None;
        }
        let growth = 2.0 * unclip_distance(found.length, found.height);
        let (length, height) = (found.length + growth, found.height + growth);
        // Pixels are counted by their centres until here.
        let center = found.center.map(|place| place + 0.5);
        (length.min(height) >= MIN_SIDE + 2.0).then_some(LineBox { center, length, height, ..*found })
    }

    /// Mean probabilities inside a rectangle; 0 without pixels.
    fn means(&self, rectangle: &LineBox) -> Means {
        let corners = rectangle.corners();
        let top = corners.iter().map(|[_, y]| *y).fold(f32::INFINITY, f32::min);
        let bottom = corners.iter().map(|[_, y]| *y).fold(0.0, f32::max);
        let (mut sum, mut count) = (RowSum::default(), 0_usize);
        for row in (top.max(0.0) as usize)..=(bottom as usize).min(self.height - 1) {
            let Some((left, right)) = span(&corners, row as f32) else { continue };
            let left = (left.round().max(0.0) as usize).min(self.width - 1);
            let right = (right.round().max(0.0) as usize).min(self.width - 1);
            let start = row * (self.width + 1);
            if let (Some(from), Some(to)) = (self.sums.get(start + left), self.sums.get(start + right + 1)) {
                sum.all += to.all - from.all;
                sum.marked += to.marked - from.marked;
                sum.marks += to.marks - from.marks;
                count += right + 1 - left;
            }
        }
        Means { all: sum.all / count.max(1) as f32, marked: sum.marked / sum.marks.max(1) as f32 }
    }
}

/// Distance by which a box grows on each side.
fn unclip_distance(width: f32, height: f32) -> f32 {
    width * height * UNCLIP_RATIO / (2.0 * (width + height))
}

/// Range of x inside a convex polygon at this y.
fn span(corners: &[[f32; 2]; 4], y: f32) -> Option<(f32, f32)> {
    let ends = corners.iter().zip(corners.iter().cycle().skip(1));
    let crossings = ends.filter_map(|([from_x, from_y], [to_x, to_y])| {
        let share = if from_y == to_y { 0.0 } else { (y - from_y) / (to_y - from_y) };
        let is_crossed = if from_y == to_y { (from_y - y).abs() <= 0.5 } else { (0.0..=1.0).contains(&share) };
        is_crossed.then(|| from_x + (to_x - from_x) * share)
    });
    let range = crossings.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    (range.0 <= range.1).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map with one bright rectangle of 40 x 10 pixels from (10, 20).
    fn map_of(value: f32) -> TextMap {
        let (width, height) = (96, 64);
        let inside = |at: usize| (10..50).contains(&(at % width)) && (20..30).contains(&(at / width));
        let data = (0..width * height).map(|at| if inside(at) { value } else { 0.0 }).collect();
        TextMap::new(width, height, data)
    }

    #[test]
    fn a_bright_rectangle_becomes_a_box_grown_by_the_unclip_distance() {
        // Pixel centres span 39 x 9: 39 * 9 * 1.5 / (2 * 48) = 5.484375 on each side.
        let boxes = map_of(0.9).boxes();
        assert_eq!(boxes.len(), 1);
        assert_eq!((boxes[0].center, boxes[0].along), ([30.0, 25.0], [1.0, 0.0]));
        assert!((boxes[0].length - 49.96875).abs() < 1e-3 && (boxes[0].height - 19.96875).abs() < 1e-3, "{boxes:?}");
    }

    #[test]
    fn faint_and_tiny_parts_are_no_lines() {
        assert!(map_of(0.5).boxes().is_empty());
        assert!(map_of(0.2).boxes().is_empty());
        let dot = (0..1024).map(|at| if at % 32 < 3 && at / 32 < 3 { 1.0 } else { 0.0 }).collect();
        assert!(TextMap::new(32, 32, dot).boxes().is_empty());
    }

    #[test]
    fn a_bent_line_is_one_and_a_frame_is_none() {
        // 300 x 8 pixels whose middle hangs 8 lower than the ends: half of the rectangle of 300 x 16 is empty.
        let bent = |x: usize| 10 + (8.0 * (1.0 - ((x as f32 - 160.0) / 150.0).powi(2))).round() as usize;
        let map = |is_marked: &dyn Fn(usize, usize) -> bool| {
            let data = (0..320 * 64).map(|at| if is_marked(at % 320, at / 320) { 0.98 } else { 0.0 }).collect();
            TextMap::new(320, 64, data)
        };
        let line = map(&|x, y| (10..310).contains(&x) && (bent(x)..bent(x) + 8).contains(&y)).boxes();
        assert_eq!(line.len(), 1, "{line:?}");
        assert!(line[0].length > 300.0 && line[0].height > 16.0, "{line:?}");
        let is_inside =
            |x: usize, y: usize, by: usize| (10 + by..310 - by).contains(&x) && (10 + by..54 - by).contains(&y);
        assert!(map(&|x, y| is_inside(x, y, 0) && !is_inside(x, y, 5)).boxes().is_empty());
        // A ring: two fifths of its rectangle are marked, but it is no line.
        let distance = |x: usize, y: usize| (x as f32 - 160.0).hypot(y as f32 - 32.0);
        assert!(map(&|x, y| (20.0..30.0).contains(&distance(x, y))).boxes().is_empty());
    }

    #[test]
    fn the_mean_of_a_slanted_rectangle_counts_the_pixels_inside_it() {
        let map = TextMap::new(64, 64, vec![0.25; 4096]);
        let slanted = LineBox { center: [30.0, 30.0], along: [0.8, 0.6], length: 30.0, height: 8.0 };
        assert!((map.means(&slanted).all - 0.25).abs() < 1e-4);
        let outside = LineBox { center: [-50.0, -50.0], along: [1.0, 0.0], length: 4.0, height: 4.0 };
        assert_eq!(map.means(&outside), Means::default());
    }

    #[test]
    fn the_model_sees_multiples_of_32_and_never_an_enlarged_picture() {
        let size = |width, height| model_size(RgbImage { width, height, pixels: &[] }, SIDE);
        assert_eq!(size(1075, 1521), (672, 960));
        assert_eq!(size(384, 191), (384, 192));
        assert_eq!(size(1, 1), (32, 32));
        assert_eq!(size(2048, 1), (960, 32));
    }

    #[test]
    fn a_box_keeps_its_direction_when_it_is_scaled() {
        let line = LineBox { center: [10.0, 20.0], along: [0.6, 0.8], length: 10.0, height: 4.0 };
        let larger = scaled(line, 2.0, 2.0);
        assert_eq!((larger.center, larger.length, larger.height), ([20.0, 40.0], 20.0, 8.0));
        assert!((larger.angle() - line.angle()).abs() < 1e-4);
    }
}
