//! Finds objects: NanoDet at 416 x 416, the 80 classes of COCO.

mod decode;
mod labels;

use std::path::Path;

use self::decode::{Candidate, candidates, suppress};
use self::labels::LABELS;
use super::resize::{Pixels, planes, resize};
use super::session::{Session, inference, output, verified};
use super::types::checkpoint;
use super::{DetectOptions, DetectedObject, IsCancelled, PixelBox, RgbImage, VisionError};

/// Side of the picture that the model sees.
const SIDE: u32 = 416;
/// Distances in pixels between the places of each grid.
const STRIDES: [usize; 3] = [8, 16, 32];

/// Finds objects of the 80 classes of COCO. A small, quick model of mediocre accuracy.
#[derive(Debug)]
pub struct Detector {
    session: Session,
}

/// How a picture lies in the square that the model sees.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Letterbox {
    /// Size of a pixel of the picture in the square, in both directions.
    scale: [f32; 2],
    left: u32,
    top: u32,
}

impl Detector {
    /// Verifies and loads the model `detect` from the cache folder.
    ///
    /// # Errors
    /// The model is absent or cannot be used.
    pub fn load(cache: &Path) -> Result<Self, VisionError> {
        let model = verified("detect", cache)?;
        Ok(Self { session: Session::load(&model, cache, "weights")? })
    }

    /// Finds objects, those with the highest scores first.
    ///
    /// # Errors
    /// The picture is out of bounds, the caller cancelled, or the model failed.
    pub fn detect(
        &self,
        image: RgbImage,
        options: DetectOptions,
        is_cancelled: IsCancelled,
    ) -> Result<Vec<DetectedObject>, VisionError> {
        image.check()?;
        checkpoint(is_cancelled)?;
        let (square, letterbox) = letterboxed(image);
        let channels = [0, 1, 2].map(|channel| (channel, 1.0 / 255.0, 0.0));
        let side = SIDE as usize;
        let outputs = self.session.run([1, 3, side, side], planes(square.view(), channels))?;
        checkpoint(is_cancelled)?;
        let mut outputs = outputs.into_iter();
        let mut next = || output::<3>(outputs.next());
        let [scores, distances] = [[next()?, next()?, next()?], [next()?, next()?, next()?]];
        let mut found = Vec::new();
        for ((stride, scores), distances) in STRIDES.iter().zip(&scores).zip(&distances) {
            let places = (side / stride).pow(2);
            if scores.shape != [1, places, LABELS.len()] || distances.shape != [1, places, 4 * decode::BINS] {
                return Err(inference(format!("unexpected shapes {:?} and {:?}", scores.shape, distances.shape)));
            }
            found.extend(candidates(&scores.data, &distances.data, *stride, side, options.min_score));
        }
        let kept = suppress(found, options.max_results);
        Ok(kept.iter().filter_map(|candidate| letterbox.object(candidate, image)).collect())
    }
}

/// Shrinks or enlarges a picture to fit the square, with its proportions, on black.
fn letterboxed(image: RgbImage) -> (Pixels, Letterbox) {
    let ratio = SIDE as f32 / image.width.max(image.height) as f32;
    let side = |side: u32| ((side as f32 * ratio).round() as u32).clamp(1, SIDE);
    let small = resize(image, side(image.width), side(image.height));
    let (left, top) = ((SIDE - small.width) / 2, (SIDE - small.height) / 2);
    let row_bytes = SIDE as usize * 3;
    let mut data = vec![0; row_bytes * SIDE as usize];
    let rows = data.chunks_exact_mut(row_bytes).skip(top as usize);
    for (row, source) in rows.zip(small.data.chunks_exact(small.width as usize * 3)) {
        for (target, byte) in row.iter_mut().skip(left as usize * 3).zip(source) {
            *target = *byte;
        }
    }
    let scale = [small.width as f32 / image.width as f32, small.height as f32 / image.height as f32];
    (Pixels { width: SIDE, height: SIDE, data }, Letterbox { scale, left, top })
}

impl Letterbox {
    /// Returns the object in pixels of the picture, unless it lies on the border around it.
    fn object(&self, candidate: &Candidate, image: RgbImage) -> Option<DetectedObject> {
        let [left, top, right, bottom] = candidate.edges;
        let [across, down] = self.scale;
        let x = |value: f32| ((value - self.left as f32) / across).clamp(0.0, image.width as f32);
        let y = |value: f32| ((value - self.top as f32) / down).clamp(0.0, image.height as f32);
        let bounds = PixelBox { x: x(left), y: y(top), width: x(right) - x(left), height: y(bottom) - y(top) };
        let label = *LABELS.get(candidate.class)?;
        (bounds.width > 0.0 && bounds.height > 0.0).then_some(DetectedObject { label, score: candidate.score, bounds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_keeps_its_proportions_in_the_square() {
        let pixels = vec![255; 832 * 208 * 3];
        let image = RgbImage { width: 832, height: 208, pixels: &pixels };
        let (square, letterbox) = letterboxed(image);
        assert_eq!(letterbox, Letterbox { scale: [0.5, 0.5], left: 0, top: 156 });
        let row = |y: usize| square.data[y * 416 * 3];
        assert_eq!([row(155), row(156), row(259), row(260)], [0, 255, 255, 0]);
    }

    #[test]
    fn boxes_come_back_in_pixels_of_the_picture() {
        let image = RgbImage { width: 832, height: 208, pixels: &[] };
        let letterbox = Letterbox { scale: [0.5, 0.5], left: 0, top: 156 };
        let candidate = |edges| Candidate { class: 41, score: 0.9, edges };
        let object = letterbox.object(&candidate([10.0, 166.0, 60.0, 400.0]), image).unwrap();
        assert_eq!(object.label, "cup");
        assert_eq!(object.bounds, PixelBox { x: 20.0, y: 20.0, width: 100.0, height: 188.0 });
        assert_eq!(letterbox.object(&candidate([10.0, 10.0, 60.0, 100.0]), image), None);
    }
}
