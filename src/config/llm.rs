//! The embedded chat model.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Llm {
    /// `auto`, a model id (`small`, `standard`, `better`), the path of a GGUF file, or `none`.
    pub model: String,
    pub cache: PathBuf,
    /// Number of inference threads; 0 means one per core.
    pub threads: usize,
    /// Number of requests processed at the same time.
    pub slots: usize,
    /// Context size of one request, in tokens of prompt and answer together.
    pub context: u32,
    /// Largest number of waiting requests.
    pub queue: usize,
}

impl Default for Llm {
    fn default() -> Self {
        Self {
            model: "auto".to_owned(),
            cache: PathBuf::from("models-cache"),
            threads: 0,
            slots: 4,
            context: 4096,
            queue: 32,
        }
    }
}
