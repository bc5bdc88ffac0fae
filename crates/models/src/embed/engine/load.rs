//! Loads the model files into memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::bert::{self, Bert};
use super::shared::Shared;
use super::wordpiece::WordPiece;
use crate::chat::ModelStatus;
use crate::embed::EmbedError;
use crate::manifest::{EmbeddingEntry, FileRole, Manifest, ModelFile};
use crate::verify::{VerifyError, verify_file};

/// Share of the reported progress that covers verification of the files, in percent.
const CHECK_SHARE: u16 = 80;

/// A loaded model.
#[derive(Debug)]
pub(super) struct Model {
    vocabulary: WordPiece,
    encoder: Bert,
    most_tokens: u32,
    files: Vec<FileMark>,
}

/// Identifies a version of a file at its path.
#[derive(Debug, PartialEq, Eq)]
struct FileMark {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

/// Why nothing was loaded.
pub(super) enum LoadError {
    Stopped,
    /// Retrying is pointless until the operator acts.
    Wrong(ModelStatus),
}

impl Model {
    /// Tokenizes each text; the first text that is too long rejects all of them.
    pub(super) fn tokenize(&self, texts: &[String]) -> Result<Vec<Vec<u32>>, EmbedError> {
        let most = usize::try_from(self.most_tokens).unwrap_or(usize::MAX);
        let read = |(index, text): (usize, &String)| {
            self.vocabulary.encode(text, most).map_err(|long| {
                let tokens = u32::try_from(long.at_least).unwrap_or(u32::MAX);
                EmbedError::TooLong { index, tokens, most: self.most_tokens }
            })
        };
        texts.iter().enumerate().map(read).collect()
    }

    pub(super) fn encode(&self, tokens: &[Vec<u32>]) -> Vec<Vec<f32>> {
        self.encoder.encode(tokens)
    }

    /// Returns whether the files are still the ones that were loaded.
    pub(super) fn is_current(&self, shared: &Shared) -> bool {
        let entry = Manifest::embedding_entry().ok();
        entry.is_some_and(|entry| marks(&entry, &shared.options.cache_dir).as_ref() == Some(&self.files))
    }
}

/// Returns the marks of all files; `None` if one is missing.
fn marks(entry: &EmbeddingEntry, folder: &Path) -> Option<Vec<FileMark>> {
    let mark = |file: &ModelFile| {
        let path = file.path(folder);
        let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Some(FileMark { path, bytes: metadata.len(), modified: metadata.modified().ok() })
    };
    entry.files.iter().map(mark).collect()
}

/// Verifies and loads the files and reports progress.
pub(super) fn load(shared: &Shared) -> Result<Model, LoadError> {
    if !shared.options.enabled {
        let mend = "the embedding model is switched off: set model = \"minilm\" in [embeddings]".to_owned();
        return Err(LoadError::Wrong(ModelStatus::Absent { mend }));
    }
    let failed = |why: String, mend: String| LoadError::Wrong(ModelStatus::Failed { why, mend });
    let fault_of_build = || "this is a fault of the build: report it".to_owned();
    let entry = Manifest::embedding_entry().map_err(|error| failed(error.to_string(), fault_of_build()))?;
    let folder = &shared.options.cache_dir;
    let files = marks(&entry, folder).ok_or_else(|| {
        let mend = format!("run `make models` (or `muster models pull {}`)", entry.id);
        LoadError::Wrong(ModelStatus::Absent { mend })
    })?;
    check(shared, &entry)?;
    let mend = || format!("the file is damaged or another: delete it and run `muster models pull {}`", entry.id);
    let of_role = |role: FileRole| {
        let missing = || failed(format!("models.toml: {} has no {role:?}", entry.id), fault_of_build());
        entry.file(role).map(|file| file.path(folder)).ok_or_else(missing)
    };
    let (weights, vocabulary) = (of_role(FileRole::Weights)?, of_role(FileRole::Vocabulary)?);
    let at = |path: &Path, why: String| failed(format!("{}: {why}", path.display()), mend());
    let text = fs::read_to_string(&vocabulary).map_err(|error| at(&vocabulary, error.to_string()))?;
    let pieces = WordPiece::parse(&text).map_err(|why| at(&vocabulary, why))?;
    if pieces.len() != bert::VOCABULARY {
        return Err(at(&vocabulary, format!("{} pieces, {} are expected", pieces.len(), bert::VOCABULARY)));
    }
    let report = |percent: usize| {
        let rest = usize::from(100 - CHECK_SHARE) * percent / 100;
        shared.set_loading(u8::try_from(usize::from(CHECK_SHARE) + rest).unwrap_or(100));
    };
    let encoder = Bert::read(&weights, report).map_err(|why| at(&weights, why))?;
    Ok(Model { vocabulary: pieces, encoder, most_tokens: entry.max_tokens, files })
}

fn check(shared: &Shared, entry: &EmbeddingEntry) -> Result<(), LoadError> {
    let progress = |percent: u8| {
        shared.set_loading(u8::try_from(u16::from(percent) * CHECK_SHARE / 100).unwrap_or(u8::MAX));
        !shared.is_stopping()
    };
    for file in &entry.files {
        let path = file.path(&shared.options.cache_dir);
        verify_file(&path, file.bytes, &file.sha256, progress).map_err(|error| match error {
            VerifyError::Stopped => LoadError::Stopped,
            error => LoadError::Wrong(ModelStatus::Failed {
                why: error.to_string(),
                mend: format!("the file is damaged or another: delete it and run `muster models pull {}`", entry.id),
            }),
        })?;
    }
    Ok(())
}
