//! Non-negative matrix factorisation by multiplicative updates (Lee & Seung, Nature 401, 1999; the updates of the
//! Frobenius norm are those of their paper at NIPS 2000).

use muster_engine::prelude::Context;

use super::sparse::Sparse;
use super::svd::{Start, nndsvd};

/// Most updates, and those between two looks at the error.
const UPDATES: usize = 400;
const EACH: usize = 10;
/// Relative improvement of the error over `EACH` updates below which they end.
const ENOUGH: f64 = 1e-5;
/// Multiplications of a call: what bounds the updates of large inputs.
const WORK: usize = 10_000_000_000;
const TINY: f64 = 1e-12;

/// The factors, each as rows of `count` numbers.
pub(super) struct Factors {
    pub(super) documents: Vec<f64>,
    pub(super) terms: Vec<f64>,
    pub(super) count: usize,
    /// Norm of the residual as a share of the norm of the matrix.
    pub(super) error: f64,
    /// Whether the updates ended because they brought no more.
    pub(super) converged: bool,
}

/// Factorises a matrix into at most `count` topics.
pub(super) fn factorise(matrix: &Sparse, count: usize, seed: i64, cx: &Context) -> Factors {
    let Start { mut documents, mut terms, count } = nndsvd(matrix, count, seed);
    let all = matrix.squares();
    let each = 2 * matrix.len() * count + 2 * (matrix.rows() + matrix.columns()) * count * count;
    let most = (WORK / each.max(1)).clamp(EACH, UPDATES);
    let mut before = f64::INFINITY;
    let (mut error, mut converged) = (1.0, false);
    for update in 1..=most {
        let products = matrix.times_rows(&terms, count);
        let gram = gram(&terms, count);
        multiply(&mut documents, &products, &gram, count);
        let products = matrix.transposed_times_rows(&documents, count);
        let of_documents = self::gram(&documents, count);
        multiply(&mut terms, &products, &of_documents, count);
        if update % EACH == 0 || update == most {
            // |X - WH|² = |X|² - 2 <XᵀW, Hᵀ> + <WᵀW, HHᵀ>
            let common: f64 = products.iter().zip(&terms).map(|(a, b)| a * b).sum();
            let own: f64 = of_documents.iter().zip(self::gram(&terms, count)).map(|(a, b)| a * b).sum();
            error = ((all - 2.0 * common + own).max(0.0) / all.max(TINY)).sqrt();
            cx.progress(update as u64, most as u64, "factorisation");
            // The first error has none before it.
            if before.is_finite() && before - error <= ENOUGH * before {
                converged = true;
                break;
            }
            before = error;
        }
    }
    Factors { documents, terms, count, error, converged }
}

/// The products of the columns with one another, by rows.
fn gram(factor: &[f64], count: usize) -> Vec<f64> {
    let mut out = vec![0.0; count * count];
    for row in factor.chunks_exact(count.max(1)) {
        for (sums, left) in out.chunks_exact_mut(count.max(1)).zip(row) {
            sums.iter_mut().zip(row).for_each(|(sum, right)| *sum += left * right);
        }
    }
    out
}

/// Multiplies each number by its product over the one that the factors give.
fn multiply(factor: &mut [f64], products: &[f64], gram: &[f64], count: usize) {
    let size = count.max(1);
    for (row, wanted) in factor.chunks_exact_mut(size).zip(products.chunks_exact(size)) {
        let given: Vec<f64> =
            gram.chunks_exact(size).map(|column| column.iter().zip(row.iter()).map(|(a, b)| a * b).sum()).collect();
        for ((value, wanted), given) in row.iter_mut().zip(wanted).zip(given) {
            *value *= wanted / given.max(TINY);
        }
    }
}
