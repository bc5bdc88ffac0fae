//! q102: principal components.

#![allow(clippy::indexing_slicing, reason = "elements of matrices, by loops over their own dimensions")]

use muster_engine::prelude::*;
use muster_kernel_numeric::{dist, table};

use crate::support::check_series;

const MAX_ROWS: usize = 5_000;
const MAX_COLUMNS: usize = 100;
const MAX_CELLS: usize = 200_000;
/// Level of the limit of T².
const LEVEL: f64 = 0.99;
/// A component with this share of the largest singular value or less is none.
const NOTHING: f64 = 1e-10;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    rows: Vec<Vec<f64>>,
    standardise: bool,
    components: Option<i64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    explained: Vec<f64>,
    loadings: Vec<Vec<f64>>,
    scores: Vec<Vec<f64>>,
    t2: Vec<f64>,
    outliers: Vec<i64>,
}

/// Reduces the columns.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let n = input.rows.len();
    let width = input.rows.first().map_or(0, Vec::len);
    if n > MAX_ROWS || width > MAX_COLUMNS || n * width > MAX_CELLS {
        let limit = format!("rows: at most {MAX_ROWS} of {MAX_COLUMNS} numbers, and {MAX_CELLS} in all");
        return Err(Failure::too_large(limit));
    }
    for row in &input.rows {
        check_series(row, "rows", 0, MAX_CELLS)?;
    }
    if n < 2 {
        return Err(Failure::no_answer(NoAnswer::TooFew, "at least two rows are needed"));
    }
    let mut matrix = table::matrix(&input.rows).map_err(|error| match error {
        table::TableError::Empty => Failure::invalid(&["rows"], "a row needs at least one number"),
        table::TableError::Ragged(at) => {
            Failure::invalid(&["rows", &at.to_string()], "has another width than the first row")
        }
    })?;
    let (means, scales) = table::standardise(&mut matrix, input.standardise, 1);
    if input.standardise {
        let flat = scales.iter().zip(matrix.column_iter()).position(|(s, c)| *s == 1.0 && c.amax() == 0.0);
        if let Some(at) = flat {
            cx.warn(format!("constant: column {at} does not vary"));
        }
    }
    let decomposed = matrix.clone().try_svd(true, true, f64::EPSILON, 10_000);
    let Some((u, values, v)) = decomposed.and_then(|svd| Some((svd.u?, svd.singular_values, svd.v_t?))) else {
        return Err(Failure::no_answer(NoAnswer::NotConverged, "the decomposition did not converge"));
    };
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let largest = order.first().map_or(0.0, |at| values[*at]);
    // Deviations of rounding size are none.
    let size = means.iter().zip(&scales).map(|(m, s)| m.abs() / s).fold(0.0, f64::max);
    if largest <= size * 1e-13 * (n as f64).sqrt() {
        return Err(Failure::no_answer(NoAnswer::Singular, "the rows do not vary"));
    }
    let most = n.min(width);
    let wanted = input.components.map_or(most, |k| usize::try_from(k).unwrap_or(usize::MAX)).min(most);
    let total: f64 = values.iter().map(|s| s * s).sum();
    let mut output = Output {
        explained: Vec::new(),
        loadings: Vec::new(),
        scores: vec![Vec::new(); n],
        t2: vec![0.0; n],
        outliers: Vec::new(),
    };
    let mut used = 0;
    for at in order.into_iter().take(wanted) {
        let s = values[at];
        let row = v.row(at);
        // The largest loading is positive; of equal ones the first.
        let peak = row.iter().copied().fold(0.0_f64, |m, x| if x.abs() > m.abs() * (1.0 + 1e-12) { x } else { m });
        let sign = if peak < 0.0 { -1.0 } else { 1.0 };
        output.explained.push(s * s / total);
        output.loadings.push(row.iter().map(|x| x * sign).collect());
        let counts = s > largest * NOTHING;
        used += usize::from(counts);
        for ((scores, t2), share) in output.scores.iter_mut().zip(&mut output.t2).zip(u.column(at).iter()) {
            scores.push(share * s * sign);
            if counts {
                *t2 += share * share * (n as f64 - 1.0);
            }
        }
    }
    let (rows, k) = (n as f64, used as f64);
    if n > used + 1 && used > 0 {
        let limit = k * (rows - 1.0) * (rows + 1.0) / (rows * (rows - k)) * dist::f_quantile(LEVEL, k, rows - k);
        let beyond = output.t2.iter().enumerate().filter(|(_, t)| **t > limit);
        output.outliers = beyond.map(|(at, _)| at as i64).collect();
    } else {
        cx.warn("outliers: there are too few rows for the limit of t2");
    }
    Ok(output)
}
