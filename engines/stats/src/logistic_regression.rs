//! q88: logistic regression.

#![allow(clippy::indexing_slicing, reason = "elements of matrices, by loops over their own dimensions")]

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::nalgebra::{DMatrix, DVector};
use muster_kernel_numeric::{dist, summary};

use crate::design;
use crate::model_metrics::auc;
use crate::support::{finite, number};

/// Most steps of Newton's method.
const STEPS: usize = 60;
/// Largest change of the penalised log-likelihood at the end.
const TOLERANCE: f64 = 1e-12;
/// A linear predictor beyond this is a certainty that no finite data gives: the model separates the classes.
const CERTAIN: f64 = 30.0;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    y: Vec<i64>,
    x: BTreeMap<String, Vec<f64>>,
    ridge: f64,
    predict: Vec<BTreeMap<String, f64>>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    coefficients: Vec<Coefficient>,
    log_likelihood: f64,
    mcfadden_r2: Option<f64>,
    auc: Option<f64>,
    converged: bool,
    separation: bool,
    predictions: Vec<f64>,
}

#[derive(Output)]
struct Coefficient {
    name: String,
    estimate: f64,
    se: f64,
    z: f64,
    p: f64,
    odds_ratio: f64,
    low: f64,
    high: f64,
}

/// Fits the model.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` (`too_few`, `singular`).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let rows = input.y.len();
    let ones = input.y.iter().filter(|y| **y == 1).count();
    let (names, columns) = design::columns(input.x, rows)?;
    let to_predict = design::predictors(&input.predict, &names)?;
    if rows <= names.len() + 1 {
        return Err(Failure::no_answer(NoAnswer::TooFew, "more rows than coefficients are needed"));
    }
    if ones == 0 || ones == rows {
        return Err(Failure::no_answer(NoAnswer::TooFew, "y needs both outcomes, 0 and 1"));
    }
    let y: Vec<f64> = input.y.iter().map(|y| *y as f64).collect();
    // Columns are centred and scaled, which changes the arithmetic and not the model.
    let means: Vec<f64> = columns.iter().map(|c| summary::mean(c)).collect();
    let scales: Vec<f64> = columns.iter().map(|c| summary::sd(c)).collect();
    if let Some((name, _)) = names.iter().zip(means.iter().zip(&scales)).find(|(_, (m, s))| **s <= m.abs() * 1e-14) {
        return Err(Failure::no_answer(NoAnswer::Singular, format!("x: {name} does not vary")));
    }
    let k = names.len() + 1;
    let mut design = DMatrix::from_element(rows, k, 1.0);
    for (j, ((column, mean), scale)) in columns.iter().zip(&means).zip(&scales).enumerate() {
        design.column_mut(j + 1).iter_mut().zip(column).for_each(|(to, x)| *to = (x - mean) / scale);
    }
    let penalty: Vec<f64> = std::iter::once(0.0).chain(scales.iter().map(|s| input.ridge / (s * s))).collect();
    let fit = newton(&design, &y, &penalty)?;
    // From scaled to given units: a linear map of the coefficients.
    let mut back = DMatrix::zeros(k, k);
    back[(0, 0)] = 1.0;
    for (j, (mean, scale)) in means.iter().zip(&scales).enumerate() {
        back[(0, j + 1)] = -mean / scale;
        back[(j + 1, j + 1)] = 1.0 / scale;
    }
    let beta = &back * &fit.beta;
    let covariance = &back * &fit.covariance * back.transpose();
    if fit.separation {
        cx.warn("separation: the columns tell the outcomes apart, so coefficients grow without bound; use ridge");
    }
    let z_critical = dist::normal_quantile(0.975);
    let mut coefficients = Vec::new();
    for (j, name) in std::iter::once("intercept").chain(names.iter().map(String::as_str)).enumerate() {
        let estimate = number(beta[j], "a coefficient")?;
        let se = number(covariance[(j, j)].max(0.0).sqrt(), "a standard error")?;
        let z = if se > 0.0 { estimate / se } else { 0.0 };
        let ratio = |x: f64| x.exp().min(f64::MAX);
        coefficients.push(Coefficient {
            name: name.to_owned(),
            estimate,
            se,
            z,
            p: dist::normal_p(z),
            odds_ratio: ratio(estimate),
            low: ratio(estimate - z_critical * se),
            high: ratio(estimate + z_critical * se),
        });
    }
    let share = ones as f64 / rows as f64;
    let null = rows as f64 * (share * share.ln() + (1.0 - share) * (-share).ln_1p());
    let fitted: Vec<f64> = (&design * &fit.beta).iter().copied().collect();
    let predictions = to_predict
        .iter()
        .map(|row| logistic(beta[0] + row.iter().enumerate().map(|(j, x)| beta[j + 1] * x).sum::<f64>()))
        .collect();
    Ok(Output {
        coefficients,
        log_likelihood: fit.log_likelihood,
        mcfadden_r2: finite(1.0 - fit.log_likelihood / null),
        auc: auc(&input.y.iter().map(|y| *y == 1).collect::<Vec<_>>(), &fitted),
        converged: fit.converged,
        separation: fit.separation,
        predictions,
    })
}

struct Fit {
    beta: DVector<f64>,
    covariance: DMatrix<f64>,
    log_likelihood: f64,
    converged: bool,
    separation: bool,
}

fn logistic(eta: f64) -> f64 {
    if eta >= 0.0 { 1.0 / (1.0 + (-eta).exp()) } else { eta.exp() / (1.0 + eta.exp()) }
}

/// ln(1 + e^η) without overflow.
fn soft(eta: f64) -> f64 {
    eta.max(0.0) + (-eta.abs()).exp().ln_1p()
}

fn log_likelihood(eta: &DVector<f64>, y: &[f64]) -> f64 {
    summary::sum(eta.iter().zip(y).map(|(eta, y)| y * eta - soft(*eta)))
}

/// Newton's method with step halving on the penalised log-likelihood.
fn newton(design: &DMatrix<f64>, y: &[f64], penalty: &[f64]) -> Result<Fit, Failure> {
    let k = design.ncols();
    let mut beta = DVector::zeros(k);
    let penalised = |beta: &DVector<f64>| {
        let eta = design * beta;
        log_likelihood(&eta, y) - 0.5 * beta.iter().zip(penalty).map(|(b, l)| l * b * b).sum::<f64>()
    };
    let mut value = penalised(&beta);
    let (mut converged, mut separation) = (false, false);
    let mut covariance = DMatrix::zeros(k, k);
    for _ in 0..STEPS {
        let eta = design * &beta;
        let p: Vec<f64> = eta.iter().map(|eta| logistic(*eta)).collect();
        let mut weighted = design.clone();
        for (mut row, p) in weighted.row_iter_mut().zip(&p) {
            row *= (p * (1.0 - p)).max(1e-300);
        }
        let mut information = design.tr_mul(&weighted);
        let rest = DVector::from_iterator(y.len(), y.iter().zip(&p).map(|(y, p)| y - p));
        let mut gradient = design.tr_mul(&rest);
        for (j, l) in penalty.iter().enumerate() {
            information[(j, j)] += l;
            gradient[j] -= l * beta[j];
        }
        let Some(cholesky) = information.cholesky().filter(|c| well_conditioned(c.l_dirty())) else {
            if separation || eta.iter().any(|eta| eta.abs() > CERTAIN / 2.0) {
                separation = true;
                break;
            }
            return Err(Failure::no_answer(NoAnswer::Singular, "x: a column is a combination of the others"));
        };
        covariance = cholesky.inverse();
        let step = cholesky.solve(&gradient);
        let mut scale = 1.0;
        let mut next = &beta + &step;
        let mut next_value = penalised(&next);
        while (next_value.is_nan() || next_value < value - TOLERANCE) && scale > 1e-6 {
            scale /= 2.0;
            next = &beta + &step * scale;
            next_value = penalised(&next);
        }
        let change = (next_value - value).abs();
        let moved = step.iter().zip(beta.iter()).map(|(s, b)| (s * scale).abs() / (1.0 + b.abs())).fold(0.0, f64::max);
        (beta, value) = (next, next_value);
        separation = (design * &beta).iter().any(|eta| eta.abs() > CERTAIN) && penalty.iter().all(|l| *l == 0.0);
        if separation && -log_likelihood(&(design * &beta), y) < 1e-6 {
            break;
        }
        if change <= TOLERANCE * (1.0 + value.abs()) && moved < 1e-9 {
            converged = true;
            break;
        }
    }
    let log_likelihood = log_likelihood(&(design * &beta), y);
    Ok(Fit { beta, covariance, log_likelihood, converged: converged && !separation, separation })
}

/// Whether no pivot of the factor is negligible beside the largest.
fn well_conditioned(factor: &DMatrix<f64>) -> bool {
    let pivots: Vec<f64> = (0..factor.nrows()).map(|i| factor[(i, i)]).collect();
    let largest = pivots.iter().copied().fold(0.0, f64::max);
    pivots.iter().all(|p| *p > largest * 1e-9)
}
