//! The embedded illustrator: loaded at first use, drawn on blocking threads, with a bounded queue.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use muster_core::{Error, Kind};
use muster_media::sketch::{Drawing, Prompt, Quality, Size, SketchError, Sketcher};
use muster_models::{MediaManifest, MediaModelError};
use tokio::sync::Semaphore;

/// Requests that wait at most.
const QUEUE: usize = 32;

/// Draws illustrations by rules.
#[derive(Debug)]
pub struct SketchService {
    cache: PathBuf,
    loaded: Arc<OnceLock<Sketcher>>,
    /// One permit for each drawing at a time.
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// What to draw.
#[derive(Debug, Clone)]
pub struct SketchRequest {
    pub prompt: String,
    /// Code of its language; `None` where it is not known.
    pub language: Option<&'static str>,
    pub size: Size,
    pub quality: Quality,
    pub seed: Option<u64>,
}

/// Counts a request as waiting until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl SketchService {
    /// Creates the service; `cache` is the folder of model files.
    pub fn new(cache: PathBuf) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let running = Arc::new(Semaphore::new(cores));
        Self { cache, loaded: Arc::new(OnceLock::new()), running, waiting: AtomicUsize::new(0) }
    }

    /// Loads the illustrator's files, if they are not loaded. A caller who pays for something first calls this before.
    ///
    /// # Errors
    /// `Unavailable`, with the code `model_absent` if its files are not there, or if too many requests wait.
    pub async fn load(&self) -> Result<(), Error> {
        if self.loaded.get().is_some() {
            return Ok(());
        }
        self.run(|_| Ok(())).await
    }

    /// Draws an illustration.
    ///
    /// # Errors
    /// Those of [`Self::load`]; `Invalid` if the prompt is not accepted.
    pub async fn draw(&self, request: SketchRequest) -> Result<Drawing, Error> {
        let SketchRequest { prompt, language, size, quality, seed } = request;
        self.run(move |sketcher| {
            sketcher.draw(&Prompt { text: &prompt, language, size, quality, seed }).map_err(refusal)
        })
        .await
    }

    /// Runs work with the illustrator on a blocking thread, in its turn.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Sketcher) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        if self.waiting.fetch_add(1, Ordering::AcqRel) >= QUEUE {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            let message = format!("{QUEUE} illustrations wait already, which is the maximum: try again");
            return Err(Error::new(Kind::Unavailable, message).coded("sketch_busy").retry_in(Duration::from_secs(1)));
        }
        let waiting = Waiting(&self.waiting);
        let permit = Arc::clone(&self.running).acquire_owned().await;
        drop(waiting);
        let permit = permit.map_err(|_| Error::new(Kind::Unavailable, "the server is shutting down"))?;
        let is_first = self.loaded.get().is_none();
        let (cache, loaded) = (self.cache.clone(), Arc::clone(&self.loaded));
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            match loaded.get() {
                Some(sketcher) => work(sketcher),
                None => {
                    let opened = open(&cache)?;
                    work(loaded.get_or_init(|| opened))
                }
            }
        });
        let done =
            done.await.map_err(|error| Error::new(Kind::Internal, format!("the illustrator failed: {error}")))?;
        if is_first {
            // The names of 80 languages take a second to parse, for which no later prompt is to wait.
            let loaded = Arc::clone(&self.loaded);
            drop(tokio::task::spawn_blocking(move || loaded.get().map(Sketcher::warm)));
        }
        done
    }
}

fn open(cache: &std::path::Path) -> Result<Sketcher, Error> {
    let manifest = MediaManifest::embedded().map_err(|error| broken(&error))?;
    let read = |id: &str| -> Result<Vec<u8>, Error> {
        let model = manifest.get(id).ok_or_else(|| broken(&format!("media.toml has no model {id}")))?;
        let verified = model.verify(cache).and_then(|()| model.path(cache, id));
        let path = verified.map_err(|error| match error {
            MediaModelError::Absent { .. } => absent(),
            other => broken(&other),
        })?;
        std::fs::read(path).map_err(|error| broken(&error))
    };
    let (pictures, names) = (read("pictures")?, read("names")?);
    Sketcher::open(&pictures, &names).map_err(|error| broken(&error))
}

fn absent() -> Error {
    let message = "the pictures and names of the embedded illustrator are not on this machine: fetch them with `muster models \
                   pull pictures names`, or configure a provider of an image model";
    Error::new(Kind::Unavailable, message).coded("model_absent").retry_in(Duration::from_secs(60))
}

fn broken(error: &dyn std::fmt::Display) -> Error {
    tracing::error!(%error, "the embedded illustrator cannot be used");
    let message = "the files of the embedded illustrator cannot be used: fetch them again with `muster models pull pictures \
                   names`; the server's log says why";
    Error::new(Kind::Unavailable, message).coded("model_absent").retry_in(Duration::from_secs(60))
}

fn refusal(error: SketchError) -> Error {
    match error {
        SketchError::EmptyPrompt | SketchError::LongPrompt(_) => {
            Error::field(Kind::Invalid, &["body", "prompt"], error.to_string(), serde_json::Value::Null)
        }
        other => broken(&other),
    }
}
