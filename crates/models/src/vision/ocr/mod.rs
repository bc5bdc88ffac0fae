//! Reads text: PP-OCRv5 mobile finds lines (DB) and reads them (CTC).

mod crop;
mod ctc;
mod lines;
mod order;
mod recognition;
mod rectangle;
mod script;

use std::path::Path;

use self::lines::LineDetector;
use self::order::ReadLine;
use self::recognition::Recognizer;
use super::geometry::LineBox;
use super::resize::turned;
use super::session::verified;
use super::types::checkpoint;
use super::{IsCancelled, OcrLine, OcrPage, RgbImage, Rotation, VisionError};

/// Mean score under which a page is tried at other quarter turns.
const DOUBTFUL_SCORE: f32 = 0.8;
/// Lines of a lower score are left out, as PaddleOCR does: they are no text.
const MIN_LINE_SCORE: f32 = 0.5;
/// Lines that are read to find out how a page is turned.
const SAMPLE_LINES: usize = 8;
const TURNS: [Rotation; 3] = [Rotation::Quarter, Rotation::Half, Rotation::ThreeQuarters];

/// Reads text of scripts that PP-OCRv5 mobile knows: Chinese, Japanese, Latin.
#[derive(Debug)]
pub struct Ocr {
    detector: LineDetector,
    recognizer: Recognizer,
}

/// A page as read at one rotation.
struct Page {
    rotation: Rotation,
    lines: Vec<ReadLine>,
    mean: Option<f32>,
}

impl Ocr {
    /// Verifies and loads the model `ocr` from the cache folder.
    ///
    /// # Errors
    /// The model is absent or cannot be used.
    pub fn load(cache: &Path) -> Result<Self, VisionError> {
        let model = verified("ocr", cache)?;
        Ok(Self { detector: LineDetector::load(&model, cache)?, recognizer: Recognizer::load(&model, cache)? })
    }

    /// Reads the text of a picture.
    ///
    /// # Errors
    /// The picture is out of bounds, the caller cancelled, or the model failed.
    pub fn read(&self, image: RgbImage, is_cancelled: IsCancelled) -> Result<OcrPage, VisionError> {
        image.check()?;
        checkpoint(is_cancelled)?;
        let boxes = self.detector.find(image, is_cancelled)?;
        let tall = boxes.iter().filter(|line| line.is_tall()).count();
        let page = if tall * 2 > boxes.len() {
            self.read_sideways(image, &boxes, is_cancelled)?
        } else {
            let page = self.page(image, Rotation::None, &boxes, is_cancelled)?;
            self.reread_if_doubtful(page, image, &boxes, &TURNS, is_cancelled)?
        };
        Ok(page.finish(image))
    }

    /// Reads a page whose lines are columns: turned by a quarter, or else in the other directions.
    fn read_sideways(
        &self,
        image: RgbImage,
        boxes: &[LineBox],
        is_cancelled: IsCancelled,
    ) -> Result<Page, VisionError> {
        let (rotation, _) =
            self.best_turn(image, boxes, &[Rotation::Quarter, Rotation::ThreeQuarters], is_cancelled)?;
        let page = self.read_turned(image, rotation, is_cancelled)?;
        self.reread_if_doubtful(page, image, boxes, &[Rotation::None, Rotation::Half], is_cancelled)
    }

    /// Reads a page of a low score at the best of other rotations, and returns the better reading.
    fn reread_if_doubtful(
        &self,
        page: Page,
        image: RgbImage,
        boxes: &[LineBox],
        others: &[Rotation],
        is_cancelled: IsCancelled,
    ) -> Result<Page, VisionError> {
        let Some(mean) = page.mean.filter(|mean| *mean < DOUBTFUL_SCORE) else {
            return Ok(page);
        };
        let (rotation, sampled) = self.best_turn(image, boxes, others, is_cancelled)?;
        if sampled <= mean {
            return Ok(page);
        }
        let other = self.read_turned(image, rotation, is_cancelled)?;
        Ok(if other.mean > page.mean { other } else { page })
    }

    /// Returns the rotation at which the longest lines read best, and their mean score.
    fn best_turn(
        &self,
        image: RgbImage,
        boxes: &[LineBox],
        rotations: &[Rotation],
        is_cancelled: IsCancelled,
    ) -> Result<(Rotation, f32), VisionError> {
        let mut sample = boxes.to_vec();
        sample.sort_by(|a, b| f32::total_cmp(&b.length.max(b.height), &a.length.max(a.height)));
        sample.truncate(SAMPLE_LINES);
        let mut best = (Rotation::None, 0.0);
        for rotation in rotations {
            let turned: Vec<LineBox> = sample.iter().map(|line| line.read_after(*rotation)).collect();
            let readings = self.recognizer.read(image, &turned, is_cancelled)?;
            let scores = readings.iter().filter(|reading| !reading.text.is_empty()).map(|reading| reading.score);
            let mean = mean(scores).unwrap_or_default();
            if mean > best.1 {
                best = (*rotation, mean);
            }
        }
        Ok(best)
    }

    fn read_turned(&self, image: RgbImage, rotation: Rotation, is_cancelled: IsCancelled) -> Result<Page, VisionError> {
        let upright = turned(image, rotation);
        let boxes = self.detector.find(upright.view(), is_cancelled)?;
        self.page(upright.view(), rotation, &boxes, is_cancelled)
    }

    /// Reads the lines of an upright picture.
    fn page(
        &self,
        upright: RgbImage,
        rotation: Rotation,
        boxes: &[LineBox],
        is_cancelled: IsCancelled,
    ) -> Result<Page, VisionError> {
        let lines = self.recognizer.read_any_direction(upright, boxes, is_cancelled)?;
        Ok(Page { rotation, mean: mean(lines.iter().map(|line| line.score)), lines })
    }
}

impl Page {
    /// Puts the lines in reading order and their boxes into the picture as it came.
    fn finish(self, image: RgbImage) -> OcrPage {
        let read: Vec<&ReadLine> = self.lines.iter().filter(|line| line.score >= MIN_LINE_SCORE).collect();
        let rows = order::rows(&read);
        let text: Vec<String> = rows.iter().map(|row| order::joined(row)).collect();
        let text = text.join("\n");
        let scores = self.lines.iter().map(|line| (line.text.as_str(), line.score));
        let script_not_covered = script::is_not_covered(&text, scores);
        let (width, height) = (image.width as f32, image.height as f32);
        let line = |line: &ReadLine| {
            let place = line.place.before(self.rotation, width, height);
            OcrLine { text: line.text.clone(), score: line.score, bounds: place.bounds(image), angle: place.angle() }
        };
        let lines = rows.into_iter().flatten().map(line).collect();
        OcrPage { text, lines, rotation: self.rotation, mean_score: self.mean, script_not_covered }
    }
}

fn mean(scores: impl Iterator<Item = f32>) -> Option<f32> {
    let (sum, count) = scores.fold((0.0, 0_u16), |(sum, count), score| (sum + score, count.saturating_add(1)));
    (count > 0).then(|| sum / f32::from(count))
}
