//! Sample L-moments (Hosking 1990) by unbiased probability-weighted moments.

/// The first four L-moments and their ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LMoments {
    /// Mean.
    pub l1: f64,
    /// L-scale.
    pub l2: f64,
    /// L-skewness, l3/l2.
    pub t3: f64,
    /// L-kurtosis, l4/l2.
    pub t4: f64,
}

/// Returns the sample L-moments; `None` for fewer than four values or no spread.
pub fn l_moments(values: &[f64]) -> Option<LMoments> {
    let n = values.len();
    if n < 4 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = n as f64;
    let (mut b0, mut b1, mut b2, mut b3) = (0.0, 0.0, 0.0, 0.0);
    for (at, x) in sorted.iter().enumerate() {
        let j = at as f64;
        let w1 = j / (n - 1.0);
        let w2 = w1 * (j - 1.0) / (n - 2.0);
        let w3 = w2 * (j - 2.0) / (n - 3.0);
        b0 += x;
        b1 += w1 * x;
        b2 += w2 * x;
        b3 += w3 * x;
    }
    let (b0, b1, b2, b3) = (b0 / n, b1 / n, b2 / n, b3 / n);
    let l2 = 2.0 * b1 - b0;
    let l3 = 6.0 * b2 - 6.0 * b1 + b0;
    let l4 = 20.0 * b3 - 30.0 * b2 + 12.0 * b1 - b0;
    (l2 > 0.0).then(|| LMoments { l1: b0, l2, t3: l3 / l2, t4: l4 / l2 })
}
