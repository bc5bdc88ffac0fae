//! Tables of rows: the same width, finite numbers.

use nalgebra::DMatrix;

/// What is wrong with a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableError {
    /// There are no rows or no columns.
    Empty,
    /// This row has another width than the first.
    Ragged(usize),
}

/// Makes a matrix of rows of one width.
///
/// # Errors
/// As [`TableError`] says.
pub fn matrix(rows: &[Vec<f64>]) -> Result<DMatrix<f64>, TableError> {
    let width = rows.first().map_or(0, Vec::len);
    if width == 0 {
        return Err(TableError::Empty);
    }
    if let Some(at) = rows.iter().position(|row| row.len() != width) {
        return Err(TableError::Ragged(at));
    }
    Ok(DMatrix::from_row_iterator(rows.len(), width, rows.iter().flatten().copied()))
}

/// Scales columns to mean 0 and, if asked, standard deviation 1 (divisor n − `freedom`). Returns the means and the
/// scales; a column that does not vary keeps scale 1.
pub fn standardise(matrix: &mut DMatrix<f64>, scale: bool, freedom: usize) -> (Vec<f64>, Vec<f64>) {
    let n = matrix.nrows();
    let (mut means, mut scales) = (Vec::new(), Vec::new());
    for mut column in matrix.column_iter_mut() {
        let values: Vec<f64> = column.iter().copied().collect();
        let mean = crate::summary::mean(&values);
        let sd = (crate::summary::squares(&values) / (n.saturating_sub(freedom)).max(1) as f64).sqrt();
        let by = if scale && sd > mean.abs() * 1e-14 { sd } else { 1.0 };
        column.iter_mut().for_each(|x| *x = (*x - mean) / by);
        means.push(mean);
        scales.push(by);
    }
    (means, scales)
}
