//! Rectangular grids of numbers; the first row is the northern one.

use muster_engine::prelude::*;

/// A grid.
pub(crate) struct Grid {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) cells: Vec<f64>,
}

impl Grid {
    /// Reads the grid of a field.
    ///
    /// # Errors
    /// Rows of different lengths, fewer than two rows or columns, too many cells.
    pub(crate) fn of(field: &str, rows: Vec<Vec<f64>>, most: usize) -> Result<Self, Failure> {
        let (count, columns) = (rows.len(), rows.first().map_or(0, Vec::len));
        if count < 2 || columns < 2 {
            return Err(Failure::invalid(&[field], "needs two rows and two columns at least"));
        }
        if let Some(row) = rows.iter().position(|row| row.len() != columns) {
            return Err(Failure::invalid(
                &[field, &row.to_string()],
                format!("must have {columns} cells, as the first row"),
            ));
        }
        if count.saturating_mul(columns) > most {
            return Err(Failure::too_large(format!("a grid may have {most} cells, and this has {}", count * columns)));
        }
        Ok(Self { rows: count, columns, cells: rows.concat() })
    }

    /// Returns a cell's value.
    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        self.cells.get(row * self.columns + column).copied().unwrap_or(f64::NAN)
    }

    /// Divides values in the order of cells into rows.
    pub(crate) fn rows_of<T: Clone>(&self, values: &[T]) -> Vec<Vec<T>> {
        values.chunks(self.columns).map(<[T]>::to_vec).collect()
    }
}

/// Refuses a cell size of 0.
pub(crate) fn cell_size(size: f64) -> Result<f64, Failure> {
    if size > 0.0 { Ok(size) } else { Err(Failure::invalid(&["cell_size"], "must be positive")) }
}
