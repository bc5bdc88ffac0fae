//! The operator's selection of a model.

use std::path::PathBuf;

/// Which chat model to load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Selection {
    /// `standard` if its file is present and its memory is available, otherwise `small` if present.
    #[default]
    Auto,
    /// The model with this id in the manifest.
    Id(String),
    /// Any local GGUF file; its content is not verified.
    Path(PathBuf),
    /// No embedded model.
    None,
}
