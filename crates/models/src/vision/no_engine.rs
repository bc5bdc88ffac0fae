//! Substitutes of a build without the feature `vision`: they cannot be loaded.

use std::convert::Infallible;
use std::path::Path;

use super::{DetectOptions, DetectedObject, IsCancelled, ModerationScores, OcrPage, RgbImage, VisionError};

/// Reads text. Not in this build.
#[derive(Debug)]
pub struct Ocr(Infallible);

/// Finds objects. Not in this build.
#[derive(Debug)]
pub struct Detector(Infallible);

/// Scores sexual content. Not in this build.
#[derive(Debug)]
pub struct Moderator(Infallible);

impl Ocr {
    /// Fails.
    ///
    /// # Errors
    /// Always [`VisionError::NoEngine`].
    pub fn load(_cache: &Path) -> Result<Self, VisionError> {
        Err(VisionError::NoEngine)
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn read(&self, _image: RgbImage, _is_cancelled: IsCancelled) -> Result<OcrPage, VisionError> {
        match self.0 {}
    }
}

impl Detector {
    /// Fails.
    ///
    /// # Errors
    /// Always [`VisionError::NoEngine`].
    pub fn load(_cache: &Path) -> Result<Self, VisionError> {
        Err(VisionError::NoEngine)
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn detect(
        &self,
        _image: RgbImage,
        _options: DetectOptions,
        _is_cancelled: IsCancelled,
    ) -> Result<Vec<DetectedObject>, VisionError> {
        match self.0 {}
    }
}

impl Moderator {
    /// Fails.
    ///
    /// # Errors
    /// Always [`VisionError::NoEngine`].
    pub fn load(_cache: &Path) -> Result<Self, VisionError> {
        Err(VisionError::NoEngine)
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn assess(&self, _image: RgbImage, _is_cancelled: IsCancelled) -> Result<ModerationScores, VisionError> {
        match self.0 {}
    }
}
