/// The scale of one side over the candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub mean: f32,
    pub deviation: f32,
}

/// Deviations below this share of the best that a side can reach are not told from none: they would blow up noise.
const LEAST: f64 = 0.01;

impl Scale {
    /// Mean and deviation; `best` is the highest value there can be.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    pub(super) fn of(values: impl Iterator<Item = f32> + Clone, best: f32) -> Self {
        let count = values.clone().count().max(1) as f64;
        let mean = values.clone().map(f64::from).sum::<f64>() / count;
        let variance = values.map(|value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count;
        let deviation = variance.sqrt().max(LEAST * f64::from(best));
        Self { mean: mean as f32, deviation: deviation as f32 }
    }

    pub(super) fn z(&self, value: f32) -> f32 {
        if self.deviation > 0.0 { (value - self.mean) / self.deviation } else { 0.0 }
    }

    /// By what a value is multiplied, for a share of the whole.
    pub(super) fn weight(&self, share: f32) -> f32 {
        if self.deviation > 0.0 { share / self.deviation } else { 0.0 }
    }
}

/// Both sides on one scale. What is ranked by is a sum of values and weights that do not change between candidates, so
/// that it orders them as the sum of their z-values does, and has a meaning of its own: the share of a perfect entry's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fusion {
    pub alpha: f32,
    pub text: Scale,
    pub semantic: Scale,
    /// The highest BM25 there can be.
    pub best_text: f32,
}

impl Fusion {
    pub(super) fn text_weight(&self) -> f32 {
        self.text.weight(1.0 - self.alpha)
    }

    pub(super) fn semantic_weight(&self) -> f32 {
        self.semantic.weight(self.alpha)
    }

    /// Of an entry with every word and the query's vector.
    pub(super) fn best(&self) -> f32 {
        self.text_weight() * self.best_text + self.semantic_weight()
    }

    pub(super) fn fused(&self, text: f32, cosine: f32) -> f32 {
        (1.0 - self.alpha) * self.text.z(text) + self.alpha * self.semantic.z(cosine)
    }

    /// The share of the best, which `importance` (in deviations) moves; not yet within 0 and 1.
    pub(super) fn share(&self, text: f32, cosine: f32, importance: f32) -> f32 {
        let best = self.best();
        let sum = self.text_weight() * text + self.semantic_weight() * cosine + importance;
        if best > 0.0 { sum / best } else { 0.0 }
    }
}

/// What age leaves of a score: half for each half-life. The most important entry does not age, the least twice as fast
/// as one of middle importance.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
pub(super) fn decay(age_ms: i64, half_life_ms: Option<i64>, importance: f32) -> f32 {
    let Some(half_life) = half_life_ms.filter(|half_life| *half_life > 0) else { return 1.0 };
    let lives = age_ms.max(0) as f64 / half_life as f64;
    0.5_f64.powf(lives * 2.0 * f64::from(1.0 - importance)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_of_the_population() {
        // Mean 5 and deviation 2: the example of the English Wikipedia's "Standard deviation".
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(Scale::of(values.into_iter(), 1.0), Scale { mean: 5.0, deviation: 2.0 });
        assert_eq!(Scale::of([3.0].into_iter(), 10.0).deviation, 0.1, "a hundredth of the best");
    }

    #[test]
    fn shares_order_as_z_values_do() {
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
    fn what_no_side_tells_counts_nothing() {
        let none = Scale { mean: 0.0, deviation: 0.0 };
        let fusion = Fusion { alpha: 0.4, text: none, semantic: none, best_text: 0.0 };
        assert_eq!((fusion.share(0.0, 0.0, 0.0), fusion.fused(0.0, 0.0)), (0.0, 0.0));
    }

    #[test]
    fn age_halves_by_importance() {
        assert_eq!(decay(1_000, None, 0.5), 1.0);
        assert_eq!(decay(1_000, Some(0), 0.5), 1.0, "no half-life");
        assert_eq!(decay(1_000, Some(1_000), 0.5), 0.5);
        assert_eq!(decay(3_000, Some(1_000), 0.5), 0.125);
        assert_eq!(decay(1_000, Some(1_000), 0.0), 0.25);
        assert_eq!(decay(i64::MAX, Some(1), 1.0), 1.0, "the most important does not age");
        assert_eq!(decay(-5, Some(1_000), 0.5), 1.0, "stored in the future");
    }
}
