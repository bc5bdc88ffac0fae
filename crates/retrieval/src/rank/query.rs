use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How entries are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By words and by meaning.
    #[default]
    Hybrid,
    /// By words.
    Text,
    /// By meaning.
    Semantic,
}

/// What to find, and how to rank it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// Plain text: no character of it is an operator.
    pub text: Arc<str>,
    pub mode: Mode,
    /// Hits at most.
    pub limit: usize,
    /// Hits left out before the first.
    pub offset: usize,
    /// Tags that an entry must have, all of them.
    pub tags_all: Vec<String>,
    /// Tags of which an entry must have at least one; empty is no condition.
    pub tags_any: Vec<String>,
    /// How an entry's key begins.
    pub key_prefix: Option<String>,
    /// The thread that an entry belongs to.
    pub thread: Option<String>,
    /// Hits that score less are left out, 0 to 1.
    pub min_score: Option<f32>,
    /// Age at which the score of an entry of middle importance is halved. `None`: age does not count.
    pub half_life: Option<Duration>,
    /// Weight of relevance where being unlike the hits above weighs `1 - mmr`, 0 to 1. `None`: relevance alone counts.
    pub mmr: Option<f32>,
}

/// The circumstances of a search that the caller of the service does not choose.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueryContext<'a> {
    /// The vector of the text, by the model of the collections.
    pub vector: Option<&'a [f32]>,
    /// Milliseconds since 1970.
    pub now: i64,
    /// Whether entries past their time are found.
    pub include_expired: bool,
    /// Weight of the vector instead of [`ALPHA`](super::ALPHA).
    pub alpha: Option<f32>,
}
