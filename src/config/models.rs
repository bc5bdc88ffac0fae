//! Settings of the lists of models.

use serde::{Deserialize, Serialize};

/// The lists of models, `GET /v1/models` and `GET /api/models`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Models {
    /// Whether models whose provider has no credentials are listed, with the status `unconfigured`.
    pub list_unconfigured: bool,
}

impl Default for Models {
    fn default() -> Self {
        Self { list_unconfigured: true }
    }
}
