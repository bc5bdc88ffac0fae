//! Element-wise and row-wise operations of an encoder.

use ndarray::{Array1, Array2, ArrayViewMut1};

/// Error function by the rational approximation of Eigen and XLA (`ErfImpl32`, clamped to ±4): error below 1e-6,
/// without branches, so that the compiler can vectorise it.
fn erf(x: f32) -> f32 {
    const ABOVE: [f32; 7] = [
        -2.726_142_3e-10,
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_5e-5,
        -7.349_906_3e-4,
        -2.954_6e-3,
        -1.609_603_3e-2,
    ];
    const BELOW: [f32; 5] = [-1.456_607_2e-5, -2.133_740_6e-4, -1.682_827e-3, -7.373_329_3e-3, -1.426_473_9e-2];
    let x = x.clamp(-4.0, 4.0);
    let square = x * x;
    let horner = |coefficients: &[f32]| coefficients.iter().fold(0.0, |sum, c| sum * square + c);
    x * horner(&ABOVE) / horner(&BELOW)
}

/// The exact form, not the tanh approximation: BERT's `hidden_act = "gelu"`.
pub(super) fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// Turns each row into a probability distribution.
pub(super) fn softmax(scores: &mut Array2<f32>) {
    for mut row in scores.rows_mut() {
        let most = row.fold(f32::NEG_INFINITY, |most, score| most.max(*score));
        row.mapv_inplace(|score| (score - most).exp());
        let sum = row.sum();
        row /= sum;
    }
}

/// Scales to length 1; a zero vector stays as it is.
pub(super) fn normalise(mut vector: ArrayViewMut1<'_, f32>) {
    let length = vector.dot(&vector).sqrt();
    if length > 0.0 {
        vector /= length;
    }
}

/// Layer normalisation: each row is brought to mean 0 and variance 1, then scaled and shifted.
#[derive(Debug)]
pub(super) struct LayerNorm {
    pub(super) scale: Array1<f32>,
    pub(super) shift: Array1<f32>,
}

impl LayerNorm {
    /// BERT's `layer_norm_eps`.
    const EPSILON: f32 = 1e-12;

    pub(super) fn apply(&self, rows: &mut Array2<f32>) {
        for mut row in rows.rows_mut() {
            let mean = row.mean().unwrap_or_default();
            row -= mean;
            let variance = row.dot(&row) / row.len() as f32;
            row /= (variance + Self::EPSILON).sqrt();
            row *= &self.scale;
            row += &self.shift;
        }
    }
}

/// `x · weight + bias`.
#[derive(Debug)]
pub(super) struct Linear {
    /// One row per input.
    pub(super) weight: Array2<f32>,
    pub(super) bias: Array1<f32>,
}

impl Linear {
    pub(super) fn apply(&self, x: &Array2<f32>) -> Array2<f32> {
        let mut y = x.dot(&self.weight);
        y += &self.bias;
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Abramowitz and Stegun, Handbook of Mathematical Functions, table 7.1.
    #[test]
    fn erf_matches_the_published_table() {
        let table = [
            (0.0, 0.0),
            (0.1, 0.112_462_916),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (1.5, 0.966_105_15),
            (2.0, 0.995_322_3),
        ];
        for (x, expected) in table {
            assert!((erf(x) - expected).abs() < 1e-6, "{x}: {}", erf(x));
            assert!((erf(-x) + expected).abs() < 1e-6, "-{x}: {}", erf(-x));
        }
        assert!((erf(9.0) - 1.0).abs() < 1e-6);
        // By definition x times the normal distribution's share below x, which is 0.841344746 at 1.
        assert!((gelu(1.0) - 0.841_344_8).abs() < 1e-6);
        assert!(gelu(-9.0).abs() < 1e-5);
    }

    #[test]
    fn softmax_and_norms_match_their_definitions() {
        let mut scores = array![[0.0, 0.0], [1000.0, 1000.0 + 3_f32.ln()]];
        softmax(&mut scores);
        let expected = array![[0.5, 0.5], [0.25, 0.75]];
        assert!((&scores - &expected).iter().all(|off| off.abs() < 1e-4), "{scores}");

        let norm = LayerNorm { scale: array![1.0, 2.0], shift: array![0.0, 10.0] };
        let mut rows = array![[3.0, 7.0]];
        norm.apply(&mut rows);
        assert_eq!(rows, array![[-1.0, 12.0]]);

        let mut vectors = array![[3.0, 4.0], [0.0, 0.0]];
        vectors.rows_mut().into_iter().for_each(normalise);
        assert_eq!(vectors, array![[0.6, 0.8], [0.0, 0.0]]);
    }
}
