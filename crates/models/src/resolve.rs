//! Resolves a selection to the file to load.

use std::path::{Path, PathBuf};

use crate::manifest::{Manifest, ModelEntry};
use crate::select::Selection;

/// A file to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    /// Manifest entry of the file; `None` for an operator's own file.
    pub(crate) entry: Option<ModelEntry>,
}

/// Returns the file to load, or the status that explains why there is none. `available` is the available memory in
/// bytes, if known.
pub(crate) fn resolve(
    selection: &Selection,
    manifest: &Manifest,
    cache_dir: &Path,
    available: Option<u64>,
) -> Result<Target, String> {
    let present = |id: &str| manifest.get(id).filter(|entry| entry.path(cache_dir).is_file());
    let target = |entry: &ModelEntry| Target { path: entry.path(cache_dir), entry: Some(entry.clone()) };
    match selection {
        Selection::None => {
            Err("the embedded model is switched off: choose auto, a model or a GGUF file in the settings".to_owned())
        }
        Selection::Auto => present("standard")
            .filter(|entry| available.is_none_or(|bytes| bytes >= entry.min_free_memory))
            .or_else(|| present("small"))
            .map(target)
            .ok_or_else(|| "run `make models` (or `muster models pull small`)".to_owned()),
        Selection::Id(id) if manifest.get(id).is_none() => {
            let known: Vec<_> = manifest.models().iter().map(|entry| entry.id.as_str()).collect();
            Err(format!("there is no model `{id}`: choose auto, {} or the path of a GGUF file", known.join(", ")))
        }
        Selection::Id(id) => present(id).map(target).ok_or_else(|| format!("run `muster models pull {id}`")),
        Selection::Path(path) if path.is_file() => Ok(Target { path: path.clone(), entry: None }),
        Selection::Path(path) => {
            Err(format!("there is no file {}: put a GGUF file there or choose another", path.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn choose(files: &[&str], selection: &Selection, available: u64) -> Result<String, String> {
        let manifest = Manifest::embedded().unwrap();
        let dir = tempfile::tempdir().unwrap();
        for id in files {
            std::fs::write(manifest.get(id).unwrap().path(dir.path()), b"x").unwrap();
        }
        resolve(selection, &manifest, dir.path(), Some(available)).map(|target| target.entry.unwrap().id)
    }

    #[test]
    fn auto_selects_the_best_model_that_fits() {
        let auto = Selection::Auto;
        assert_eq!(choose(&["small", "standard"], &auto, 2 * GIB).unwrap(), "standard");
        assert_eq!(choose(&["small", "standard"], &auto, 2 * GIB - 1).unwrap(), "small");
        assert_eq!(choose(&["small"], &auto, 9 * GIB).unwrap(), "small");
        assert!(choose(&["better"], &auto, 9 * GIB).unwrap_err().contains("make models"));
    }

    #[test]
    fn a_missing_or_unknown_model_reports_the_remedy() {
        let id = |id: &str| Selection::Id(id.to_owned());
        assert_eq!(choose(&["better"], &id("better"), 0).unwrap(), "better");
        assert!(choose(&[], &id("better"), 0).unwrap_err().contains("muster models pull better"));
        assert!(choose(&[], &id("huge"), 0).unwrap_err().contains("small, standard, better"));
        assert!(choose(&[], &Selection::Path("/nowhere.gguf".into()), 0).unwrap_err().contains("/nowhere.gguf"));
        assert!(choose(&["small"], &Selection::None, 0).unwrap_err().contains("switched off"));
    }
}
