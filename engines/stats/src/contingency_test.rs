//! q85: contingency table.

use muster_engine::prelude::*;
use muster_kernel_numeric::dist;

const MAX_CELLS: usize = 10_000;
const MAX_COUNT: i64 = 1_000_000_000_000;
/// Largest total of which Fisher's test sums the probabilities.
const MAX_FISHER: i64 = 2_000_000;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    table: Vec<Vec<i64>>,
    confidence: f64,
    yates: bool,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    chi_square: f64,
    df: i64,
    p_value: f64,
    fisher_p: Option<f64>,
    odds_ratio: Option<Ratio>,
    relative_risk: Option<Ratio>,
    cramers_v: f64,
    expected: Vec<Vec<f64>>,
}

/// A ratio with its interval.
#[derive(Output)]
struct Ratio {
    value: f64,
    low: f64,
    high: f64,
}

/// Tests the independence of rows and columns.
///
/// # Errors
/// `Invalid` (ragged or negative), `TooLarge`, `NoAnswer` (an empty row or column).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let table = &input.table;
    let width = table.first().map_or(0, Vec::len);
    if table.len() < 2 || width < 2 || table.iter().any(|row| row.len() != width) {
        return Err(Failure::invalid(&["table"], "at least two rows of two counts, all rows of one width"));
    }
    if table.len() * width > MAX_CELLS {
        return Err(Failure::too_large(format!("table: at most {MAX_CELLS} counts")));
    }
    if table.iter().flatten().any(|c| !(0..=MAX_COUNT).contains(c)) {
        return Err(Failure::invalid(&["table"], "counts are whole numbers from 0 to 1e12"));
    }
    let rows: Vec<f64> = table.iter().map(|row| row.iter().map(|c| *c as f64).sum()).collect();
    let columns: Vec<f64> =
        (0..width).map(|j| table.iter().filter_map(|row| row.get(j)).map(|c| *c as f64).sum()).collect();
    if rows.iter().chain(&columns).any(|sum| *sum == 0.0) {
        return Err(Failure::no_answer(NoAnswer::Singular, "a row or column has no counts: leave it out"));
    }
    let total: f64 = rows.iter().sum();
    let expected: Vec<Vec<f64>> = rows.iter().map(|r| columns.iter().map(|c| r * c / total).collect()).collect();
    if expected.iter().flatten().any(|e| *e < 5.0) {
        cx.warn("small_expected: an expected count is below 5, the chi-square p-value is approximate");
    }
    let df = (table.len() - 1) * (width - 1);
    let statistic = |correct: bool| -> f64 {
        let cells = table.iter().flatten().zip(expected.iter().flatten());
        cells
            .map(|(o, e)| {
                let gap = (*o as f64 - e).abs();
                let gap = if correct { gap - gap.min(0.5) } else { gap };
                gap * gap / e
            })
            .sum()
    };
    let chi_square = statistic(input.yates && df == 1);
    let least = (table.len().min(width) - 1) as f64;
    let (mut fisher_p, mut odds_ratio, mut relative_risk) = (None, None, None);
    if let [first, second] = table.as_slice()
        && let ([a, b], [c, d]) = (first.as_slice(), second.as_slice())
    {
        if total as i64 <= MAX_FISHER {
            fisher_p = Some(fisher(*a, *b, *c, *d));
        } else {
            cx.warn(format!("no fisher_p: the total is above {MAX_FISHER}"));
        }
        let half = if [a, b, c, d].iter().any(|x| **x == 0) { 0.5 } else { 0.0 };
        if half > 0.0 {
            cx.warn("zero_count: 0.5 was added to each count for odds_ratio and relative_risk");
        }
        let [a, b, c, d] = [a, b, c, d].map(|x| *x as f64 + half);
        let z = dist::normal_quantile(0.5 + input.confidence / 2.0);
        odds_ratio = Some(ratio((a * d / (b * c)).ln(), (1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d).sqrt() * z));
        let se = (1.0 / a - 1.0 / (a + b) + 1.0 / c - 1.0 / (c + d)).sqrt();
        relative_risk = Some(ratio((a / (a + b) / (c / (c + d))).ln(), se * z));
    }
    Ok(Output {
        chi_square,
        df: df as i64,
        p_value: dist::chi2_sf(chi_square, df as f64),
        fisher_p,
        odds_ratio,
        relative_risk,
        cramers_v: (statistic(false) / (total * least)).sqrt().min(1.0),
        expected,
    })
}

fn ratio(log: f64, half: f64) -> Ratio {
    let number = |x: f64| x.exp().min(f64::MAX);
    Ratio { value: number(log), low: number(log - half), high: number(log + half) }
}

/// The two-sided exact test: the probability of tables that are not likelier than the observed one, with the margins
/// kept. Probabilities are relative to the likeliest table and follow from each other, so they do not cancel.
fn fisher(a: i64, b: i64, c: i64, d: i64) -> f64 {
    let (row, column, total) = ((a + b) as f64, (a + c) as f64, (a + b + c + d) as f64);
    let low = (row + column - total).max(0.0) as i64;
    let high = row.min(column) as i64;
    let mode = (((row + 1.0) * (column + 1.0) / (total + 2.0)).floor() as i64).clamp(low, high);
    let up = |k: f64| (row - k) * (column - k) / ((k + 1.0) * (total - row - column + k + 1.0));
    let mut weights = vec![(mode, 1.0)];
    let mut weight = 1.0;
    for k in mode..high {
        weight *= up(k as f64);
        weights.push((k + 1, weight));
    }
    weight = 1.0;
    for k in (low..mode).rev() {
        weight /= up(k as f64);
        weights.push((k, weight));
    }
    let observed = weights.iter().find(|(k, _)| *k == a).map_or(0.0, |(_, w)| *w) * (1.0 + 1e-7);
    let all: f64 = weights.iter().map(|(_, w)| w).sum();
    let tail: f64 = weights.iter().filter(|(_, w)| *w <= observed).map(|(_, w)| w).sum();
    (tail / all).min(1.0)
}
