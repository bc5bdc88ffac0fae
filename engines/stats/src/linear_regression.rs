//! q87: linear regression.

#![allow(clippy::indexing_slicing, reason = "elements of matrices, by loops over their own dimensions")]

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::nalgebra::{DMatrix, DVector};
use muster_kernel_numeric::regress::{FitError, LinearFit, least_squares};
use muster_kernel_numeric::{dist, summary};

use crate::design;
use crate::support::{check_same, check_series, finite, number};

const MAX_ROWS: usize = 20_000;
/// Level of the intervals of coefficients and predictions.
const LEVEL: f64 = 0.975;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    y: Vec<f64>,
    x: BTreeMap<String, Vec<f64>>,
    weights: Option<Vec<f64>>,
    intercept: bool,
    robust: bool,
    predict: Vec<BTreeMap<String, f64>>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    coefficients: Vec<Coefficient>,
    r2: Option<f64>,
    adj_r2: Option<f64>,
    sigma: f64,
    f: Option<Statistic>,
    durbin_watson: Option<f64>,
    aic: Option<f64>,
    predictions: Vec<Prediction>,
}

#[derive(Output)]
struct Coefficient {
    name: String,
    estimate: f64,
    se: f64,
    t: f64,
    p: f64,
    low: f64,
    high: f64,
    vif: f64,
}

#[derive(Output)]
struct Statistic {
    value: f64,
    p: f64,
}

#[derive(Output)]
struct Prediction {
    fit: f64,
    low: f64,
    high: f64,
}

/// Fits the model.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` (`too_few`, `singular`).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let rows = input.y.len();
    check_series(&input.y, "y", 2, MAX_ROWS)?;
    if let Some(weights) = &input.weights {
        check_same("weights", weights.len(), "y", rows)?;
        if let Some(at) = weights.iter().position(|w| !(1e-100..=1e100).contains(w)) {
            return Err(Failure::invalid(&["weights", &at.to_string()], "weights are positive (1e-100 to 1e100)"));
        }
    }
    let (names, columns) = design::columns(input.x, rows)?;
    let rows_to_predict = design::predictors(&input.predict, &names)?;
    let weights = input.weights.as_deref();
    let fit = least_squares(&input.y, &columns, weights, input.intercept).map_err(|error| match error {
        FitError::TooFew => {
            Failure::no_answer(NoAnswer::TooFew, "more rows than coefficients are needed, and at least one coefficient")
        }
        FitError::Singular(at) => {
            let name = names.get(at).map_or("", String::as_str);
            Failure::no_answer(NoAnswer::Singular, format!("x: {name} is a combination of the other columns"))
        }
    })?;
    let sigma = (fit.rss / fit.df).sqrt();
    let covariance = if input.robust {
        hc3(&fit, &columns, weights, input.intercept)
    } else {
        fit.unscaled_covariance.clone() * (sigma * sigma)
    };
    if input.robust {
        cx.warn("robust: standard errors and F are those of the HC3 covariance; predictions keep the common variance");
    }
    let critical = dist::t_quantile(LEVEL, fit.df);
    let all_names = input.intercept.then(|| "intercept".to_owned()).into_iter().chain(names.iter().cloned());
    let mut coefficients = Vec::new();
    for (at, (name, estimate)) in all_names.zip(&fit.coefficients).enumerate() {
        let se = covariance[(at, at)].max(0.0).sqrt();
        // An exact fit has no error: t is the largest number, and p is 0.
        let t = if se > 0.0 { estimate / se } else { f64::MAX.copysign(*estimate) };
        coefficients.push(Coefficient {
            name,
            estimate: number(*estimate, "a coefficient")?,
            se,
            t: t.clamp(-f64::MAX, f64::MAX),
            p: if se > 0.0 { dist::t_p(t, fit.df) } else { 0.0 },
            low: estimate - critical * se,
            high: estimate + critical * se,
            vif: vif(at, &fit, &columns, weights, input.intercept),
        });
    }
    let r2 = if fit.tss > 0.0 { finite(1.0 - fit.rss / fit.tss) } else { None };
    let total_df = rows as f64 - if input.intercept { 1.0 } else { 0.0 };
    let k = fit.coefficients.len() as f64;
    let n = rows as f64;
    let log_weights: f64 = weights.map_or(0.0, |w| summary::sum(w.iter().map(|w| w.ln())));
    let log_likelihood = -n / 2.0 * ((2.0 * std::f64::consts::PI * fit.rss / n).ln() + 1.0) + 0.5 * log_weights;
    let steps = summary::sum(fit.residuals.windows(2).map(|w| match w {
        [a, b] => (b - a).powi(2),
        _ => 0.0,
    }));
    let squares = summary::sum(fit.residuals.iter().map(|e| e * e));
    Ok(Output {
        coefficients,
        r2,
        adj_r2: r2.map(|r2| 1.0 - (1.0 - r2) * total_df / fit.df),
        sigma,
        f: f_test(&fit, &covariance, input.intercept),
        durbin_watson: finite(steps / squares),
        aic: finite(2.0 * k - 2.0 * log_likelihood),
        predictions: predictions(&rows_to_predict, &fit, sigma * critical, input.intercept),
    })
}

fn row_of(columns: &[Vec<f64>], at: usize, intercept: bool) -> DVector<f64> {
    let values = intercept.then_some(1.0).into_iter();
    let values: Vec<f64> = values.chain(columns.iter().filter_map(|c| c.get(at).copied())).collect();
    DVector::from_vec(values)
}

/// The sandwich of MacKinnon and White (1985): residuals are divided by 1 − leverage.
fn hc3(fit: &LinearFit, columns: &[Vec<f64>], weights: Option<&[f64]>, intercept: bool) -> DMatrix<f64> {
    let k = fit.coefficients.len();
    let mut sum = DMatrix::zeros(k, k);
    for (at, (residual, leverage)) in fit.residuals.iter().zip(&fit.leverage).enumerate() {
        let w = weights.and_then(|w| w.get(at).copied()).unwrap_or(1.0);
        let influence = &fit.unscaled_covariance * row_of(columns, at, intercept) * w;
        let scaled = residual / (1.0 - leverage).max(1e-12);
        sum += &influence * influence.transpose() * (scaled * scaled);
    }
    sum
}

/// Variance inflation: how much larger the coefficient's variance is than with no other column. Of columns about their
/// mean; for the intercept, and without one, of the columns as they are.
fn vif(at: usize, fit: &LinearFit, columns: &[Vec<f64>], weights: Option<&[f64]>, intercept: bool) -> f64 {
    let n = fit.residuals.len();
    let weight = |i: usize| weights.and_then(|w| w.get(i).copied()).unwrap_or(1.0);
    let total = summary::sum((0..n).map(weight));
    let spread = match (at.checked_sub(usize::from(intercept)), intercept) {
        (None, _) => total,
        (Some(column), about_mean) => columns.get(column).map_or(0.0, |c| {
            let mean = summary::sum(c.iter().enumerate().map(|(i, x)| x * weight(i))) / total;
            let centre = if about_mean { mean } else { 0.0 };
            summary::sum(c.iter().enumerate().map(|(i, x)| weight(i) * (x - centre).powi(2)))
        }),
    };
    (fit.unscaled_covariance[(at, at)] * spread).clamp(1.0, f64::MAX)
}

/// Whether all coefficients but the intercept are 0: Wald's test, which is the F test if the covariance is classical.
fn f_test(fit: &LinearFit, covariance: &DMatrix<f64>, intercept: bool) -> Option<Statistic> {
    let skip = usize::from(intercept);
    let p = fit.coefficients.len() - skip;
    if p == 0 || fit.rss <= 0.0 {
        return None;
    }
    let part = covariance.view((skip, skip), (p, p)).clone_owned();
    let beta = DVector::from_iterator(p, fit.coefficients.iter().skip(skip).copied());
    // Scaled to correlations, so that units do not matter to the decomposition.
    let scale = DVector::from_iterator(p, (0..p).map(|i| part[(i, i)].sqrt()));
    let scaled = DMatrix::from_fn(p, p, |i, j| part[(i, j)] / (scale[i] * scale[j]));
    let t = beta.component_div(&scale);
    let solved = scaled.lu().solve(&t)?;
    let value = finite(t.dot(&solved) / p as f64)?;
    Some(Statistic { value, p: dist::f_sf(value, p as f64, fit.df) })
}

fn predictions(rows: &[Vec<f64>], fit: &LinearFit, reach: f64, intercept: bool) -> Vec<Prediction> {
    let predict = |row: &Vec<f64>| {
        let x: Vec<f64> = intercept.then_some(1.0).into_iter().chain(row.iter().copied()).collect();
        let value = summary::sum(x.iter().zip(&fit.coefficients).map(|(x, b)| x * b));
        let x = DVector::from_vec(x);
        let variance = 1.0 + x.dot(&(&fit.unscaled_covariance * &x)).max(0.0);
        let half = reach * variance.sqrt();
        Prediction { fit: value, low: value - half, high: value + half }
    };
    rows.iter().map(predict).collect()
}
