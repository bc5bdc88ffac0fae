//! The leading singular vectors of a sparse matrix, by subspace iteration from a random start (Halko, Martinsson & Tropp,
//! SIAM Review 53, 2011, algorithm 4.4), and the start of a factorisation that follows from them.

use muster_kernel_numeric::nalgebra::{DMatrix, SymmetricEigen};
use muster_kernel_numeric::sample::Sampler;

use super::sparse::Sparse;

/// Columns beyond those that are wanted, and iterations of the subspace.
const OVERSAMPLED: usize = 10;
const ITERATIONS: usize = 12;
/// Singular values below this share of the greatest are zero.
const NEGLIGIBLE: f64 = 1e-10;

/// A triple of the decomposition.
pub(super) struct Singular {
    pub(super) value: f64,
    pub(super) left: Vec<f64>,
    pub(super) right: Vec<f64>,
}

/// Returns at most `count` singular triples of a matrix, greatest first.
pub(super) fn leading(matrix: &Sparse, count: usize, seed: i64) -> Vec<Singular> {
    let width = (count + OVERSAMPLED).min(matrix.rows()).min(matrix.columns());
    let mut sampler = Sampler::new(seed);
    let mut basis: Vec<Vec<f64>> =
        (0..width).map(|_| (0..matrix.columns()).map(|_| sampler.normal()).collect()).collect();
    for _ in 0..ITERATIONS {
        orthonormalise(&mut basis);
        basis = basis.iter().map(|column| matrix.transposed_times(&matrix.times(column))).collect();
    }
    orthonormalise(&mut basis);
    // A V is small: its Gram matrix has the squares of the singular values.
    let images: Vec<Vec<f64>> = basis.iter().map(|column| matrix.times(column)).collect();
    let gram = DMatrix::from_fn(width, width, |row, column| {
        images.get(row).zip(images.get(column)).map_or(0.0, |(a, b)| dot(a, b))
    });
    let eigen = SymmetricEigen::new(gram);
    let mut order: Vec<(usize, f64)> = eigen.eigenvalues.iter().copied().enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let greatest = order.first().map_or(0.0, |(_, value)| value.max(0.0).sqrt());
    let mut found = Vec::new();
    for (at, square) in order.into_iter().take(count) {
        let value = square.max(0.0).sqrt();
        if value <= NEGLIGIBLE * greatest {
            break;
        }
        let weights = eigen.eigenvectors.column(at);
        let mut right = vec![0.0; matrix.columns()];
        for (column, weight) in basis.iter().zip(weights.iter()) {
            right.iter_mut().zip(column).for_each(|(sum, part)| *sum += weight * part);
        }
        let left = matrix.times(&right).into_iter().map(|part| part / value).collect();
        found.push(Singular { value, left, right });
    }
    found
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Modified Gram-Schmidt, twice for accuracy; a column that depends on the earlier ones becomes zero.
fn orthonormalise(columns: &mut [Vec<f64>]) {
    for at in 0..columns.len() {
        let (done, rest) = columns.split_at_mut(at);
        let Some(column) = rest.first_mut() else { return };
        let before = dot(column, column).sqrt();
        for _ in 0..2 {
            for other in done.iter() {
                let share = dot(other, column);
                column.iter_mut().zip(other).for_each(|(part, other)| *part -= share * other);
            }
        }
        let length = dot(column, column).sqrt();
        let scale = if length > 1e-12 * before && length > 0.0 { 1.0 / length } else { 0.0 };
        column.iter_mut().for_each(|part| *part *= scale);
    }
}

/// The factors of a start, each as rows of `count` numbers: of documents and of terms.
pub(super) struct Start {
    pub(super) documents: Vec<f64>,
    pub(super) terms: Vec<f64>,
    pub(super) count: usize,
}

/// NNDSVD (Boutsidis & Gallopoulos 2008): of each singular pair the positive or the negative parts, whichever product is
/// greater; zeros become the mean of the matrix divided by 100, so that the multiplicative updates can leave them
/// (between the variants NNDSVD and NNDSVDa).
pub(super) fn nndsvd(matrix: &Sparse, count: usize, seed: i64) -> Start {
    let triples = leading(matrix, count, seed);
    let count = triples.len();
    let fill = matrix.mean() / 100.0;
    let mut documents = vec![fill; matrix.rows() * count];
    let mut terms = vec![fill; matrix.columns() * count];
    for (topic, triple) in triples.iter().enumerate() {
        let part = |vector: &[f64], sign: f64| -> Vec<f64> { vector.iter().map(|x| (x * sign).max(0.0)).collect() };
        let side = |sign: f64| {
            let (left, right) = (part(&triple.left, sign), part(&triple.right, sign));
            let (a, b) = (dot(&left, &left).sqrt(), dot(&right, &right).sqrt());
            (left, right, a, b)
        };
        let (positive, negative) = (side(1.0), side(-1.0));
        let (left, right, a, b) = if positive.2 * positive.3 >= negative.2 * negative.3 { positive } else { negative };
        if a <= 0.0 || b <= 0.0 {
            continue;
        }
        let scale = (triple.value * a * b).sqrt();
        let write = |factor: &mut [f64], vector: &[f64], length: f64| {
            for (row, value) in factor.chunks_exact_mut(count).zip(vector) {
                if let Some(place) = row.get_mut(topic) {
                    *place = (scale * value / length).max(fill);
                }
            }
        };
        write(&mut documents, &left, a);
        write(&mut terms, &right, b);
    }
    Start { documents, terms, count }
}
