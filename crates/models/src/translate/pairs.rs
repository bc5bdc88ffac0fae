//! Pairs of languages whose files are in the folder of models: those of the manifest, and further ones that an operator
//! put there under the names that Firefox publishes them by.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::media::{MediaManifest, MediaModel, MediaModelError};

/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 2_000;
/// Prefix of the ids in the manifest: `translate-en-pt`.
const PREFIX: &str = "translate-";
const NAMES: &str = "vocab.XXYY.spm, or srcvocab.XXYY.spm and trgvocab.XXYY.spm";

/// The files of a pair of languages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranslationPair {
    /// Code of the language translated from.
    pub from: String,
    /// Code of the language translated to.
    pub to: String,
    /// Display name, as answers state it.
    pub name: String,
    weights: PathBuf,
    source_vocabulary: PathBuf,
    target_vocabulary: PathBuf,
    /// Folder and manifest entry by which the files are verified; `None` for files that an operator added.
    manifest: Option<(PathBuf, MediaModel)>,
}

impl TranslationPair {
    /// The pair of a model of the manifest, whose id is `translate-` and both codes. The files are not looked at.
    ///
    /// # Errors
    /// The id names no pair, or the manifest lacks one of the files.
    pub fn of_model(folder: &Path, model: &MediaModel) -> Result<Self, MediaModelError> {
        let codes = model.id.strip_prefix(PREFIX).and_then(|codes| codes.split_once('-'));
        let (from, to) = codes.ok_or_else(|| model.failed("its id names no pair of languages"))?;
        let vocabulary = model.path(folder, "vocabulary")?;
        Ok(Self {
            from: from.to_owned(),
            to: to.to_owned(),
            name: model.name.clone(),
            weights: model.path(folder, "weights")?,
            source_vocabulary: vocabulary.clone(),
            target_vocabulary: vocabulary,
            manifest: Some((folder.to_owned(), model.clone())),
        })
    }

    /// Both codes, such as `en-pt`.
    pub fn id(&self) -> String {
        format!("{}-{}", self.from, self.to)
    }

    /// Whether the manifest pins the content of the files.
    pub fn is_pinned(&self) -> bool {
        self.manifest.is_some()
    }

    /// Verifies files that the manifest pins. Blocks while it reads what was not verified before.
    ///
    /// # Errors
    /// A file is absent or differs.
    pub fn verify(&self) -> Result<(), MediaModelError> {
        self.manifest.as_ref().map_or(Ok(()), |(folder, model)| model.verify(folder))
    }

    /// The weights.
    pub fn weights(&self) -> &Path {
        &self.weights
    }

    /// Vocabularies of the source and of the target: one file for most pairs.
    pub fn vocabularies(&self) -> (&Path, &Path) {
        (&self.source_vocabulary, &self.target_vocabulary)
    }

    /// The pair of published files: `model.enfr.intgemm.alphas.bin` beside its vocabularies.
    fn of_weights(weights: &Path) -> Option<Self> {
        let rest = weights.file_name()?.to_str()?.strip_prefix("model.")?;
        let (codes, kind) = rest.split_once('.')?;
        let (from, to) = split_codes(codes)?;
        if !kind.starts_with("intgemm") || !kind.ends_with(".bin") {
            return None;
        }
        let beside = |name: String| Some(weights.with_file_name(name)).filter(|path| path.is_file());
        let shared = beside(format!("vocab.{codes}.spm"));
        let source = shared.clone().or_else(|| beside(format!("srcvocab.{codes}.spm")));
        let target = shared.or_else(|| beside(format!("trgvocab.{codes}.spm")));
        let (Some(source), Some(target)) = (source, target) else {
            tracing::warn!(file = %weights.display(), "a translation model without vocabulary is passed over; it needs {NAMES}");
            return None;
        };
        Some(Self {
            from: from.to_owned(),
            to: to.to_owned(),
            name: format!("Firefox Translations {from}-{to}"),
            weights: weights.to_owned(),
            source_vocabulary: source,
            target_vocabulary: target,
            manifest: None,
        })
    }
}

/// Splits `enfr` or `fren`: every published pair has English on one side.
fn split_codes(codes: &str) -> Option<(&str, &str)> {
    let code = |code: &&str| (2..=3).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_lowercase());
    if let Some(to) = codes.strip_prefix("en").filter(code) {
        return (to != "en").then_some(("en", to));
    }
    codes.strip_suffix("en").filter(code).map(|from| (from, "en"))
}

/// All pairs whose files are in the folder or in a folder directly inside it, ordered by codes. Where several files
/// serve one pair, those of the manifest come first, then the first path. A folder that cannot be read holds no pair.
pub fn find_pairs(folder: &Path, manifest: &MediaManifest) -> Vec<TranslationPair> {
    let pinned = manifest.models().iter().filter(|model| model.id.starts_with(PREFIX) && model.is_present(folder));
    let pinned = pinned.filter_map(|model| TranslationPair::of_model(folder, model).ok());
    let mut found: BTreeMap<(String, String), TranslationPair> = BTreeMap::new();
    let (folders, files): (Vec<_>, Vec<_>) = entries(folder).into_iter().partition(|path| path.is_dir());
    let files = files.into_iter().chain(folders.iter().flat_map(|folder| entries(folder)));
    for pair in pinned.chain(files.filter_map(|path| TranslationPair::of_weights(&path))) {
        found.entry((pair.from.clone(), pair.to.clone())).or_insert(pair);
    }
    found.into_values().collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"x").unwrap();
        }
        folder
    }

    fn ids(folder: &Path) -> Vec<String> {
        find_pairs(folder, &MediaManifest::embedded().unwrap()).iter().map(TranslationPair::id).collect()
    }

    #[test]
    fn published_names_are_found_in_the_folder_and_one_below() {
        let folder = folder_with(&[
            "model.enfr.intgemm.alphas.bin",
            "vocab.enfr.spm",
            "zh/model.enzh.intgemm8.bin",
            "zh/srcvocab.enzh.spm",
            "zh/trgvocab.enzh.spm",
            "deep/er/model.esen.intgemm.alphas.bin",
            "deep/er/vocab.esen.spm",
        ]);
        assert_eq!(ids(folder.path()), ["en-fr", "en-zh"]);
    }

    #[test]
    fn a_model_without_vocabulary_or_of_another_name_is_no_pair() {
        let folder = folder_with(&[
            "model.ende.intgemm.alphas.bin",
            "model.enen.intgemm.alphas.bin",
            "vocab.enen.spm",
            "model.frde.intgemm.alphas.bin",
            "vocab.frde.spm",
            "model.enit.bin",
            "vocab.enit.spm",
            "model..bin",
        ]);
        assert_eq!(ids(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn files_that_the_manifest_names_are_pinned() {
        let folder = folder_with(&["model.enpt.intgemm.alphas.bin", "vocab.enpt.spm"]);
        let pairs = find_pairs(folder.path(), &MediaManifest::embedded().unwrap());
        assert_eq!(pairs.len(), 1);
        assert!(pairs[0].is_pinned());
        assert!(pairs[0].verify().unwrap_err().to_string().contains("muster models pull translate-en-pt"));
    }

    #[test]
    fn an_absent_folder_holds_no_pair() {
        assert_eq!(ids(Path::new("no-such-folder")), Vec::<String>::new());
    }
}
