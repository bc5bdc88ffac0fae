use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How entries are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By words and vectors together.
    #[default]
    Hybrid,
    /// By words only (BM25).
    Text,
    /// By vectors only (cosine).
    Semantic,
}

/// A search: its text, conditions that entries must meet, and options of ranking.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// Plain text; no character of it is an operator.
    pub text: Arc<str>,
    /// How entries are ranked.
    pub mode: Mode,
    /// Maximum number of hits.
    pub limit: usize,
    /// Number of hits omitted before the first.
    pub offset: usize,
    /// Tags that an entry must all have.
    pub tags_all: Vec<String>,
    /// Tags of which an entry must have at least one; empty for no condition.
    pub tags_any: Vec<String>,
    /// Prefix of an entry's key.
    pub key_prefix: Option<String>,
    /// Thread of an entry.
    pub thread: Option<String>,
    /// Minimum score, 0 to 1.
    pub min_score: Option<f32>,
    /// Age at which the score of an entry of default importance is halved; `None` if age does not count.
    pub half_life: Option<Duration>,
    /// Weight of relevance in maximal marginal relevance, 0 to 1; dissimilarity to better hits has `1 - mmr`. `None` to
    /// rank by relevance alone.
    pub mmr: Option<f32>,
}

/// Inputs of a search that are not part of the query.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueryContext<'a> {
    /// Vector of the query's text, by the model of the collections; `None` to rank by words only.
    pub vector: Option<&'a [f32]>,
    /// Current time, in milliseconds since 1970.
    pub now: i64,
    /// Whether expired entries are returned.
    pub include_expired: bool,
    /// Weight of the vector in place of [`ALPHA`](super::ALPHA), 0 to 1.
    pub alpha: Option<f32>,
}
