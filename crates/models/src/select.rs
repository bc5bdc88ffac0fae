//! Which model the operator asks for.

use std::path::PathBuf;

/// What the operator asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Selection {
    /// `standard` where its file is present and the memory for it is available, else `small` where present.
    #[default]
    Auto,
    /// A model of the manifest.
    Id(String),
    /// Any local GGUF file; its content is not checked.
    Path(PathBuf),
    /// No embedded model.
    None,
}
