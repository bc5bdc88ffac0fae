//! Vision in this process: reads text, finds objects and scores sexual content, on the published models of `media.toml`.
//!
//! Everything here is synchronous and takes as long as the inference does: callers run it on a thread of their own. A
//! model is loaded by `load`, used by any number of calls (`&self`), and its memory is freed by dropping it. All models
//! share one pool of min(2, cores) threads.

mod types;

#[cfg(feature = "vision")]
mod detector;
#[cfg(feature = "vision")]
mod geometry;
#[cfg(feature = "vision")]
mod moderator;
#[cfg(feature = "vision")]
mod ocr;
#[cfg(feature = "vision")]
mod resize;
#[cfg(feature = "vision")]
mod session;

#[cfg(not(feature = "vision"))]
mod no_engine;

#[cfg(feature = "vision")]
pub use detector::Detector;
#[cfg(feature = "vision")]
pub use moderator::Moderator;
#[cfg(not(feature = "vision"))]
pub use no_engine::{Detector, Moderator, Ocr};
#[cfg(feature = "vision")]
pub use ocr::Ocr;
pub use types::{
    DetectOptions, DetectedObject, IsCancelled, MAX_IMAGE_SIDE, ModerationScores, OcrLine, OcrPage, PixelBox, RgbImage,
    Rotation, VisionError,
};
