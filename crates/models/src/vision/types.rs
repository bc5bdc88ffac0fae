//! Input, results and errors of vision.

use serde::Serialize;

use crate::media::MediaModelError;

/// Longest side of a picture in pixels. Larger ones have to be shrunk by the caller.
pub const MAX_IMAGE_SIDE: u32 = 2048;

/// Returns whether the caller no longer wants the result. Called between the runs of a model.
pub type IsCancelled<'a> = &'a dyn Fn() -> bool;

/// A picture of 8 bits a channel, upright, without transparency.
#[derive(Clone, Copy)]
pub struct RgbImage<'a> {
    /// Width in pixels, 1 to [`MAX_IMAGE_SIDE`].
    pub width: u32,
    /// Height in pixels, 1 to [`MAX_IMAGE_SIDE`].
    pub height: u32,
    /// Red, green and blue of each pixel, row by row from the top left.
    pub pixels: &'a [u8],
}

impl RgbImage<'_> {
    /// Checks the bounds.
    ///
    /// # Errors
    /// A side is out of bounds, or the number of bytes is not 3 × width × height.
    pub fn check(&self) -> Result<(), VisionError> {
        let sides = 1..=MAX_IMAGE_SIDE;
        if !sides.contains(&self.width) || !sides.contains(&self.height) {
            return Err(VisionError::ImageSize { width: self.width, height: self.height });
        }
        let expected = self.width as usize * self.height as usize * 3;
        if self.pixels.len() != expected {
            return Err(VisionError::PixelBytes { found: self.pixels.len(), expected });
        }
        Ok(())
    }
}

impl std::fmt::Debug for RgbImage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RgbImage({} x {})", self.width, self.height)
    }
}

/// An axis-parallel rectangle in pixels of the picture, inside it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PixelBox {
    /// Left edge.
    pub x: f32,
    /// Top edge.
    pub y: f32,
    /// Width.
    pub width: f32,
    /// Height.
    pub height: f32,
}

/// Clockwise quarter turns that make the text of a picture upright.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rotation {
    /// The text is upright.
    #[default]
    None,
    /// One quarter turn clockwise.
    Quarter,
    /// Upside down.
    Half,
    /// One quarter turn counter-clockwise.
    ThreeQuarters,
}

impl Rotation {
    /// Degrees, clockwise: 0, 90, 180 or 270.
    pub fn degrees(self) -> u16 {
        u16::from(self.quarters()) * 90
    }

    /// Number of quarter turns, 0 to 3.
    pub fn quarters(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Quarter => 1,
            Self::Half => 2,
            Self::ThreeQuarters => 3,
        }
    }
}

/// A line of text, or a piece of one that stands apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OcrLine {
    /// The text, never empty.
    pub text: String,
    /// Mean probability of its characters, 0 to 1.
    pub score: f32,
    /// Rectangle around the line in the picture as it came, before any quarter turn.
    #[serde(rename = "box")]
    pub bounds: PixelBox,
    /// Direction of reading in the picture as it came: degrees clockwise from rightwards, −180 to 180.
    pub angle: f32,
}

/// The text of a picture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OcrPage {
    /// Lines in reading order; pieces that stand on one line are joined by a space, lines by a line feed.
    pub text: String,
    /// The lines in the same order.
    pub lines: Vec<OcrLine>,
    /// How the picture has to be turned for its text to be upright.
    pub rotation: Rotation,
    /// Mean score of all lines, including those left out for a low score. Absent without lines.
    pub mean_score: Option<f32>,
    /// Whether the text is probably in a script that the model does not know, so that what it read is wrong.
    pub script_not_covered: bool,
}

/// Options of [`Detector::detect`](super::Detector::detect).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetectOptions {
    /// Lowest score of an object, 0 to 1.
    pub min_score: f32,
    /// Maximum number of objects; the ones with the highest scores are kept.
    pub max_results: usize,
}

impl Default for DetectOptions {
    fn default() -> Self {
        Self { min_score: 0.4, max_results: 50 }
    }
}

/// An object in a picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DetectedObject {
    /// Name of its class among the 80 of COCO.
    pub label: &'static str,
    /// Score of the class, 0 to 1.
    pub score: f32,
    /// Rectangle around it.
    #[serde(rename = "box")]
    pub bounds: PixelBox,
}

/// Scores of a picture by category of content. What is not listed is not assessed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModerationScores {
    /// Probability of sexual content, 0 to 1.
    pub sexual: f32,
}

/// Why a picture is not assessed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VisionError {
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] MediaModelError),
    /// This build has no inference engine.
    #[error("this build has no vision engine: build with the feature `vision`")]
    NoEngine,
    /// A side is zero or too long.
    #[error("a picture of {width} x {height} pixels is out of bounds: each side must be 1 to {MAX_IMAGE_SIDE} pixels")]
    ImageSize {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The pixels do not fit the size.
    #[error("the picture has {found} bytes, its size needs {expected}: 3 a pixel")]
    PixelBytes {
        /// Bytes found.
        found: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// The caller no longer wants the result.
    #[error("cancelled")]
    Cancelled,
    /// The model failed while running.
    #[error("the model failed while running: {why}")]
    Inference {
        /// What failed.
        why: String,
    },
}

/// Fails if the caller no longer wants the result.
#[cfg(feature = "vision")]
pub(super) fn checkpoint(is_cancelled: IsCancelled) -> Result<(), VisionError> {
    if is_cancelled() { Err(VisionError::Cancelled) } else { Ok(()) }
}
