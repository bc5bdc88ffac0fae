use serde::{Deserialize, Serialize};

/// By what entries are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Hybrid,
    Text,
    Semantic,
}

/// What is sought. Its text has no syntax.
#[derive(Debug, Clone, Copy, Default)]
pub struct Query<'a> {
    pub text: &'a str,
    /// Its vector by the model of the collections.
    pub vector: Option<&'a [f32]>,
    pub mode: Mode,
    pub limit: usize,
    /// Hits left out before the first.
    pub offset: usize,
    /// Tags that an entry must have, all of them.
    pub tags_all: &'a [String],
    /// Tags of which it must have one, unless there are none.
    pub tags_any: &'a [String],
    pub key_prefix: Option<&'a str>,
    pub thread: Option<&'a str>,
    /// Milliseconds since 1970.
    pub now: i64,
    pub include_expired: bool,
    /// Hits below are left out.
    pub min_score: Option<f32>,
    /// Age at which an entry of middle importance counts half. None: age does not count.
    pub half_life_ms: Option<i64>,
    /// What being relevant counts where being unlike those above counts `1 - mmr`. None: the second counts nothing.
    pub mmr: Option<f32>,
    /// Instead of [`ALPHA`](super::ALPHA).
    pub alpha: Option<f32>,
}
