//! What the ranking is tuned by, for the whole server.

use muster_retrieval::rank::ALPHA;
use muster_retrieval::{Bm25, CollectionOptions, VectorOptions};

/// A few figures; their defaults are those that the ranking was measured with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranking {
    /// How slowly more occurrences of a word stop to count.
    pub k1: f32,
    /// How much a long entry loses, 0 to 1.
    pub b: f32,
    /// What the vector counts where words count `1 - alpha`, 0 to 1.
    pub alpha: f32,
    /// Up to so many vectors of a namespace a search is an exact scan; above, a graph is grown.
    pub exact_below: usize,
}

impl Default for Ranking {
    fn default() -> Self {
        let Bm25 { k1, b, .. } = Bm25::default();
        Self { k1, b, alpha: ALPHA, exact_below: VectorOptions::new(1).exact_below }
    }
}

impl Ranking {
    /// What collections are made with, for vectors of so many numbers.
    pub(super) fn collection(self, dimensions: usize) -> CollectionOptions {
        let mut options = CollectionOptions::new(dimensions);
        (options.text.bm25.k1, options.text.bm25.b) = (self.k1, self.b);
        options.vectors.exact_below = self.exact_below;
        options
    }

    /// By what a checkpoint is known: one that was built with other figures, or of another model's vectors, is built anew.
    pub(super) fn mark(self, model: &str) -> String {
        let Self { k1, b, exact_below, .. } = self;
        if (Self { alpha: ALPHA, ..self }) == Self::default() {
            return model.to_owned();
        }
        format!("{model} k1={k1} b={b} exact_below={exact_below}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_of_other_figures_are_others() {
        let default = Ranking::default();
        assert_eq!(default.mark("m"), "m");
        assert_eq!(Ranking { alpha: 0.9, ..default }.mark("m"), "m", "alpha is of a search, not of what it searches");
        let long = Ranking { b: 0.4, ..default };
        assert_ne!(long.mark("m"), "m");
        assert_eq!(long.collection(384).text.bm25.b, 0.4);
        assert_eq!(default.collection(384), CollectionOptions::new(384));
    }
}
