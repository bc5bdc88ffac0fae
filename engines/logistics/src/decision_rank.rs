//! q82: multi-criteria ranking.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::bounds::{at_most, distinct};

const MAX_OPTIONS: usize = 500;
const MAX_CRITERIA: usize = 15;
const MAX_ITERATIONS: usize = 1_000;
/// Saaty's mean consistency index of random matrices, by size from 1.
const RANDOM_INDEX: [f64; 15] =
    [0.0, 0.0, 0.58, 0.90, 1.12, 1.24, 1.32, 1.41, 1.45, 1.49, 1.51, 1.48, 1.56, 1.57, 1.59];
/// Steps of the search for the weight at which the first option changes.
const STEPS: usize = 1_000;

/// An option with its value for each criterion.
#[derive(Input)]
pub struct OptionInput {
    id: String,
    values: BTreeMap<String, f64>,
}

/// A criterion; `benefit` says that more is better.
#[derive(Input)]
pub struct Criterion {
    id: String,
    weight: Option<f64>,
    benefit: bool,
}

/// A method.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
#[wire(case = "kebab")]
pub enum Method {
    /// Closeness to the ideal.
    Topsis,
    /// Sum of values scaled from the worst to the best.
    WeightedSum,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    options: Vec<OptionInput>,
    criteria: Vec<Criterion>,
    pairwise: Option<Vec<Vec<f64>>>,
    method: Method,
}

/// An option in the ranking.
#[derive(Output)]
pub struct Ranked {
    id: String,
    score: f64,
    rank: usize,
}

/// Weight of a criterion, the others in proportion, nearest to its own at which another option is first.
#[derive(Output)]
pub struct Stability {
    criterion: String,
    flip_at: f64,
}

/// Output of the engine. The consistency ratio is absent without pairwise comparisons; `rank_stability` lists criteria
/// whose weight can change the first option.
#[derive(Output)]
pub struct Output {
    ranking: Vec<Ranked>,
    weights: BTreeMap<String, f64>,
    consistency_ratio: Option<f64>,
    rank_stability: Vec<Stability>,
}

/// Ranks options. Weights are those of the pairwise comparisons if given, else those of the criteria, else equal.
///
/// # Errors
/// No option or criterion, a missing value, weights that are negative or all 0, a matrix that is not reciprocal.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let table = table(&input)?;
    let (weights, consistency) = match &input.pairwise {
        Some(matrix) => {
            let (weights, ratio) = compared(matrix, input.criteria.len())?;
            if ratio > 0.1 {
                cx.warn(format!("inconsistent: the consistency ratio {ratio:.3} is above 0.1; the comparisons contradict one another"));
            }
            (weights, Some(ratio))
        }
        None => (given(&input.criteria)?, None),
    };
    let benefits: Vec<bool> = input.criteria.iter().map(|criterion| criterion.benefit).collect();
    let scores = |weights: &[f64]| match input.method {
        Method::Topsis => topsis(&table, weights, &benefits),
        Method::WeightedSum => weighted_sum(&table, weights, &benefits),
    };
    let found = scores(&weights);
    let mut order: Vec<usize> = (0..found.len()).collect();
    let score = |option: usize| found.get(option).copied().unwrap_or(0.0);
    order.sort_by(|one, other| score(*other).total_cmp(&score(*one)));
    let name = |option: usize| input.options.get(option).map(|option| option.id.clone()).unwrap_or_default();
    let first = order.first().copied();
    let stability = input.criteria.iter().enumerate().filter_map(|(index, criterion)| {
        let flip_at = flip(&weights, index, first, &scores)?;
        Some(Stability { criterion: criterion.id.clone(), flip_at })
    });
    Ok(Output {
        rank_stability: stability.collect(),
        ranking: (1..)
            .zip(&order)
            .map(|(rank, option)| Ranked { id: name(*option), score: score(*option), rank })
            .collect(),
        weights: input.criteria.iter().map(|criterion| criterion.id.clone()).zip(weights.iter().copied()).collect(),
        consistency_ratio: consistency,
    })
}

/// Values by option and criterion.
fn table(input: &Input) -> Result<Vec<Vec<f64>>, Failure> {
    at_most(input.options.len(), MAX_OPTIONS, "options")?;
    at_most(input.criteria.len(), MAX_CRITERIA, "criteria")?;
    distinct("options", input.options.iter().map(|option| option.id.as_str()))?;
    distinct("criteria", input.criteria.iter().map(|criterion| criterion.id.as_str()))?;
    for (field, empty) in [("options", input.options.is_empty()), ("criteria", input.criteria.is_empty())] {
        if empty {
            return Err(Failure::invalid(&[field], "is empty: one at least is needed"));
        }
    }
    let row = |(index, option): (usize, &OptionInput)| {
        let value = |criterion: &Criterion| {
            let loc = ["options", &index.to_string(), "values"];
            option
                .values
                .get(&criterion.id)
                .copied()
                .ok_or_else(|| Failure::invalid(&loc, format!("has no value for {}", criterion.id)))
        };
        input.criteria.iter().map(value).collect::<Result<Vec<f64>, Failure>>()
    };
    input.options.iter().enumerate().map(row).collect()
}

fn given(criteria: &[Criterion]) -> Result<Vec<f64>, Failure> {
    let weights: Vec<f64> = criteria.iter().map(|criterion| criterion.weight.unwrap_or(1.0)).collect();
    if let Some(index) = weights.iter().position(|weight| *weight < 0.0) {
        return Err(Failure::invalid(&["criteria", &index.to_string(), "weight"], "must not be negative"));
    }
    let total: f64 = weights.iter().sum();
    if total <= 0.0 || !total.is_finite() {
        return Err(Failure::invalid(&["criteria"], "have no weight above 0, or weights that are too large"));
    }
    Ok(weights.into_iter().map(|weight| weight / total).collect())
}

/// Principal eigenvector of pairwise comparisons by power iteration, and the consistency ratio.
fn compared(matrix: &[Vec<f64>], count: usize) -> Result<(Vec<f64>, f64), Failure> {
    if matrix.len() != count || matrix.iter().any(|row| row.len() != count) {
        return Err(Failure::invalid(
            &["pairwise"],
            format!("must have {count} rows and columns, one for each criterion"),
        ));
    }
    for (row, entries) in matrix.iter().enumerate() {
        for (column, entry) in entries.iter().enumerate() {
            let other = matrix.get(column).and_then(|entries| entries.get(row)).copied().unwrap_or(0.0);
            let loc = ["pairwise", &row.to_string(), &column.to_string()];
            // Saaty's scale ends at 9.
            if !(0.1..=10.0).contains(entry) || (entry * other - 1.0).abs() > 0.05 {
                return Err(Failure::invalid(
                    &loc,
                    "must be between 1/9 and 9, and the entry across the diagonal its inverse",
                ));
            }
        }
    }
    let times = |weights: &[f64]| -> Vec<f64> {
        matrix.iter().map(|row| row.iter().zip(weights).map(|(entry, weight)| entry * weight).sum()).collect()
    };
    let mut weights = vec![1.0 / count as f64; count];
    let mut eigenvalue = count as f64;
    for _ in 0..MAX_ITERATIONS {
        let next = times(&weights);
        eigenvalue = next.iter().sum();
        let next: Vec<f64> = next.into_iter().map(|weight| weight / eigenvalue).collect();
        let change: f64 = next.iter().zip(&weights).map(|(new, old)| (new - old).abs()).sum();
        weights = next;
        if change < 1e-15 {
            break;
        }
    }
    let n = count as f64;
    let random = count.checked_sub(1).and_then(|index| RANDOM_INDEX.get(index)).copied().unwrap_or(0.0);
    let index = if count > 1 { (eigenvalue - n) / (n - 1.0) } else { 0.0 };
    let ratio = if random > 0.0 { (index / random).max(0.0) } else { 0.0 };
    Ok((weights, ratio))
}

fn column(table: &[Vec<f64>], index: usize) -> Vec<f64> {
    table.iter().map(|row| row.get(index).copied().unwrap_or(0.0)).collect()
}

/// Closeness to the ideal after scaling each criterion to unit length (Hwang and Yoon 1981).
fn topsis(table: &[Vec<f64>], weights: &[f64], benefits: &[bool]) -> Vec<f64> {
    let mut to_best = vec![0.0_f64; table.len()];
    let mut to_worst = vec![0.0_f64; table.len()];
    for (index, (weight, benefit)) in weights.iter().zip(benefits).enumerate() {
        let values = column(table, index);
        let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let length = if largest > 0.0 {
            largest * values.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt()
        } else {
            1.0
        };
        let scaled: Vec<f64> = values.iter().map(|value| weight * value / length).collect();
        let low = scaled.iter().copied().fold(f64::INFINITY, f64::min);
        let high = scaled.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (best, worst) = if *benefit { (high, low) } else { (low, high) };
        for ((value, up), down) in scaled.iter().zip(&mut to_best).zip(&mut to_worst) {
            *up += (value - best).powi(2);
            *down += (value - worst).powi(2);
        }
    }
    let closeness = |(up, down): (&f64, &f64)| {
        let (up, down) = (up.sqrt(), down.sqrt());
        // Options that are all alike are all ideal.
        if up + down > 0.0 { down / (up + down) } else { 1.0 }
    };
    to_best.iter().zip(&to_worst).map(closeness).collect()
}

fn weighted_sum(table: &[Vec<f64>], weights: &[f64], benefits: &[bool]) -> Vec<f64> {
    let mut scores = vec![0.0; table.len()];
    for (index, (weight, benefit)) in weights.iter().zip(benefits).enumerate() {
        let values = column(table, index);
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (value, score) in values.iter().zip(&mut scores) {
            // Halved, as the difference itself may be too large.
            let share = if high > low { (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) } else { 1.0 };
            *score += weight * if *benefit || high <= low { share } else { 1.0 - share };
        }
    }
    scores
}

/// Weight nearest to a criterion's own at which another option is first; `None` if there is none.
fn flip(weights: &[f64], index: usize, first: Option<usize>, scores: &impl Fn(&[f64]) -> Vec<f64>) -> Option<f64> {
    let own = weights.get(index).copied()?;
    let others = 1.0 - own;
    let count = weights.len() as f64 - 1.0;
    let changed = |weight: f64| {
        let moved: Vec<f64> = weights
            .iter()
            .enumerate()
            .map(|(at, other)| match at == index {
                true => weight,
                false if others > 1e-12 => other / others * (1.0 - weight),
                false => (1.0 - weight) / count,
            })
            .collect();
        let scores = scores(&moved);
        let best = scores.iter().enumerate().fold(None, |best: Option<(usize, f64)>, (option, score)| match best {
            Some((_, most)) if most >= *score - 1e-12 => best,
            _ => Some((option, *score)),
        });
        let kept = first.and_then(|first| scores.get(first)).copied().unwrap_or(0.0);
        best.is_some_and(|(_, most)| most > kept + 1e-9)
    };
    if count < 1.0 {
        return None;
    }
    let steps = (1..=STEPS).map(|step| step as f64 / STEPS as f64);
    let candidates = steps.flat_map(|step| [own + step, own - step]).filter(|weight| (0.0..=1.0).contains(weight));
    let mut far = candidates.into_iter().find(|weight| changed(*weight))?;
    let mut near = own;
    // Between the last weight that keeps the first option and the one that does not.
    for _ in 0..60 {
        let middle = f64::midpoint(near, far);
        if changed(middle) { far = middle } else { near = middle }
    }
    Some(far)
}
