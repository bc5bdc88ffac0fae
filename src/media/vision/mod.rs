//! Vision: the models of this server and of providers, and which of them serves a task.

mod engine;
mod facts;
mod moderation;
mod outcome;
mod prompt;
mod provider;
mod reply;
mod result;
mod run;

use std::path::Path;

use muster_imaging::engines::ModelStats;
use muster_models::{Detector, Moderator, Ocr};

pub use engine::{EmbeddedModel, VisionEngine};
pub use outcome::{AttemptA, Outcome, Payer};
pub(crate) use prompt::data as jpeg_source;
pub use provider::{estimate, is_configured};
pub use result::VisionResult;
pub use run::{VisionRequest, serve};

/// What is done with a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VisionTask {
    /// Finds objects.
    Detect,
    /// Reads text.
    Ocr,
    /// Scores content that may harm.
    Moderate,
    /// Describes the picture.
    Describe,
}

impl VisionTask {
    /// Returns the name in requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Detect => "detect",
            Self::Ocr => "ocr",
            Self::Moderate => "moderate",
            Self::Describe => "describe",
        }
    }
}

/// The models of vision in this process.
#[derive(Debug, Clone)]
pub struct VisionModels {
    /// Finds objects.
    pub detector: EmbeddedModel<Detector>,
    /// Reads text.
    pub ocr: EmbeddedModel<Ocr>,
    /// Scores sexual content.
    pub moderator: EmbeddedModel<Moderator>,
}

impl VisionModels {
    /// Starts the threads of the models in this folder. Models are loaded at their first use.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(cache: &Path) -> std::io::Result<Self> {
        Ok(Self {
            detector: EmbeddedModel::start(cache)?,
            ocr: EmbeddedModel::start(cache)?,
            moderator: EmbeddedModel::start(cache)?,
        })
    }

    /// Calls `each` with the id, the presence and the counts of each model.
    pub fn each(&self, mut each: impl FnMut(&'static str, bool, ModelStats)) {
        each(Detector::ID, self.detector.is_present(), self.detector.stats());
        each(Ocr::ID, self.ocr.is_present(), self.ocr.stats());
        each(Moderator::ID, self.moderator.is_present(), self.moderator.stats());
    }

    /// Checks the models that are in memory.
    ///
    /// # Errors
    /// What is wrong with the first that fails.
    pub async fn check(&self) -> Result<(), String> {
        self.detector.check().await?;
        self.ocr.check().await?;
        self.moderator.check().await
    }
}
