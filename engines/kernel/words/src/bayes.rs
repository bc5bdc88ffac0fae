//! Complement naive Bayes (Rennie et al., ICML 2003, section 3.1): each class is judged by how often a word occurs in all
//! other classes, which is steadier than multinomial naive Bayes where classes have few or unequally many texts.

use std::collections::BTreeMap;

/// Smoothing: what is added to each count.
const ALPHA: f64 = 1.0;

/// A trained classifier.
#[derive(Debug, Clone)]
pub struct ComplementBayes {
    classes: usize,
    /// For each known word the weight in each class: higher is likelier.
    weights: BTreeMap<String, Vec<f64>>,
}

impl ComplementBayes {
    /// Trains on texts as words with the number of their class, below `classes`; others are ignored. The weights are
    /// `-ln((α + count of the word outside the class) / (α n + words outside the class))` for a vocabulary of n words.
    pub fn train<'a>(classes: usize, texts: impl IntoIterator<Item = (usize, &'a [String])>) -> Self {
        let mut counts: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut totals = vec![0.0; classes];
        for (class, words) in texts {
            let Some(total) = totals.get_mut(class) else { continue };
            *total += words.len() as f64;
            for word in words {
                let of = counts.entry(word.clone()).or_insert_with(|| vec![0.0; classes]);
                if let Some(count) = of.get_mut(class) {
                    *count += 1.0;
                }
            }
        }
        let (all, size): (f64, f64) = (totals.iter().sum(), counts.len() as f64);
        let weights = counts.into_iter().map(|(word, counts)| {
            let everywhere: f64 = counts.iter().sum();
            let weight =
                |(count, total): (&f64, &f64)| -((ALPHA + everywhere - count) / (ALPHA * size + all - total)).ln();
            (word, counts.iter().zip(&totals).map(weight).collect())
        });
        Self { classes, weights: weights.collect() }
    }

    /// Returns the score of each class for a text: the sum of the weights of its known words. The highest is likeliest.
    pub fn scores(&self, words: &[String]) -> Vec<f64> {
        let mut scores = vec![0.0; self.classes];
        for word in words {
            for (score, weight) in scores.iter_mut().zip(self.weights(word)) {
                *score += weight;
            }
        }
        scores
    }

    /// Returns the weight of a word in each class; empty for a word that was not in the texts.
    pub fn weights(&self, word: &str) -> &[f64] {
        self.weights.get(word).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// scikit-learn's ComplementNB with alpha 1 has these `feature_log_prob_` for the same counts (by its formula: the
    /// complement of class 0 has one `b` and two `c` of three words).
    #[test]
    fn weights_by_the_formula() {
        let (first, second) = (words("a a b"), words("b c c"));
        let model = ComplementBayes::train(2, [(0, first.as_slice()), (1, second.as_slice())]);
        assert!((model.weights("a")[0] - (6.0_f64 / 1.0).ln()).abs() < 1e-12);
        assert!((model.weights("b")[0] - (6.0_f64 / 2.0).ln()).abs() < 1e-12);
        assert!((model.weights("c")[0] - (6.0_f64 / 3.0).ln()).abs() < 1e-12);
        let scores = model.scores(&words("a b unknown"));
        assert!(scores[0] > scores[1], "{scores:?}");
        assert!(model.weights("unknown").is_empty());
    }
}
