use super::InvalidVector;

/// A unit vector as 16-bit codes: `code * step`, with its own step.
///
/// The codes are as fine as two bounds allow: a high half within ±127, and a norm for which no product of two vectors,
/// taken half by half, can overflow 32 bits in any order of summation (Cauchy-Schwarz: |Σ a b| ≤ |a| |b|, also for
/// partial sums).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantized {
    pub codes: Vec<i16>,
    pub step: f32,
}

impl Quantized {
    /// Quantizes a vector.
    ///
    /// # Errors
    /// A length other than `dimensions`, or no direction.
    pub fn new(vector: &[f32], dimensions: usize) -> Result<Self, InvalidVector> {
        if vector.len() != dimensions {
            return Err(InvalidVector::Length { expected: dimensions, actual: vector.len() });
        }
        let norm = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        let largest = vector.iter().map(|x| f64::from(x.abs())).fold(0.0, f64::max);
        if !(norm.is_finite() && norm > 0.0) {
            return Err(InvalidVector::NoDirection);
        }
        let finest = f64::from(1_u32 << 30) / (128.0 * (dimensions as f64).sqrt());
        let scale = (127.0 * 256.0 * norm / largest).min(finest);
        let codes = vector.iter().map(|x| (f64::from(*x) / norm * scale).round() as i16).collect();
        Ok(Self { codes, step: (1.0 / scale) as f32 })
    }

    /// Upper and lower half of each code: `code = 256 high + low`.
    pub fn halves(&self) -> (Vec<i8>, Vec<i8>) {
        self.codes
            .iter()
            .map(|code| {
                let high = (code + 128) >> 8;
                (high as i8, (code - (high << 8)) as i8)
            })
            .unzip()
    }

    /// Joins the halves.
    pub fn join(high: &[i8], low: &[i8], step: f32) -> Self {
        let codes = high.iter().zip(low).map(|(high, low)| (i16::from(*high) << 8).wrapping_add(i16::from(*low)));
        Self { codes: codes.collect(), step }
    }

    /// Norm of the codes, 1 up to rounding.
    pub fn norm(&self) -> f32 {
        self.step * length(self.codes.iter().map(|code| f64::from(*code)))
    }
}

/// Norm of the low half, which bounds the error of a product computed with the high half only.
pub(super) fn slack(low: &[i8], step: f32) -> f32 {
    step * length(low.iter().map(|low| f64::from(*low))) * (1.0 + 1e-5)
}

fn length(numbers: impl Iterator<Item = f64>) -> f32 {
    numbers.map(|x| x * x).sum::<f64>().sqrt() as f32
}
