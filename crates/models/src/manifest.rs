//! Manifest of the models known to this build: `models.toml`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The manifest embedded in this crate.
const EMBEDDED: &str = include_str!("../models.toml");
/// The id of the embedding model that this build runs.
const EMBEDDING: &str = "minilm";
const NOT_UNIQUE: &str = "id and file must be unique";

/// Why a manifest is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The text is not valid TOML of the expected form.
    #[error("models.toml: {0}")]
    Syntax(#[from] toml::de::Error),
    /// An entry is invalid.
    #[error("models.toml, model {id}: {why}")]
    Entry {
        /// Id of the model.
        id: String,
        /// What is wrong with its entry.
        why: String,
    },
}

/// All known models.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    #[serde(rename = "model")]
    models: Vec<ModelEntry>,
    #[serde(rename = "embedding", default)]
    embeddings: Vec<EmbeddingEntry>,
}

/// A chat model and the sources of its file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// Id, as used in settings.
    pub id: String,
    /// Display name.
    pub name: String,
    /// File name inside the cache folder.
    pub file: String,
    /// SHA-256 of the file: 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// SPDX expression of the weights' licence.
    pub licence: String,
    /// Context length in tokens for which the model was trained.
    pub context: u32,
    /// Maximum number of tokens in one answer.
    pub max_tokens: u32,
    /// Bytes of memory that must be available for automatic selection of this model.
    pub min_free_memory: u64,
    /// Source on the publisher's model hub.
    pub hub: Option<HubSource>,
    /// Registry packages whose members, concatenated in this order, are the file.
    #[serde(rename = "part", default)]
    pub parts: Vec<PackagePart>,
}

/// An embedding model and the sources of its files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingEntry {
    /// Id, as used in settings.
    pub id: String,
    /// Display name.
    pub name: String,
    /// SPDX expression of the weights' licence.
    pub licence: String,
    /// Length of each vector.
    pub dimensions: u32,
    /// Maximum number of tokens in a text, including the two special tokens.
    pub max_tokens: u32,
    /// The files of the model.
    #[serde(rename = "file")]
    pub files: Vec<ModelFile>,
}

/// One file of a model that has several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Purpose of the file.
    pub role: FileRole,
    /// File name inside the cache folder.
    pub file: String,
    /// SHA-256 of the file: 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Source on the publisher's model hub.
    pub hub: Option<HubSource>,
    /// Registry packages whose members, concatenated in this order, are the file.
    #[serde(rename = "part", default)]
    pub parts: Vec<PackagePart>,
}

/// Purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileRole {
    /// Weights in safetensors format.
    Weights,
    /// WordPiece vocabulary, one piece per line.
    Vocabulary,
}

/// A file on a model hub.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubSource {
    /// Repository, `owner/name`.
    pub repo: String,
    /// Commit hash.
    pub revision: String,
    /// Path of the file in the repository.
    pub file: String,
}

/// A member of a registry package.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackagePart {
    /// `name==version`.
    pub package: String,
    /// Path of the file inside the package.
    pub member: String,
}

impl Manifest {
    /// Parses and checks a manifest.
    ///
    /// # Errors
    /// [`ManifestError`] for invalid TOML or an invalid entry.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let manifest: Self = toml::from_str(text)?;
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        for entry in &manifest.models {
            let source =
                Source { file: &entry.file, sha256: &entry.sha256, hub: entry.hub.as_ref(), parts: &entry.parts };
            check_id(&entry.id, &mut ids)
                .and_then(|()| source.check(&mut names))
                .map_err(|why| refusal(&entry.id, why))?;
        }
        for entry in &manifest.embeddings {
            check_id(&entry.id, &mut ids).map_err(|why| refusal(&entry.id, why))?;
            for file in &entry.files {
                let source =
                    Source { file: &file.file, sha256: &file.sha256, hub: file.hub.as_ref(), parts: &file.parts };
                source.check(&mut names).map_err(|why| refusal(&entry.id, why))?;
            }
        }
        Ok(manifest)
    }

    /// Returns the manifest embedded in this crate.
    pub fn embedded() -> Result<Self, ManifestError> {
        Self::parse(EMBEDDED)
    }

    /// Returns all chat models.
    pub fn models(&self) -> &[ModelEntry] {
        &self.models
    }

    /// Returns the chat model with this id.
    pub fn get(&self, id: &str) -> Option<&ModelEntry> {
        self.models.iter().find(|entry| entry.id == id)
    }

    /// Returns all embedding models.
    pub fn embeddings(&self) -> &[EmbeddingEntry] {
        &self.embeddings
    }

    /// Returns the embedding model that this build runs.
    pub(crate) fn embedding_entry() -> Result<EmbeddingEntry, ManifestError> {
        let found = Self::embedded()?.embeddings.into_iter().find(|entry| entry.id == EMBEDDING);
        found.ok_or_else(|| refusal(EMBEDDING, "it is not there"))
    }
}

/// Source fields that both kinds of entries share.
struct Source<'a> {
    file: &'a str,
    sha256: &'a str,
    hub: Option<&'a HubSource>,
    parts: &'a [PackagePart],
}

impl<'a> Source<'a> {
    fn check(&self, names: &mut HashSet<&'a str>) -> Result<(), &'static str> {
        check_file(self.file, self.sha256, names)?;
        if self.hub.is_none() && self.parts.is_empty() {
            return Err("no source: give hub or part");
        }
        if self.parts.iter().any(|part| !part.package.contains("==")) {
            return Err("a package must be pinned: name==version");
        }
        Ok(())
    }
}

/// Checks a file's name, which no other file may have, and the form of its hash.
pub(crate) fn check_file<'a>(file: &'a str, sha256: &str, names: &mut HashSet<&'a str>) -> Result<(), &'static str> {
    if !names.insert(file) {
        return Err(NOT_UNIQUE);
    }
    if Path::new(file).file_name().is_none_or(|name| name != file) {
        return Err("file must be a plain file name");
    }
    if sha256.len() != 64 || !sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err("sha256 must be 64 lower-case hexadecimal digits");
    }
    Ok(())
}

pub(crate) fn check_id<'a>(id: &'a str, ids: &mut HashSet<&'a str>) -> Result<(), &'static str> {
    if ids.insert(id) { Ok(()) } else { Err(NOT_UNIQUE) }
}

pub(crate) fn refusal(id: &str, why: &str) -> ManifestError {
    ManifestError::Entry { id: id.to_owned(), why: why.to_owned() }
}

impl ModelEntry {
    /// Returns the path of the file in the cache folder.
    pub fn path(&self, cache_dir: &Path) -> PathBuf {
        cache_dir.join(&self.file)
    }
}

impl ModelFile {
    /// Returns the path of the file in the cache folder.
    pub fn path(&self, cache_dir: &Path) -> PathBuf {
        cache_dir.join(&self.file)
    }
}

impl EmbeddingEntry {
    /// Returns the file with this purpose.
    pub fn file(&self, role: FileRole) -> Option<&ModelFile> {
        self.files.iter().find(|file| file.role == role)
    }

    /// Returns whether all files exist; their content is not checked.
    pub fn is_present(&self, cache_dir: &Path) -> bool {
        self.files.iter().all(|file| file.path(cache_dir).is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_manifest_has_the_pinned_models() {
        let manifest = Manifest::embedded().unwrap();
        let pinned: Vec<_> = manifest.models().iter().map(|m| (m.id.as_str(), m.bytes, m.parts.len())).collect();
        // The pinned figures of the design.
        assert_eq!(pinned, [("small", 98_362_432, 1), ("standard", 491_400_064, 6), ("better", 1_117_320_768, 22)]);
        assert!(manifest.get("small").unwrap().sha256.starts_with("b179c9523d0e6a0f"));
        assert!(manifest.get("large").is_none());
    }

    #[test]
    fn the_embedding_model_is_the_published_model() {
        let entry = Manifest::embedding_entry().unwrap();
        let hashes: Vec<_> = entry.files.iter().map(|file| (file.role, file.bytes, &file.sha256[..16])).collect();
        // As published; the vocabulary is that of google-research's uncased BERT.
        let expected =
            [(FileRole::Weights, 90_868_376, "53aa51172d142c89"), (FileRole::Vocabulary, 231_508, "07eced375cec144d")];
        assert_eq!(hashes, expected);
        // The model card: 384 dimensions, 256 word pieces.
        assert_eq!((entry.dimensions, entry.max_tokens), (384, 256));
    }

    #[test]
    fn files_of_embedding_models_are_checked() {
        let refused = |from: &str, to: &str| Manifest::parse(&EMBEDDED.replace(from, to)).unwrap_err().to_string();
        assert!(refused("id = \"minilm\"", "id = \"small\"").contains("unique"));
        assert!(refused("file = \"all-MiniLM-L6-v2.vocab.txt\"", "file = \"../vocab\"").contains("plain file name"));
        assert!(refused("07eced37", "07ECED37").contains("model minilm: sha256 must be"));
    }

    fn with(change: impl Fn(&str) -> String) -> String {
        let text = EMBEDDED.split("[[model]]").nth(1).unwrap();
        Manifest::parse(&change(&format!("[[model]]{text}"))).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_problem() {
        assert!(with(|text| text.replace("b179", "B179")).contains("model small: sha256 must be"));
        assert!(with(|text| text.replace("file = \"", "file = \"../")).contains("plain file name"));
        assert!(with(|text| text.replace("==0.1.2", "")).contains("pinned"));
        assert!(with(|text| format!("{text}{text}")).contains("unique"));
        assert!(with(|text| text.replace("licence", "license")).contains("license"));
        assert!(with(|text| text.split("[[model.part]]").next().unwrap().to_owned()).contains("no source"));
    }
}
