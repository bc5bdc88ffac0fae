//! Summaries of a sample: compensated sums, moments, quantiles.

/// Sums with Neumaier's compensation.
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0);
    for x in values {
        let next = total + x;
        lost += if total.abs() >= x.abs() { (total - next) + x } else { (x - next) + total };
        total = next;
    }
    total + lost
}

/// Returns the mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let n = values.len() as f64;
    let first = sum(values.iter().copied()) / n;
    // The second pass takes off what rounding left.
    first + sum(values.iter().map(|x| x - first)) / n
}

/// Returns the sum of squared deviations from the mean, with the second pass's correction.
pub fn squares(values: &[f64]) -> f64 {
    let m = mean(values);
    let rest = sum(values.iter().map(|x| x - m));
    (sum(values.iter().map(|x| (x - m) * (x - m))) - rest * rest / (values.len().max(1)) as f64).max(0.0)
}

/// Returns the sample variance (divisor n − 1); 0 for fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 { 0.0 } else { squares(values) / (values.len() - 1) as f64 }
}

/// Returns the sample standard deviation.
pub fn sd(values: &[f64]) -> f64 {
    variance(values).sqrt()
}

/// Returns the values in order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut out = values.to_vec();
    out.sort_by(f64::total_cmp);
    out
}

/// Returns a quantile of sorted values: Hyndman and Fan's type 7, the one of numpy and R. Not a number for nothing.
pub fn quantile_sorted(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = p.clamp(0.0, 1.0) * last as f64;
    let low = place.floor() as usize;
    let at = |i: usize| sorted.get(i.min(last)).copied().unwrap_or(f64::NAN);
    let (a, b) = (at(low), at(low + 1));
    // Equal neighbours stay what they are.
    if a == b { a } else { a + (place - low as f64) * (b - a) }
}

/// Returns the median; not a number for nothing.
pub fn median(values: &[f64]) -> f64 {
    median_sorted(&sorted(values))
}

/// Returns the median of sorted values.
pub fn median_sorted(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
    match n {
        0 => f64::NAN,
        n if n % 2 == 1 => at(n / 2),
        n => 0.5 * (at(n / 2 - 1) + at(n / 2)),
    }
}

/// Returns the median absolute deviation from the median, not scaled.
pub fn mad(values: &[f64]) -> f64 {
    let centre = median(values);
    median(&values.iter().map(|x| (x - centre).abs()).collect::<Vec<_>>())
}

/// Returns Pearson's correlation of pairs; `None` if one side does not vary.
pub fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (ma, mb) = (mean(a), mean(b));
    let cross = sum(a.iter().zip(b).map(|(x, y)| (x - ma) * (y - mb)));
    let (sa, sb) = (squares(a), squares(b));
    // Deviations that are rounding errors only are none.
    let varies = |s: f64, m: f64, n: usize| s > (n as f64) * (m * f64::EPSILON).powi(2);
    (varies(sa, ma, a.len()) && varies(sb, mb, b.len())).then(|| (cross / (sa.sqrt() * sb.sqrt())).clamp(-1.0, 1.0))
}
