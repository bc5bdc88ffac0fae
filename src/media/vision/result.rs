//! Results of vision, as clients see them. Boxes are in pixels of the upright picture as it was sent.

use std::collections::BTreeMap;

use muster_imaging::engines::TesseractPage;
use muster_media::colours::ColourShare;
use muster_models::{DetectedObject, OcrPage, PixelBox};
use serde::Serialize;
use utoipa::ToSchema;

/// A rectangle in pixels of the upright picture as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct BoxA {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// An object in a picture.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ObjectA {
    /// One of the 80 classes of COCO; of a chat model any noun.
    pub label: String,
    /// 0 to 1.
    pub score: f64,
    pub r#box: BoxA,
}

/// A line of text.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LineA {
    pub text: String,
    /// Mean probability of the characters, or of Tesseract the confidence, 0 to 1; null of a chat model.
    pub score: Option<f64>,
    pub r#box: BoxA,
    /// Direction of reading, degrees clockwise from rightwards; null of a chat model and of Tesseract.
    pub angle: Option<f64>,
}

/// The result of `detect`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DetectedA {
    pub objects: Vec<ObjectA>,
}

/// The result of `ocr`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ReadA {
    /// Lines in reading order, joined by line feeds.
    pub text: String,
    pub lines: Vec<LineA>,
    /// Degrees clockwise by which the picture has to be turned for its text to be upright: 0, 90, 180 or 270; null of a
    /// chat model and of Tesseract.
    pub rotation: Option<u16>,
}

/// The result of `moderate`. A category that is not assessed is neither true nor false.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ModeratedA {
    /// Whether a category that was assessed reaches the threshold.
    pub flagged: bool,
    pub categories: BTreeMap<String, bool>,
    /// 0 to 1.
    pub scores: BTreeMap<String, f64>,
    /// Categories of which nothing is known.
    pub not_assessed: Vec<String>,
    pub threshold: f64,
}

/// The result of `describe`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DescribedA {
    pub description: String,
    /// Code of the description's language.
    pub language: String,
    pub facts: FactsA,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FactsA {
    /// `landscape`, `portrait` or `square`.
    pub shape: &'static str,
    /// Mean luma, 0 to 1.
    pub brightness: f64,
    /// Standard deviation of luma as a share of its range, 0 to 0.5.
    pub contrast: f64,
    /// Variance of the Laplacian of the picture shrunk to 2,048 a side; null of a picture without inner pixels.
    pub sharpness: Option<f64>,
    /// Whether the picture is of one shade.
    pub blank: bool,
    /// Colours of at least a twentieth of the picture, the commonest first.
    #[schema(value_type = Vec<ColourA>)]
    pub colours: Vec<ColourShare>,
    /// Objects by label; null where they were not looked for.
    pub objects: Option<BTreeMap<String, usize>>,
    /// The text; null where none was looked for.
    pub text: Option<String>,
}

/// A colour and its share of the picture.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a colour as it is serialized")]
pub struct ColourA {
    /// `black`, `white`, `grey`, `red`, `orange`, `brown`, `yellow`, `green`, `cyan`, `blue`, `purple` or `pink`.
    pub colour: String,
    /// 0 to 1.
    pub share: f64,
}

/// The result of a task.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum VisionResult {
    Detected(DetectedA),
    Read(ReadA),
    Moderated(ModeratedA),
    Described(DescribedA),
}

/// From the pixels that a model saw to those of the picture as it was sent.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub from: (u32, u32),
    pub to: (u32, u32),
}

impl Scale {
    fn of(self, bounds: PixelBox) -> BoxA {
        let across = f64::from(self.to.0) / f64::from(self.from.0);
        let down = f64::from(self.to.1) / f64::from(self.from.1);
        BoxA {
            x: tenth(f64::from(bounds.x) * across),
            y: tenth(f64::from(bounds.y) * down),
            width: tenth(f64::from(bounds.width) * across),
            height: tenth(f64::from(bounds.height) * down),
        }
    }

    pub fn objects(self, found: Vec<DetectedObject>) -> DetectedA {
        let object = |object: DetectedObject| ObjectA {
            label: object.label.to_owned(),
            score: thousandth(object.score.into()),
            r#box: self.of(object.bounds),
        };
        DetectedA { objects: found.into_iter().map(object).collect() }
    }

    /// The lines of at least this score.
    pub fn page(self, page: OcrPage, min_score: Option<f64>) -> ReadA {
        let rotation = Some(page.rotation.degrees());
        let least = min_score.unwrap_or(0.0);
        let all = page.lines.iter().all(|line| f64::from(line.score) >= least);
        let kept = page.lines.into_iter().filter(|line| f64::from(line.score) >= least);
        let lines: Vec<LineA> = kept
            .map(|line| LineA {
                text: line.text,
                score: Some(thousandth(line.score.into())),
                r#box: self.of(line.bounds),
                angle: Some(tenth(line.angle.into())),
            })
            .collect();
        let text = if all { page.text } else { joined(&lines) };
        ReadA { text, lines, rotation }
    }

    /// The lines of a page that Tesseract read, of at least this score.
    pub fn tesseract(self, page: TesseractPage, min_score: Option<f64>) -> ReadA {
        let least = min_score.unwrap_or(0.0);
        let kept = page.lines.into_iter().filter(|line| f64::from(line.score) >= least);
        let lines: Vec<LineA> = kept
            .map(|line| {
                let [x, y, width, height] = line.bounds.map(|pixels| pixels as f32);
                let score = Some(thousandth(line.score.into()));
                LineA { text: line.text, score, r#box: self.of(PixelBox { x, y, width, height }), angle: None }
            })
            .collect();
        ReadA { text: joined(&lines), lines, rotation: None }
    }
}

/// The texts of lines, each on its own.
pub fn joined(lines: &[LineA]) -> String {
    lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

pub fn thousandth(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_in_pixels_of_the_picture_as_it_was_sent() {
        let scale = Scale { from: (2_048, 1_024), to: (4_096, 2_048) };
        let object = DetectedObject {
            label: "cup",
            score: 0.876_54,
            bounds: PixelBox { x: 10.0, y: 20.0, width: 30.25, height: 40.0 },
        };
        let object = scale.objects(vec![object]).objects.remove(0);
        assert_eq!(object.r#box, BoxA { x: 20.0, y: 40.0, width: 60.5, height: 80.0 });
        assert_eq!((object.label.as_str(), object.score), ("cup", 0.877));
    }
}
