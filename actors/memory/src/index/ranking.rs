//! Server-wide ranking parameters.

use muster_retrieval::rank::ALPHA;
use muster_retrieval::{Bm25, CollectionOptions, VectorOptions};

/// Ranking parameters; the defaults are those with which quality was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranking {
    /// BM25 saturation of term frequency.
    pub k1: f32,
    /// BM25 length normalisation, 0 to 1.
    pub b: f32,
    /// Weight of the vector score, 0 to 1; words have `1 - alpha`.
    pub alpha: f32,
    /// Maximum vectors of a namespace for an exact scan; above it, a graph is built.
    pub exact_below: usize,
}

impl Default for Ranking {
    fn default() -> Self {
        let Bm25 { k1, b, .. } = Bm25::default();
        Self { k1, b, alpha: ALPHA, exact_below: VectorOptions::new(1).exact_below }
    }
}

impl Ranking {
    /// Options of a collection with vectors of this length.
    pub(super) fn collection(self, dimensions: usize) -> CollectionOptions {
        let mut options = CollectionOptions::new(dimensions);
        (options.text.bm25.k1, options.text.bm25.b) = (self.k1, self.b);
        options.vectors.exact_below = self.exact_below;
        options
    }

    /// Identifies compatible checkpoints: with other parameters or another model, collections are rebuilt.
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
    fn other_parameters_identify_other_checkpoints() {
        let default = Ranking::default();
        assert_eq!(default.mark("m"), "m");
        assert_eq!(Ranking { alpha: 0.9, ..default }.mark("m"), "m", "alpha does not affect the collections");
        let long = Ranking { b: 0.4, ..default };
        assert_ne!(long.mark("m"), "m");
        assert_eq!(long.collection(384).text.bm25.b, 0.4);
        assert_eq!(default.collection(384), CollectionOptions::new(384));
    }
}
