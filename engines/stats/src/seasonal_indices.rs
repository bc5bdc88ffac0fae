//! Seasonal indices by classical decomposition (q93).

use muster_kernel_numeric::summary;

/// Returns one index for each season, from the first value on: means of what the centred moving average leaves, with
/// mean 0, or 1 for factors.
pub(crate) fn indices(values: &[f64], period: usize, factors: bool) -> Vec<f64> {
    let n = values.len();
    let mut seen: Vec<Vec<f64>> = vec![Vec::new(); period];
    let half = period / 2;
    let even = period.is_multiple_of(2);
    for at in half..n.saturating_sub(half) {
        let Some(window) = values.get(at - half..=at + half) else { continue };
        let mut total = summary::sum(window.iter().copied());
        if even {
            // The ends count half.
            total -= 0.5 * (window.first().unwrap_or(&0.0) + window.last().unwrap_or(&0.0));
        }
        let (average, value) = (total / period as f64, values.get(at).copied().unwrap_or(0.0));
        let rest = if factors { value / average } else { value - average };
        if let Some(list) = seen.get_mut(at % period) {
            list.push(rest);
        }
    }
    let means: Vec<f64> = seen.iter().map(|list| summary::mean(list)).collect();
    let centre = summary::mean(&means);
    means.into_iter().map(|m| if factors { m / centre } else { m - centre }).collect()
}

/// Takes the season off; an empty list leaves the values.
pub(crate) fn without_season(values: &[f64], indices: &[f64], factors: bool) -> Vec<f64> {
    if indices.is_empty() {
        return values.to_vec();
    }
    let season = indices.iter().cycle();
    values.iter().zip(season).map(|(x, s)| if factors { x / s } else { x - s }).collect()
}
