//! Vision, images and translation: which engine serves a request.

pub mod fetch;
pub mod inline;
pub mod picture;
pub mod translate;
pub mod vision;

use std::sync::Arc;

use muster_imaging::engines::Tesseract;
use tokio::sync::Semaphore;

use crate::app::{StartError, failed};
use crate::config::Config;
use fetch::Fetcher;
use vision::VisionModels;

/// What requests with pictures use. Cheap to clone.
#[derive(Debug, Clone)]
pub struct MediaParts {
    /// Fetches pictures by URL.
    pub fetcher: Fetcher,
    /// Places in the queue of decoding.
    pub decodes: Arc<Semaphore>,
    /// Models of vision in this process.
    pub vision: VisionModels,
    /// Reads text of scripts that the embedded model does not know, where it is installed.
    pub tesseract: Tesseract,
}

impl MediaParts {
    /// Starts the threads of the models; nothing is loaded.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(config: &Config) -> Result<Self, StartError> {
        let vision = VisionModels::start(&config.llm.cache).map_err(|error| failed("the models of vision")(&error))?;
        Ok(Self {
            fetcher: Fetcher::new(&config.media.fetch_allow),
            decodes: Arc::new(Semaphore::new(picture::QUEUE)),
            vision,
            tesseract: Tesseract::new(&config.media.tesseract, &config.engines.program),
        })
    }
}
