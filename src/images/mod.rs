//! Pictures from text: by the models of providers, and by rules where none draws.

mod check;
mod draw;
mod scene;
mod sketch;

use std::path::PathBuf;
use std::sync::Arc;

use actix_rt::ArbiterHandle;
use muster_core::Clock;
use muster_core::supervise::Tree;
use muster_imaging::pictures::{PictureOptions, Pictures};
use muster_store::StoreHandle;

use crate::app::{StartError, failed};
use crate::config::Config;

pub use check::FIT;
pub use draw::{DrawRequest, Method, draw};
pub use sketch::SketchService;

/// Folder of the stored pictures inside the data folder.
const FOLDER: &str = "pictures";

/// What draws and keeps pictures.
#[derive(Debug, Clone)]
pub struct Images {
    pub pictures: Pictures,
    pub sketch: Arc<SketchService>,
}

impl Images {
    pub(crate) fn start(
        config: &Config,
        tree: &Tree,
        arbiter: ArbiterHandle,
        store: &StoreHandle,
        clock: &Clock,
    ) -> Result<Self, StartError> {
        let folder: PathBuf = config.store.path.join(FOLDER);
        let options =
            PictureOptions { store: Arc::clone(store), clock: clock.clone(), folder, limits: config.images.limits() };
        let pictures = Pictures::start(&tree.group("pictures"), arbiter, options)
            .map_err(|error| failed("the folder of stored pictures")(&error))?;
        Ok(Self { pictures, sketch: Arc::new(SketchService::new(config.llm.cache.clone())) })
    }

    /// Compares the records of stored pictures with their files.
    ///
    /// # Errors
    /// A file is missing, or they cannot be compared.
    pub async fn check(&self) -> Result<(), String> {
        match self.pictures.missing_files().await {
            Ok(0) => Ok(()),
            Ok(missing) => Err(format!(
                "the files of {missing} stored pictures are missing: their records are removed at the next start"
            )),
            Err(error) => Err(error.message),
        }
    }
}
