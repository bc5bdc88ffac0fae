//! Tables of named columns, as the models of the family take them.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::support::check_series;

const MAX_ROWS: usize = 20_000;
const MAX_COLUMNS: usize = 60;
const MAX_CELLS: usize = 300_000;

/// Checks the columns of a model and returns their names and values.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub(crate) fn columns(x: BTreeMap<String, Vec<f64>>, rows: usize) -> Result<(Vec<String>, Vec<Vec<f64>>), Failure> {
    if rows > MAX_ROWS || x.len() > MAX_COLUMNS || rows * x.len() > MAX_CELLS {
        return Err(Failure::too_large(format!(
            "x: at most {MAX_ROWS} rows, {MAX_COLUMNS} columns and {MAX_CELLS} values in all"
        )));
    }
    for (name, values) in &x {
        check_series(values, "x", 0, MAX_ROWS)?;
        if values.len() != rows {
            let problem = format!("{name} has {} values, y has {rows}: they must be as many", values.len());
            return Err(Failure::invalid(&["x", name], problem));
        }
    }
    Ok(x.into_iter().unzip())
}

/// Returns the rows to predict, in the order of the columns.
///
/// # Errors
/// `Invalid` if a row lacks a column or has an unknown one.
pub(crate) fn predictors(rows: &[BTreeMap<String, f64>], names: &[String]) -> Result<Vec<Vec<f64>>, Failure> {
    if rows.len() > MAX_ROWS {
        return Err(Failure::too_large(format!("predict: at most {MAX_ROWS} rows")));
    }
    let read = |(at, row): (usize, &BTreeMap<String, f64>)| {
        let here = at.to_string();
        if let Some(unknown) = row.keys().find(|name| !names.contains(name)) {
            return Err(Failure::invalid(&["predict", &here, unknown], "x has no such column"));
        }
        names
            .iter()
            .map(|name| row.get(name).copied().ok_or_else(|| Failure::invalid(&["predict", &here, name], "is missing")))
            .collect()
    };
    rows.iter().enumerate().map(read).collect()
}
