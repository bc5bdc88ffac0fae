use serde::{Deserialize, Serialize};

/// Parameters of BM25 (Robertson, Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond").
///
/// A term adds `idf * tf / (tf + K)` with `K = k1 * (1 - b + b * (len + prior) / (mean + prior))`, without the constant
/// factor `k1 + 1`, as Lucene since version 8.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bm25 {
    /// Saturation of term frequency.
    pub k1: f32,
    /// Length normalisation, 0 to 1.
    pub b: f32,
    /// Number of words added to every entry's length, since the length of short texts carries little information. 0 is
    /// BM25 as published.
    pub prior: f32,
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75, prior: 50.0 }
    }
}

impl Bm25 {
    /// Returns the inverse document frequency as defined by Lucene: `ln(1 + (n - df + 0.5) / (df + 0.5))`, never negative.
    #[must_use]
    pub fn idf(documents: u64, df: u64) -> f32 {
        let (all, with) = (documents as f64, df.min(documents) as f64);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln() as f32
    }

    /// Norm for entries with this mean length.
    pub(super) fn norm(self, mean: f32) -> Norm {
        let by_length = self.k1 * self.b / (mean + self.prior).max(f32::MIN_POSITIVE);
        Norm { base: self.k1 * (1.0 - self.b) + by_length * self.prior, by_length }
    }
}

/// `K` as a linear function of an entry's length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Norm {
    base: f32,
    by_length: f32,
}

impl Norm {
    /// Share of a term's weight, 0 to 1.
    pub(super) fn saturation(self, tf: f32, length: f32) -> f32 {
        tf / (tf + self.base + self.by_length * length)
    }
}
