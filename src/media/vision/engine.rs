//! Models of vision in this process, each on a thread of its own with a queue.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use muster_core::{Error, Kind};
use muster_imaging::engines::{ModelError, ModelOptions, ModelState, ModelStats, ModelThread, Stop};
use muster_media::Rgb;
use muster_models::{
    DetectOptions, DetectedObject, Detector, IsCancelled, MediaManifest, MediaModel, ModerationScores, Moderator, Ocr,
    OcrPage, RgbImage, VisionError,
};

/// Time after which a full queue may have room.
const RETRY: Duration = Duration::from_secs(5);
/// Time between two checks of a loaded model: longer than the idle time, so that checks do not keep it in memory.
const CHECKED: Duration = Duration::from_secs(660);

/// A model of vision.
pub trait VisionEngine: Sized + 'static {
    /// Id in `media.toml`, and of the task.
    const ID: &'static str;
    /// Name in requests and answers.
    const MODEL: &'static str;
    /// Options of a call.
    type Options: Copy + Default + Send + 'static;
    /// Result of a call.
    type Output: PartialEq + std::fmt::Debug + Send + 'static;

    /// Verifies and loads the model.
    ///
    /// # Errors
    /// The model is absent or cannot be used.
    fn load(cache: &Path) -> Result<Self, VisionError>;

    /// Runs the model on a picture.
    ///
    /// # Errors
    /// The caller cancelled, or the model failed.
    fn run(
        &self,
        image: RgbImage<'_>,
        options: Self::Options,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Self::Output, VisionError>;
}

impl VisionEngine for Detector {
    const ID: &'static str = "detect";
    const MODEL: &'static str = "nanodet-416";
    type Options = DetectOptions;
    type Output = Vec<DetectedObject>;

    fn load(cache: &Path) -> Result<Self, VisionError> {
        Self::load(cache)
    }

    fn run(
        &self,
        image: RgbImage<'_>,
        options: DetectOptions,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Vec<DetectedObject>, VisionError> {
        self.detect(image, options, is_cancelled)
    }
}

impl VisionEngine for Ocr {
    const ID: &'static str = "ocr";
    const MODEL: &'static str = "pp-ocrv5-mobile";
    type Options = ();
    type Output = OcrPage;

    fn load(cache: &Path) -> Result<Self, VisionError> {
        Self::load(cache)
    }

    fn run(&self, image: RgbImage<'_>, (): (), is_cancelled: IsCancelled<'_>) -> Result<OcrPage, VisionError> {
        self.read(image, is_cancelled)
    }
}

impl VisionEngine for Moderator {
    const ID: &'static str = "moderate";
    const MODEL: &'static str = "open-nsfw";
    type Options = ();
    type Output = ModerationScores;

    fn load(cache: &Path) -> Result<Self, VisionError> {
        Self::load(cache)
    }

    fn run(&self, image: RgbImage<'_>, (): (), is_cancelled: IsCancelled<'_>) -> Result<ModerationScores, VisionError> {
        self.assess(image, is_cancelled)
    }
}

/// When the canary was checked, and its result.
type Canary<E> = (Instant, <E as VisionEngine>::Output);

/// A model with its thread. Cheap to clone.
pub struct EmbeddedModel<E: VisionEngine> {
    thread: ModelThread<E>,
    entry: Option<Arc<MediaModel>>,
    cache: Arc<PathBuf>,
    canary: Arc<Mutex<Option<Canary<E>>>>,
    /// Time between two checks.
    checked: Duration,
}

impl<E: VisionEngine> Clone for EmbeddedModel<E> {
    fn clone(&self) -> Self {
        Self {
            thread: self.thread.clone(),
            entry: self.entry.clone(),
            cache: Arc::clone(&self.cache),
            canary: Arc::clone(&self.canary),
            checked: self.checked,
        }
    }
}

impl<E: VisionEngine> std::fmt::Debug for EmbeddedModel<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.thread.fmt(f)
    }
}

impl<E: VisionEngine> EmbeddedModel<E> {
    /// Starts the thread of a model in this folder. The model is loaded at its first use.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(cache: &Path) -> std::io::Result<Self> {
        let folder = cache.to_owned();
        let load = move || E::load(&folder).map_err(|error| error.to_string());
        let entry = MediaManifest::embedded().ok().and_then(|manifest| manifest.get(E::ID).cloned());
        Ok(Self {
            thread: ModelThread::start(E::MODEL, ModelOptions::default(), load)?,
            entry: entry.map(Arc::new),
            cache: Arc::new(cache.to_owned()),
            canary: Arc::default(),
            checked: CHECKED,
        })
    }

    /// Returns whether the model's files are there.
    pub fn is_present(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.is_present(&self.cache))
    }

    /// Returns the state and the counts.
    pub fn stats(&self) -> ModelStats {
        self.thread.stats()
    }

    /// Runs the model on a picture. A dropped future leaves the queue, or stops the model between two of its runs.
    ///
    /// # Errors
    /// `Unavailable`: the model is absent (code `model_absent`, with the command that fetches it), its queue is full, or
    /// it failed.
    pub async fn run(&self, picture: &Arc<Rgb>, options: E::Options) -> Result<E::Output, Error> {
        if !self.is_present() {
            let command = format!("muster models pull {}", E::ID);
            let message = format!("the model {} is not on this machine: fetch it with `{command}`", E::MODEL);
            let details = serde_json::json!({ "model": E::MODEL, "how": command });
            return Err(Error::new(Kind::Unavailable, message).coded("model_absent").detailing(details));
        }
        let picture = Arc::clone(picture);
        let run = move |engine: &mut E, stop: Stop<'_>| {
            let image = RgbImage { width: picture.width(), height: picture.height(), pixels: picture.pixels() };
            engine.run(image, options, &|| stop.is_set())
        };
        let failed = |why: String| Error::new(Kind::Unavailable, why).coded("model_failed").retry_in(RETRY);
        match self.thread.call(run).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(busy @ ModelError::Busy { .. }) => {
                Err(Error::new(Kind::Unavailable, busy.to_string()).coded("vision_busy").retry_in(RETRY))
            }
            Err(error @ ModelError::Failed { .. }) => Err(failed(error.to_string())),
        }
    }

    /// Checks a model that is in memory: the same picture must have the same result as before. `Ok` where it is not in
    /// memory, or was checked a short time ago.
    ///
    /// # Errors
    /// What is wrong with it.
    pub async fn check(&self) -> Result<(), String> {
        match self.stats().state {
            ModelState::Ready => {}
            ModelState::Failed(why) => return Err(format!("{}: {why}", E::MODEL)),
            ModelState::Absent | ModelState::Loading => return Ok(()),
        }
        let due =
            |known: &Option<(Instant, E::Output)>| known.as_ref().is_none_or(|(at, _)| at.elapsed() >= self.checked);
        if !due(&self.canary.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        let Some(picture) = canary() else { return Ok(()) };
        let found = match self.run(&Arc::new(picture), E::Options::default()).await {
            Ok(found) => found,
            Err(busy) if busy.code == Some("vision_busy") => return Ok(()),
            Err(error) => return Err(error.message),
        };
        let mut known = self.canary.lock().unwrap_or_else(PoisonError::into_inner);
        let same = known.as_ref().is_none_or(|(_, before)| *before == found);
        *known = Some((Instant::now(), found));
        if same { Ok(()) } else { Err(format!("{} has another result for the same picture now", E::MODEL)) }
    }
}

/// A picture of stripes: its result is of no interest, only that it stays the same.
fn canary() -> Option<Rgb> {
    const SIDE: u32 = 96;
    let shade = |at: u32| if ((at % SIDE) / 12).is_multiple_of(2) { [20, 20, 20] } else { [230, 200, 170] };
    Rgb::new(SIDE, SIDE, (0..SIDE * SIDE).flat_map(shade).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn an_absent_model_names_the_command_that_fetches_it() {
        let folder = tempfile::tempdir().unwrap();
        let model = EmbeddedModel::<Ocr>::start(folder.path()).unwrap();
        let error = model.run(&Arc::new(canary().unwrap()), ()).await.unwrap_err();
        assert_eq!((error.kind, error.code), (Kind::Unavailable, Some("model_absent")));
        assert!(error.message.contains("muster models pull ocr"), "{error}");
        assert_eq!(model.check().await, Ok(()));
    }

    /// A model whose result changes after some calls.
    struct Drifting(AtomicUsize);

    impl VisionEngine for Drifting {
        const ID: &'static str = "moderate";
        const MODEL: &'static str = "drifting";
        type Options = ();
        type Output = bool;

        fn load(_: &Path) -> Result<Self, VisionError> {
            Ok(Self(AtomicUsize::new(0)))
        }

        fn run(&self, _: RgbImage<'_>, (): (), _: IsCancelled<'_>) -> Result<bool, VisionError> {
            Ok(self.0.fetch_add(1, Ordering::SeqCst) < 3)
        }
    }

    #[tokio::test]
    async fn a_model_whose_result_for_the_same_picture_changes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        // Files of this name are enough for a model that reads none.
        let manifest = MediaManifest::embedded().unwrap();
        for file in &manifest.get(Drifting::ID).unwrap().files {
            std::fs::write(folder.path().join(&file.file), b"x").unwrap();
        }
        let model =
            EmbeddedModel::<Drifting> { checked: Duration::ZERO, ..EmbeddedModel::start(folder.path()).unwrap() };
        assert_eq!(model.check().await, Ok(()), "it is not in memory");
        assert!(model.run(&Arc::new(canary().unwrap()), ()).await.unwrap());
        assert_eq!((model.check().await, model.check().await), (Ok(()), Ok(())));
        let why = model.check().await.unwrap_err();
        assert_eq!(why, "drifting has another result for the same picture now");
    }
}
