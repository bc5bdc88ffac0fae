//! Weighted least squares by Householder QR of centred and scaled columns.

#![allow(clippy::indexing_slicing, reason = "elements of matrices, by loops over their own dimensions")]

use nalgebra::{DMatrix, DVector};

/// A column counts as a combination of the others if less than this share of its length is left beside them. Filip's
/// polynomial of degree 10 (NIST StRD) has 3e-10 and must pass.
const DEPENDENT: f64 = 1e-12;

/// Why a model cannot be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitError {
    /// There are not more rows than coefficients.
    TooFew,
    /// A column is a combination of the others; its index.
    Singular(usize),
}

/// A fitted linear model.
#[derive(Debug, Clone)]
pub struct LinearFit {
    /// The intercept, if there is one, then the coefficient of each column.
    pub coefficients: Vec<f64>,
    /// (XᵀWX)⁻¹ in the order of the coefficients.
    pub unscaled_covariance: DMatrix<f64>,
    /// Fitted values.
    pub fitted: Vec<f64>,
    /// Residuals, not weighted.
    pub residuals: Vec<f64>,
    /// Diagonal of the hat matrix.
    pub leverage: Vec<f64>,
    /// Weighted sum of squared residuals.
    pub rss: f64,
    /// Weighted sum of squares of the response, about its weighted mean if there is an intercept.
    pub tss: f64,
    /// Rows with positive weight minus coefficients.
    pub df: f64,
}

/// Fits y = Xβ by weighted least squares. `columns` have the length of `y`; weights are positive.
///
/// # Errors
/// As [`FitError`] says.
pub fn least_squares(
    y: &[f64],
    columns: &[Vec<f64>],
    weights: Option<&[f64]>,
    intercept: bool,
) -> Result<LinearFit, FitError> {
    let (n, p) = (y.len(), columns.len());
    let k = p + usize::from(intercept);
    if n <= k || k == 0 {
        return Err(FitError::TooFew);
    }
    let root: Vec<f64> = weights.map_or_else(|| vec![1.0; n], |w| w.iter().map(|w| w.sqrt()).collect());
    let total = crate::summary::sum(root.iter().map(|w| w * w));
    let weighted_mean = |values: &[f64]| {
        let first = crate::summary::sum(values.iter().zip(&root).map(|(x, w)| x * w * w)) / total;
        first + crate::summary::sum(values.iter().zip(&root).map(|(x, w)| (x - first) * w * w)) / total
    };
    let centres: Vec<f64> = columns.iter().map(|c| if intercept { weighted_mean(c) } else { 0.0 }).collect();
    let y_centre = if intercept { weighted_mean(y) } else { 0.0 };
    let centred =
        |values: &[f64], centre: f64| -> Vec<f64> { values.iter().zip(&root).map(|(x, w)| (x - centre) * w).collect() };
    let mut scaled = DMatrix::zeros(n, p);
    let mut lengths = Vec::with_capacity(p);
    for (at, (column, centre)) in columns.iter().zip(&centres).enumerate() {
        let values = centred(column, *centre);
        let largest = column.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let length = crate::summary::sum(values.iter().map(|v| v * v)).sqrt();
        if length <= largest * 1e-15 * (n as f64).sqrt() {
            return Err(FitError::Singular(at));
        }
        scaled.column_mut(at).iter_mut().zip(&values).for_each(|(to, v)| *to = v / length);
        lengths.push(length);
    }
    let response = DVector::from_vec(centred(y, y_centre));
    let qr = scaled.clone().qr();
    let (q, r) = (qr.q(), qr.r());
    if let Some(at) = (0..p).find(|&i| r[(i, i)].abs() < DEPENDENT) {
        return Err(FitError::Singular(at));
    }
    let solve = |right: &DVector<f64>| r.solve_upper_triangular(&q.tr_mul(right)).ok_or(FitError::Singular(0));
    let mut beta = if p > 0 { solve(&response)? } else { DVector::zeros(0) };
    // Refinement: residuals with compensated sums, then the correction's own least squares.
    for _ in 0..if p > 0 { 2 } else { 0 } {
        let rest = DVector::from_iterator(
            n,
            (0..n).map(|i| exact_residual(response[i], (0..p).map(|j| (scaled[(i, j)], beta[j])))),
        );
        beta += solve(&rest)?;
    }
    let inverse = if p > 0 {
        r.solve_upper_triangular(&DMatrix::identity(p, p)).ok_or(FitError::Singular(0))?
    } else {
        DMatrix::zeros(0, 0)
    };
    let inner = &inverse * inverse.transpose();
    let slopes: Vec<f64> = beta.iter().zip(&lengths).map(|(b, l)| b / l).collect();
    let mut covariance = DMatrix::zeros(k, k);
    let shift = usize::from(intercept);
    for i in 0..p {
        for j in 0..p {
            let (li, lj) = (length_of(&lengths, i), length_of(&lengths, j));
            covariance[(i + shift, j + shift)] = inner[(i, j)] / (li * lj);
        }
    }
    let mut coefficients = Vec::with_capacity(k);
    if intercept {
        let products = slopes.iter().zip(&centres).map(|(b, c)| -b * c);
        coefficients.push(crate::summary::sum(std::iter::once(y_centre).chain(products)));
        let ratio: DVector<f64> = DVector::from_iterator(p, centres.iter().zip(&lengths).map(|(c, l)| c / l));
        let cross = &inner * &ratio;
        covariance[(0, 0)] = 1.0 / total + ratio.dot(&cross);
        for i in 0..p {
            let value = -cross[i] / length_of(&lengths, i);
            covariance[(0, i + 1)] = value;
            covariance[(i + 1, 0)] = value;
        }
    }
    coefficients.extend(&slopes);
    let (mut fitted, mut residuals, mut leverage) = (Vec::new(), Vec::new(), Vec::new());
    for (i, (value, w)) in y.iter().zip(&root).enumerate() {
        let rest = exact_residual(response[i], (0..p).map(|j| (scaled[(i, j)], beta[j])));
        let residual = rest / w;
        residuals.push(residual);
        fitted.push(value - residual);
        let base = if intercept { w * w / total } else { 0.0 };
        leverage.push(base + (0..p).map(|j| q[(i, j)] * q[(i, j)]).sum::<f64>());
    }
    let rss = crate::summary::sum(residuals.iter().zip(&root).map(|(e, w)| (e * w) * (e * w)));
    let tss = crate::summary::sum(response.iter().map(|v| v * v));
    let df = (n - k) as f64;
    Ok(LinearFit { coefficients, unscaled_covariance: covariance, fitted, residuals, leverage, rss, tss, df })
}

fn length_of(lengths: &[f64], at: usize) -> f64 {
    lengths.get(at).copied().unwrap_or(1.0)
}

/// Returns y − Σ a·b with about twice the working precision (Ogita, Rump and Oishi 2005, Dot2).
fn exact_residual(y: f64, terms: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut total, mut lost) = (y, 0.0);
    for (a, b) in terms {
        let product = -a * b;
        let product_error = (-a).mul_add(b, -product);
        let next = total + product;
        let back = next - total;
        lost += (total - (next - back)) + (product - back) + product_error;
        total = next;
    }
    total + lost
}

/// Returns the residual sums of squares of the models with an intercept and the first 0, 1, 2, … columns, from one
/// decomposition. `None` if the columns are dependent.
pub fn nested_rss(y: &[f64], columns: &[Vec<f64>]) -> Option<Vec<f64>> {
    let (n, p) = (y.len(), columns.len());
    if n <= p + 1 {
        return None;
    }
    let mean = crate::summary::mean(y);
    let mut scaled = DMatrix::zeros(n, p);
    for (at, column) in columns.iter().enumerate() {
        let centre = crate::summary::mean(column);
        let length = crate::summary::squares(column).sqrt();
        if length <= centre.abs() * 1e-14 {
            return None;
        }
        scaled.column_mut(at).iter_mut().zip(column).for_each(|(to, x)| *to = (x - centre) / length);
    }
    let mut rest = DVector::from_iterator(n, y.iter().map(|y| y - mean));
    let qr = scaled.qr();
    let r = qr.r();
    if (0..p).any(|i| r[(i, i)].abs() < DEPENDENT) {
        return None;
    }
    let q = qr.q();
    let mut out = vec![rest.norm_squared()];
    for column in q.column_iter() {
        let share = column.dot(&rest);
        rest.axpy(-share, &column, 1.0);
        out.push(rest.norm_squared());
    }
    Some(out)
}
