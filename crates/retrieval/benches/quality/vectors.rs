use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use muster_models::{EmbedError, EmbedModel, EmbedOptions, LocalEmbedder, ModelStatus};
use muster_retrieval::passages;
use tokio::runtime::{Builder, Runtime};

use crate::data::TestSet;
use crate::{Failure, target};

/// Length of MiniLM's vectors.
pub const DIMENSIONS: usize = 384;
/// Passages per request.
const BATCH: usize = 64;

/// Vectors by the embedded model, cached in the build folder: computing them takes minutes.
pub struct Vectors {
    folder: PathBuf,
    models: PathBuf,
    runtime: Runtime,
    model: Option<Arc<LocalEmbedder>>,
}

impl Vectors {
    pub fn new(root: &Path) -> Result<Self, Failure> {
        let folder = target(root).join("retrieval-vectors");
        fs::create_dir_all(&folder)?;
        let models = std::env::var_os("MUSTER_MODELS_DIR").map_or_else(|| root.join("models-cache"), PathBuf::from);
        Ok(Self { folder, models, runtime: Builder::new_current_thread().build()?, model: None })
    }

    /// Vectors of the entries and of the questions; `None` if the model is missing, which is reported.
    #[expect(clippy::type_complexity, reason = "used once")]
    pub fn of(&mut self, set: &TestSet) -> Result<Option<(Vec<Vec<f32>>, Vec<Vec<f32>>)>, Failure> {
        let entries = set.entries.iter().map(|entry| passages(&entry.key, &entry.tags, &entry.value)).collect();
        let questions = set.questions.iter().map(|question| passages("", &[], &question.text)).collect();
        let (Some(entries), Some(questions)) = (self.all(entries)?, self.all(questions)?) else { return Ok(None) };
        Ok(Some((entries, questions)))
    }

    /// One vector per list of passages.
    fn all(&mut self, texts: Vec<Vec<String>>) -> Result<Option<Vec<Vec<f32>>>, Failure> {
        let sum = texts.iter().flatten().fold(0, |sum, text| crc32c::crc32c_append(sum, text.as_bytes()));
        let path = self.folder.join(format!("{}-{sum:08x}.f32", texts.len()));
        if let Ok(bytes) = fs::read(&path)
            && bytes.len() == texts.len() * DIMENSIONS * 4
        {
            return Ok(Some(read(&bytes)));
        }
        let Some(model) = self.model()? else { return Ok(None) };
        let flat: Vec<String> = texts.iter().flatten().cloned().collect();
        let vectors = self.runtime.block_on(embed(&model, flat))?;
        let mut rest = vectors.into_iter();
        let means: Vec<Vec<f32>> = texts.iter().map(|texts| mean(rest.by_ref().take(texts.len()))).collect();
        fs::write(&path, means.iter().flatten().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
        Ok(Some(means))
    }

    fn model(&mut self) -> Result<Option<Arc<LocalEmbedder>>, Failure> {
        if self.model.is_none() {
            let cache_dir = self.models.clone();
            let model = LocalEmbedder::start(EmbedOptions { cache_dir, ..EmbedOptions::default() });
            let mut status = model.watch_status();
            let loaded = status.wait_for(|status| !matches!(status, ModelStatus::Loading { .. }));
            let status = self.runtime.block_on(loaded)?.clone();
            if status != ModelStatus::Ready {
                println!("semantic and hybrid skipped: {status:?}");
                return Ok(None);
            }
            self.model = Some(model);
        }
        Ok(self.model.clone())
    }
}

async fn embed(model: &LocalEmbedder, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
    let mut all = Vec::with_capacity(texts.len());
    eprintln!("embedding {} passages, which are cached for the next run", texts.len());
    for some in texts.chunks(BATCH) {
        match model.embed(some.to_vec()).await {
            Ok(found) => all.extend(found.vectors),
            Err(EmbedError::TooLong { .. }) => {
                for text in some {
                    all.push(whole(model, text).await?);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Returns the vector of a passage, which is halved if it is too long.
async fn whole(model: &LocalEmbedder, text: &str) -> Result<Vec<f32>, EmbedError> {
    let (one, other) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let tries = [vec![text.to_owned()], vec![one.to_owned(), other.to_owned()]];
    let mut failed = EmbedError::Failed { why: "nothing was tried".to_owned() };
    for texts in tries {
        match model.embed(texts).await {
            Ok(found) => return Ok(mean(found.vectors.into_iter())),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Mean, normalised to length 1.
fn mean(vectors: impl Iterator<Item = Vec<f32>>) -> Vec<f32> {
    let mut sum = vec![0.0_f32; DIMENSIONS];
    vectors.for_each(|vector| sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x));
    let norm = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    sum.iter().map(|x| x / norm).collect()
}

fn read(bytes: &[u8]) -> Vec<Vec<f32>> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0.0, f32::from_le_bytes);
    bytes.chunks(DIMENSIONS * 4).map(|vector| vector.chunks(4).map(number).collect()).collect()
}
