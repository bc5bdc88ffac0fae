//! Assignment by shortest augmenting paths (Jonker and Volgenant, Computing 38, 1987), of rectangular matrices.

use crate::{at, set};

/// A best assignment.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// Column of each row; `None` where a row has none.
    pub columns: Vec<Option<usize>>,
    /// Sum of the costs.
    pub total: f64,
}

/// Assigns rows to columns one to one: as many as possible, then at the least total cost. An infinite cost forbids the
/// pair. Missing entries of short rows are forbidden.
pub fn assign(cost: &[Vec<f64>]) -> Assignment {
    let rows = cost.len();
    let width = cost.iter().map(Vec::len).max().unwrap_or(0);
    let entry = |row: usize, column: usize| {
        cost.get(row).and_then(|row| row.get(column)).copied().filter(|cost| cost.is_finite())
    };
    // The longer side are the columns of the algorithm.
    let transposed = rows > width;
    let (n, m) = if transposed { (width, rows) } else { (rows, width) };
    // One forbidden pair costs more than any two assignments differ by.
    let spread: f64 = cost.iter().flatten().filter(|cost| cost.is_finite()).map(|cost| cost.abs()).fold(0.0, f64::max);
    let forbidden = (2.0 * spread + 1.0) * (n as f64 + 1.0);
    let price = |row: usize, column: usize| {
        let (row, column) = if transposed { (column, row) } else { (row, column) };
        entry(row, column).unwrap_or(forbidden)
    };
    // Rows are numbered from 1; owner 0 is nobody.
    let mut row_price = vec![0.0_f64; n + 1];
    let mut column_price = vec![0.0_f64; m + 1];
    let mut owner = vec![0_usize; m + 1];
    for row in 1..=n {
        set(&mut owner, 0, row);
        let mut column = 0;
        let mut least = vec![f64::INFINITY; m + 1];
        let mut from = vec![0_usize; m + 1];
        let mut used = vec![false; m + 1];
        loop {
            set(&mut used, column, true);
            let current = at(&owner, column);
            let (mut delta, mut next) = (f64::INFINITY, 0);
            for j in 1..=m {
                if at(&used, j) {
                    continue;
                }
                let reduced = price(current - 1, j - 1) - at(&row_price, current) - at(&column_price, j);
                if reduced < at(&least, j) {
                    set(&mut least, j, reduced);
                    set(&mut from, j, column);
                }
                if at(&least, j) < delta {
                    delta = at(&least, j);
                    next = j;
                }
            }
            for j in 0..=m {
                if at(&used, j) {
                    let of = at(&owner, j);
                    let raised = at(&row_price, of) + delta;
                    set(&mut row_price, of, raised);
                    let lowered = at(&column_price, j) - delta;
                    set(&mut column_price, j, lowered);
                } else {
                    let rest = at(&least, j) - delta;
                    set(&mut least, j, rest);
                }
            }
            column = next;
            if at(&owner, column) == 0 {
                break;
            }
        }
        while column != 0 {
            let previous = at(&from, column);
            let taken = at(&owner, previous);
            set(&mut owner, column, taken);
            column = previous;
        }
    }
    let mut columns = vec![None; rows];
    let mut total = 0.0;
    for (column, row) in owner.iter().enumerate().skip(1).filter(|(_, row)| **row > 0) {
        let (row, column) = if transposed { (column - 1, row - 1) } else { (row - 1, column - 1) };
        if let Some(cost) = entry(row, column) {
            set(&mut columns, row, Some(column));
            total += cost;
        }
    }
    Assignment { columns, total }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Most pairs, then least cost, by trying all assignments.
    fn best(cost: &[Vec<f64>], row: usize, used: &mut Vec<bool>) -> (usize, f64) {
        if row == cost.len() {
            return (0, 0.0);
        }
        let mut found = best(cost, row + 1, used);
        for column in 0..used.len() {
            if !used[column] && cost[row][column].is_finite() {
                used[column] = true;
                let (pairs, rest) = best(cost, row + 1, used);
                used[column] = false;
                let (pairs, total) = (pairs + 1, rest + cost[row][column]);
                if pairs > found.0 || pairs == found.0 && total < found.1 {
                    found = (pairs, total);
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn the_assignment_is_the_best_of_all(
            (rows, columns) in (0_usize..6, 1_usize..6),
            entries in prop::collection::vec(prop::option::weighted(0.8, -9_i8..20), 36),
        ) {
            let cost: Vec<Vec<f64>> = (0..rows)
                .map(|row| (0..columns).map(|column| entries[row * 6 + column].map_or(f64::INFINITY, f64::from)).collect())
                .collect();
            let found = assign(&cost);
            let (pairs, total) = best(&cost, 0, &mut vec![false; columns]);
            prop_assert_eq!(found.columns.iter().flatten().count(), pairs);
            prop_assert!((found.total - total).abs() < 1e-9, "{} {}", found.total, total);
        }
    }
}
