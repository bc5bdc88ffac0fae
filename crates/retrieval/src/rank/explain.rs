use serde::{Deserialize, Serialize};

use crate::text::TermPart;

/// All parts of a score: `score = clamp((text + semantic + importance) / best) * decay`, where `text` is its weight times
/// BM25, `semantic` its weight times the cosine, and `best` the sum of both for a perfect entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explain {
    /// The part of words; `None` if they did not count.
    pub text: Option<TextPart>,
    /// The part of vectors; `None` if they did not count.
    pub semantic: Option<SemanticPart>,
    /// Weight of the vector, 0 (only words counted) to 1 (only vectors counted).
    pub alpha: f32,
    /// `(1 - alpha) * z(text) + alpha * z(cosine)`, in standard deviations, without importance.
    pub fused: f32,
    /// Added for the entry's importance, in standard deviations.
    pub importance: f32,
    /// Sum of the weighted text and semantic parts for a perfect entry.
    pub best: f32,
    /// Factor for the entry's age, 0 to 1.
    pub decay: f32,
    /// Highest cosine with a hit ranked above it; set if the query requests diversity.
    pub likeness: Option<f32>,
    /// The score.
    pub score: f32,
}

/// Part of a score that comes from words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextPart {
    /// BM25: the sum of the terms' contributions.
    pub bm25: f32,
    /// Upper bound of BM25 for this query.
    pub best: f32,
    /// Mean BM25 of the candidates.
    pub mean: f32,
    /// Standard deviation of BM25 over the candidates.
    pub deviation: f32,
    /// `(1 - alpha) / deviation`.
    pub weight: f32,
    /// Contributions of the query's words and word pairs.
    pub terms: Vec<TermPart>,
}

/// Part of a score that comes from vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SemanticPart {
    /// Cosine of the entry alone; `None` if it has no vector yet.
    pub own: Option<f32>,
    /// Cosine of the entry with its thread neighbours; the mean of the candidates if it has no vector yet.
    pub cosine: f32,
    /// Number of neighbours with a vector.
    pub neighbours: usize,
    /// Mean cosine of the candidates.
    pub mean: f32,
    /// Standard deviation of the cosine over the candidates.
    pub deviation: f32,
    /// `alpha / deviation`.
    pub weight: f32,
}
