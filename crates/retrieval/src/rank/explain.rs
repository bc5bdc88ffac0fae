use serde::{Deserialize, Serialize};

use crate::text::TermPart;

/// Every part of a score: `score = clamp((text + semantic + importance) / best) * decay`, where `text` is weight times
/// score, `semantic` weight times cosine, and `best` the sum of both for a perfect entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explain {
    pub text: Option<TextPart>,
    pub semantic: Option<SemanticPart>,
    /// What the vector counts: 0 where only words counted, 1 where only vectors did.
    pub alpha: f32,
    /// `(1 - alpha) * z(text) + alpha * z(cosine)`, in deviations; what importance adds is not in it.
    pub fused: f32,
    /// Added for its importance, in deviations.
    pub importance: f32,
    /// What a perfect entry has where this one has the three sums.
    pub best: f32,
    /// Multiplied for its age.
    pub decay: f32,
    /// The highest cosine with a hit above it, where diversity was asked for.
    pub likeness: Option<f32>,
    pub score: f32,
}

/// What words add.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextPart {
    /// BM25: the sum of the terms' contributions.
    pub bm25: f32,
    /// The highest that BM25 can reach for this query.
    pub best: f32,
    /// Of the candidates.
    pub mean: f32,
    pub deviation: f32,
    /// `(1 - alpha) / deviation`.
    pub weight: f32,
    pub terms: Vec<TermPart>,
}

/// What vectors add.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SemanticPart {
    /// Of the entry alone. None where it has no vector yet.
    pub own: Option<f32>,
    /// Of the entry and its neighbours; the mean of the candidates where there is no vector yet.
    pub cosine: f32,
    /// Neighbours with a vector.
    pub neighbours: usize,
    /// Of the candidates.
    pub mean: f32,
    pub deviation: f32,
    /// `alpha / deviation`.
    pub weight: f32,
}
