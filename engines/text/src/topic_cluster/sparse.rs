//! A sparse matrix by rows.

/// Rows of documents with the columns and values of their terms.
pub(super) struct Sparse {
    rows: Vec<Vec<(usize, f64)>>,
    columns: usize,
}

impl Sparse {
    /// Creates a matrix; columns are below `columns`.
    pub(super) fn new(rows: Vec<Vec<(usize, f64)>>, columns: usize) -> Self {
        Self { rows, columns }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }

    /// Mean of all places, also of the empty ones.
    pub(super) fn mean(&self) -> f64 {
        let sum: f64 = self.rows.iter().flatten().map(|(_, value)| value).sum();
        sum / (self.rows.len() * self.columns).max(1) as f64
    }

    /// Sum of squares.
    pub(super) fn squares(&self) -> f64 {
        self.rows.iter().flatten().map(|(_, value)| value * value).sum()
    }

    /// Product with a vector.
    pub(super) fn times(&self, vector: &[f64]) -> Vec<f64> {
        let row = |row: &Vec<(usize, f64)>| row.iter().map(|(at, value)| value * get(vector, *at)).sum();
        self.rows.iter().map(row).collect()
    }

    /// Product of the transposed matrix with a vector.
    pub(super) fn transposed_times(&self, vector: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.columns];
        for (row, factor) in self.rows.iter().zip(vector) {
            for (at, value) in row {
                if let Some(sum) = out.get_mut(*at) {
                    *sum += value * factor;
                }
            }
        }
        out
    }

    /// Product with a matrix of `count` columns, by rows.
    pub(super) fn times_rows(&self, factor: &[f64], count: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.rows.len() * count];
        for (row, sums) in self.rows.iter().zip(out.chunks_exact_mut(count.max(1))) {
            for (at, value) in row {
                add(sums, slice(factor, *at, count), *value);
            }
        }
        out
    }

    /// Product of the transposed matrix with a matrix of `count` columns, by rows.
    pub(super) fn transposed_times_rows(&self, factor: &[f64], count: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.columns * count];
        for (row, factors) in self.rows.iter().zip(factor.chunks_exact(count.max(1))) {
            for (at, value) in row {
                if let Some(sums) = out.get_mut(at * count..(at + 1) * count) {
                    add(sums, factors, *value);
                }
            }
        }
        out
    }
}

fn get(vector: &[f64], at: usize) -> f64 {
    vector.get(at).copied().unwrap_or_default()
}

fn slice(rows: &[f64], at: usize, count: usize) -> &[f64] {
    rows.get(at * count..(at + 1) * count).unwrap_or_default()
}

fn add(sums: &mut [f64], row: &[f64], weight: f64) {
    sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
}
