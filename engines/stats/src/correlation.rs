//! q86: correlation matrix.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::ranks::{Ranks, inversions};
use muster_kernel_numeric::{dist, summary};

use crate::support::{benjamini_hochberg, check_series, holm, order, value_at};

const MAX_VALUES: usize = 100_000;
const MAX_COLUMNS: usize = 100;
/// Most values times pairs of columns.
const MAX_WORK: usize = 20_000_000;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    columns: BTreeMap<String, Vec<f64>>,
    method: Method,
    adjust: Adjust,
}

/// Kinds of correlation.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum Method {
    /// Product moment.
    Pearson,
    /// Of ranks.
    Spearman,
    /// Tau-b.
    Kendall,
}

/// Adjustments of p-values.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum Adjust {
    /// None.
    None,
    /// Holm.
    Holm,
    /// Benjamini and Hochberg.
    Bh,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    pairs: Vec<Pair>,
    matrix: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Correlation of two columns.
#[derive(Output)]
struct Pair {
    a: String,
    b: String,
    r: f64,
    p: f64,
    n: i64,
    p_adjusted: f64,
}

/// Correlates every pair of columns.
///
/// # Errors
/// `Invalid` (columns of different lengths), `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let columns = &input.columns;
    let n = columns.values().next().map_or(0, Vec::len);
    if columns.len() < 2 {
        return Err(Failure::invalid(&["columns"], "at least two columns are needed"));
    }
    let pairs = columns.len() * (columns.len() - 1) / 2;
    if columns.len() > MAX_COLUMNS || n * pairs > MAX_WORK {
        let limit = format!("columns: at most {MAX_COLUMNS}, and {MAX_WORK} values times pairs of columns");
        return Err(Failure::too_large(limit));
    }
    for (name, values) in columns {
        check_series(values, name, 3, MAX_VALUES)?;
        if values.len() != n {
            let problem = format!("{name} has {} values, the first column {n}: they must be as many", values.len());
            return Err(Failure::invalid(&["columns", name], problem));
        }
    }
    let prepared: Vec<(&String, Vec<f64>)> = columns
        .iter()
        .map(|(name, values)| match input.method {
            Method::Spearman => (name, Ranks::of(values).ranks),
            _ => (name, values.clone()),
        })
        .collect();
    let mut matrix: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, (a, x)) in prepared.iter().enumerate() {
        matrix.entry((*a).clone()).or_default().insert((*a).clone(), 1.0);
        for (b, y) in prepared.iter().skip(at + 1) {
            let result = match input.method {
                Method::Kendall => kendall(x, y),
                _ => summary::correlation(x, y).map(|r| (r, pearson_p(r, n as f64))),
            };
            let Some((r, p)) = result else {
                cx.warn(format!("undefined: {a} or {b} does not vary, so their correlation is left out"));
                continue;
            };
            matrix.entry((*a).clone()).or_default().insert((*b).clone(), r);
            matrix.entry((*b).clone()).or_default().insert((*a).clone(), r);
            found.push(Pair { a: (*a).clone(), b: (*b).clone(), r, p, n: n as i64, p_adjusted: p });
        }
    }
    let p: Vec<f64> = found.iter().map(|pair| pair.p).collect();
    let adjusted = match input.adjust {
        Adjust::None => p,
        Adjust::Holm => holm(&p),
        Adjust::Bh => benjamini_hochberg(&p),
    };
    found.iter_mut().zip(adjusted).for_each(|(pair, p)| pair.p_adjusted = p);
    Ok(Output { pairs: found, matrix })
}

fn pearson_p(r: f64, n: f64) -> f64 {
    let rest = (1.0 - r) * (1.0 + r);
    if rest <= 0.0 { 0.0 } else { dist::t_p(r * ((n - 2.0) / rest).sqrt(), n - 2.0) }
}

/// Tau-b by sorting (Knight 1966) and the p-value of the normal approximation with ties.
fn kendall(x: &[f64], y: &[f64]) -> Option<(f64, f64)> {
    let n = x.len() as f64;
    // 0 and −0 are equal and must be neighbours.
    let mut pairs: Vec<(f64, f64)> = x.iter().zip(y).map(|(x, y)| (x + 0.0, y + 0.0)).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let joint: f64 = pairs.chunk_by(|a, b| a == b).map(|g| two(g.len())).sum();
    let discordant = inversions(&mut pairs.iter().map(|(_, y)| *y).collect()) as f64;
    let (tx, ty) = (Ties::of(x), Ties::of(y));
    let all = n * (n - 1.0) / 2.0;
    let concordant_minus = all - tx.pairs - ty.pairs + joint - 2.0 * discordant;
    if all - tx.pairs <= 0.0 || all - ty.pairs <= 0.0 {
        return None;
    }
    let tau = (concordant_minus / (all - tx.pairs).sqrt() / (all - ty.pairs).sqrt()).clamp(-1.0, 1.0);
    let m = n * (n - 1.0);
    let variance = (m * (2.0 * n + 5.0) - tx.fives - ty.fives) / 18.0
        + 2.0 * tx.pairs * ty.pairs / m
        + tx.triples * ty.triples / (9.0 * m * (n - 2.0));
    Some((tau, dist::normal_p(concordant_minus / variance.sqrt())))
}

fn two(t: usize) -> f64 {
    t as f64 * (t as f64 - 1.0) / 2.0
}

/// Sums over the groups of equal values that the variance of Kendall's statistic needs.
struct Ties {
    pairs: f64,
    triples: f64,
    fives: f64,
}

impl Ties {
    fn of(values: &[f64]) -> Self {
        let sorted: Vec<f64> = order(values).into_iter().map(|at| value_at(values, at)).collect();
        let mut ties = Self { pairs: 0.0, triples: 0.0, fives: 0.0 };
        for group in sorted.chunk_by(|a, b| a == b) {
            let t = group.len() as f64;
            ties.pairs += two(group.len());
            ties.triples += t * (t - 1.0) * (t - 2.0);
            ties.fives += t * (t - 1.0) * (2.0 * t + 5.0);
        }
        ties
    }
}
