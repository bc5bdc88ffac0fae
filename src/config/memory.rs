//! Settings of semantic memory.

use muster_memory::{NAMESPACE, Ranking, is_namespace};
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Largest number of shared namespaces.
const MAX_SHARED: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Memory {
    /// Namespaces that every key with the scope `memory` may read and write. All others are private to their owner.
    pub shared: Vec<String>,
    /// Largest number of entries of one key or user over all its namespaces, and of the shared ones together.
    pub max_entries_per_owner: usize,
    /// Number of index shards, each with a thread of its own; 0 means one per core, at most 4.
    pub shards: usize,
    /// Seconds between checkpoints of the index.
    pub checkpoint_seconds: u64,
    /// Number of entries of a namespace up to which vectors are compared exactly; above it a graph index is used.
    pub exact_below: usize,
    /// BM25 term-frequency saturation.
    pub bm25_k1: f64,
    /// BM25 length normalisation: 0 none, 1 full.
    pub bm25_b: f64,
    /// Weight of the semantic score in a hybrid score; the rest is the weight of the text score.
    pub alpha: f64,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            shared: Vec::new(),
            max_entries_per_owner: 1_000_000,
            shards: 0,
            checkpoint_seconds: 300,
            exact_below: 50_000,
            bm25_k1: 1.2,
            bm25_b: 0.75,
            alpha: 0.4,
        }
    }
}

impl Memory {
    /// Returns the parameters of the ranking.
    pub fn ranking(&self) -> Ranking {
        Ranking {
            k1: self.bm25_k1 as f32,
            b: self.bm25_b as f32,
            alpha: self.alpha as f32,
            exact_below: self.exact_below,
        }
    }

    /// # Errors
    /// A value is out of its range, or a shared namespace has an invalid name.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad = |name: &str, why: String| Err(ConfigError::Bad { setting: format!("memory.{name}"), why });
        if let Some(wrong) = self.shared.iter().find(|name| !is_namespace(name)) {
            return bad("shared", format!("`{wrong}` is no namespace: {NAMESPACE}"));
        }
        if self.shared.len() > MAX_SHARED {
            return bad("shared", format!("takes at most {MAX_SHARED} namespaces"));
        }
        let whole = [
            ("max_entries_per_owner", self.max_entries_per_owner as u64, 1, 100_000_000),
            ("shards", self.shards as u64, 0, 64),
            ("checkpoint_seconds", self.checkpoint_seconds, 1, 86_400),
            ("exact_below", self.exact_below as u64, 0, 10_000_000),
        ];
        for (name, value, least, most) in whole {
            if !(least..=most).contains(&value) {
                return bad(name, format!("takes {least} to {most}"));
            }
        }
        for (name, value, most) in
            [("bm25_k1", self.bm25_k1, 10.0), ("bm25_b", self.bm25_b, 1.0), ("alpha", self.alpha, 1.0)]
        {
            if !(0.0..=most).contains(&value) {
                return bad(name, format!("takes 0 to {most}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_that_were_measured() {
        assert_eq!(Memory::default().ranking(), Ranking::default());
    }

    #[test]
    fn settings_out_of_range_are_reported() {
        let refused = |memory: Memory| memory.check().unwrap_err().to_string();
        assert_eq!(refused(Memory { bm25_b: 1.1, ..Memory::default() }), "memory.bm25_b: takes 0 to 1");
        assert_eq!(refused(Memory { alpha: f64::NAN, ..Memory::default() }), "memory.alpha: takes 0 to 1");
        assert_eq!(
            refused(Memory { checkpoint_seconds: 0, ..Memory::default() }),
            "memory.checkpoint_seconds: takes 1 to 86400"
        );
        let wrong = refused(Memory { shared: vec!["team".to_owned(), "no spaces".to_owned()], ..Memory::default() });
        assert!(wrong.starts_with("memory.shared: `no spaces`"), "{wrong}");
    }
}
