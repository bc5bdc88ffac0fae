/// Distribution of one side's scores over the candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub mean: f32,
    pub deviation: f32,
}

/// Minimum standard deviation, as a share of a side's maximum score: a smaller one would amplify noise.
const MIN_DEVIATION: f64 = 0.01;

impl Scale {
    /// Computes mean and population standard deviation; `best` is the maximum possible value.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    pub(super) fn of(values: impl Iterator<Item = f32> + Clone, best: f32) -> Self {
        let count = values.clone().count().max(1) as f64;
        let mean = values.clone().map(f64::from).sum::<f64>() / count;
        let variance = values.map(|value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count;
        let deviation = variance.sqrt().max(MIN_DEVIATION * f64::from(best));
        Self { mean: mean as f32, deviation: deviation as f32 }
    }

    /// Returns the standard score of a value; 0 without a deviation.
    pub(super) fn z(&self, value: f32) -> f32 {
        if self.deviation > 0.0 { (value - self.mean) / self.deviation } else { 0.0 }
    }

    /// Returns the factor of a value whose standard score has the weight `share`; 0 without a deviation.
    pub(super) fn weight(&self, share: f32) -> f32 {
        if self.deviation > 0.0 { share / self.deviation } else { 0.0 }
    }
}

/// Combination of both sides on one scale. Entries are ranked by a sum of their scores with weights that are constant
/// over the candidates: it orders them as the weighted sum of standard scores does, and is also meaningful by itself, as
/// a share of a perfect entry's sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fusion {
    pub alpha: f32,
    pub text: Scale,
    pub semantic: Scale,
    /// Upper bound of BM25 for the query.
    pub best_text: f32,
}

impl Fusion {
    pub(super) fn text_weight(&self) -> f32 {
        self.text.weight(1.0 - self.alpha)
    }

    pub(super) fn semantic_weight(&self) -> f32 {
        self.semantic.weight(self.alpha)
    }

    /// Returns the sum of a perfect entry: one with every query word and the query's vector.
    pub(super) fn best(&self) -> f32 {
        self.text_weight() * self.best_text + self.semantic_weight()
    }

    /// Returns the weighted sum of the standard scores.
    pub(super) fn fused(&self, text: f32, cosine: f32) -> f32 {
        (1.0 - self.alpha) * self.text.z(text) + self.alpha * self.semantic.z(cosine)
    }

    /// Returns the share of a perfect entry's sum, not clamped. `importance` is added, in standard deviations.
    pub(super) fn share(&self, text: f32, cosine: f32, importance: f32) -> f32 {
        let best = self.best();
        let sum = self.text_weight() * text + self.semantic_weight() * cosine + importance;
        if best > 0.0 { sum / best } else { 0.0 }
    }
}

/// Returns the factor for an entry's age: `0.5 ^ (age / half_life * 2 * (1 - importance))`, exponential decay. An entry
/// of importance 1 does not age; one of importance 0 ages twice as fast as one of 0.5.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
pub(super) fn decay(age_ms: i64, half_life_ms: Option<i64>, importance: f32) -> f32 {
    let Some(half_life) = half_life_ms.filter(|half_life| *half_life > 0) else { return 1.0 };
    let half_lives = age_ms.max(0) as f64 / half_life as f64;
    0.5_f64.powf(half_lives * 2.0 * f64::from(1.0 - importance)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_has_the_mean_and_standard_deviation_of_the_population() {
        // Mean 5 and deviation 2: the example of the article "Standard deviation" of the English Wikipedia.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(Scale::of(values.into_iter(), 1.0), Scale { mean: 5.0, deviation: 2.0 });
        assert_eq!(Scale::of([3.0].into_iter(), 10.0).deviation, 0.1, "a hundredth of the maximum");
    }

    #[test]
    fn shares_order_candidates_as_standard_scores_do() {
        let fusion = Fusion {
            alpha: 0.4,
            text: Scale { mean: 5.0, deviation: 2.0 },
            semantic: Scale { mean: 0.3, deviation: 0.1 },
            best_text: 20.0,
        };
        let candidates = [(9.0, 0.2), (4.0, 0.5), (4.0, 0.1), (0.0, 0.6), (12.0, 0.0)];
        for a in candidates {
            for b in candidates {
                let fused = fusion.fused(a.0, a.1).total_cmp(&fusion.fused(b.0, b.1));
                assert_eq!(fusion.share(a.0, a.1, 0.0).total_cmp(&fusion.share(b.0, b.1, 0.0)), fused, "{a:?} {b:?}");
            }
        }
        assert!((fusion.share(20.0, 1.0, 0.0) - 1.0).abs() < 1e-6, "the perfect entry");
        assert_eq!(fusion.share(0.0, 0.0, 0.0), 0.0);
    }

    #[test]
    fn sides_without_deviation_contribute_nothing() {
        let none = Scale { mean: 0.0, deviation: 0.0 };
        let fusion = Fusion { alpha: 0.4, text: none, semantic: none, best_text: 0.0 };
        assert_eq!((fusion.share(0.0, 0.0, 0.0), fusion.fused(0.0, 0.0)), (0.0, 0.0));
    }

    #[test]
    fn decay_depends_on_importance() {
        assert_eq!(decay(1_000, None, 0.5), 1.0);
        assert_eq!(decay(1_000, Some(0), 0.5), 1.0, "no half-life");
        assert_eq!(decay(1_000, Some(1_000), 0.5), 0.5);
        assert_eq!(decay(3_000, Some(1_000), 0.5), 0.125);
        assert_eq!(decay(1_000, Some(1_000), 0.0), 0.25);
        assert_eq!(decay(i64::MAX, Some(1), 1.0), 1.0, "the most important does not age");
        assert_eq!(decay(-5, Some(1_000), 0.5), 1.0, "stored in the future");
    }
}
