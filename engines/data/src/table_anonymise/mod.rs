//! q119: table anonymisation.

mod column;
mod measures;
mod mondrian;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use column::Column;
use muster_engine::prelude::*;

/// Maximum number of quasi-identifier cells per call.
const MAX_CELLS: usize = 1_000_000;

#[derive(Input)]
pub struct Input {
    rows: Vec<Value>,
    quasi_identifiers: Vec<String>,
    sensitive: Vec<String>,
    direct_identifiers: Vec<String>,
    k: f64,
    /// Per column, each value's ancestors from near to far, or each value's parent.
    hierarchies: BTreeMap<String, Value>,
    suppression_limit: f64,
}

#[derive(Output)]
pub struct Output {
    /// In input order, without suppressed rows.
    rows: Vec<Value>,
    /// Size of the smallest class; 0 if no row is left.
    k: usize,
    l_diversity: Option<usize>,
    t_closeness: Option<f64>,
    suppressed: usize,
    prosecutor_risk: f64,
    information_loss: f64,
}

type Row = Map<String, Value>;

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let rows = checked(&input)?;
    let column = |name: &String| Column::of(&rows, name, input.hierarchies.get(name));
    let columns: Vec<Column> = input.quasi_identifiers.iter().map(column).collect::<Result<_, _>>()?;
    // Saturates for a k beyond any number of rows.
    let (k, budget) = (input.k as usize, (input.suppression_limit * rows.len() as f64).floor() as usize);
    if rows.len() < k && budget < rows.len() {
        let message = format!("there are {} rows, fewer than k: lower k or bring more rows", rows.len());
        return Err(Failure::invalid(&["k"], message));
    }
    let parted = mondrian::part(&columns, rows.len(), k, budget);
    warn(&input, parted.suppressed, context);
    let mut released: BTreeMap<usize, Row> = BTreeMap::new();
    // A suppressed row counts as full loss.
    let mut loss = (parted.suppressed * columns.len()) as f64;
    for class in &parted.classes {
        let labels: Vec<(&String, Value, f64)> = input
            .quasi_identifiers
            .iter()
            .zip(&columns)
            .map(|(name, column)| (name, column.label(class), column.width(class)))
            .collect();
        for (index, row) in class.iter().filter_map(|index| Some((*index, *rows.get(*index)?))) {
            let mut row = row.clone();
            row.retain(|name, _| !input.direct_identifiers.contains(name));
            for (name, label, width) in &labels {
                loss += width;
                row.insert((*name).clone(), label.clone());
            }
            released.insert(index, row);
        }
    }
    let smallest = parted.classes.iter().map(Vec::len).min().unwrap_or(0);
    Ok(Output {
        rows: released.into_values().map(Value::Object).collect(),
        k: smallest,
        l_diversity: measures::l_diversity(&rows, &parted.classes, &input.sensitive),
        t_closeness: measures::t_closeness(&rows, &parted.classes, &input.sensitive),
        suppressed: parted.suppressed,
        prosecutor_risk: if smallest == 0 { 0.0 } else { 1.0 / smallest as f64 },
        information_loss: (loss / (rows.len() * columns.len()).max(1) as f64).clamp(0.0, 1.0),
    })
}

fn warn(input: &Input, suppressed: usize, context: &Context) {
    if suppressed > 0 {
        context.warn(format!("{suppressed} rows are suppressed because they fit no class of k rows"));
    }
    if !input.direct_identifiers.is_empty() {
        context.warn("direct identifiers are dropped: there is no key to make pseudonyms with");
    }
    for name in input.hierarchies.keys().filter(|name| !input.quasi_identifiers.contains(name)) {
        context.warn(format!("the hierarchy of {name} is not used: {name} is not a quasi-identifier"));
    }
}

fn checked(input: &Input) -> Result<Vec<&Row>, Failure> {
    if input.quasi_identifiers.is_empty() {
        return Err(Failure::invalid(
            &["quasi_identifiers"],
            "is empty: name the columns that could identify a person",
        ));
    }
    if input.rows.len().saturating_mul(input.quasi_identifiers.len()) > MAX_CELLS {
        return Err(Failure::too_large(format!("rows times quasi-identifiers are more than {MAX_CELLS}")));
    }
    for (index, name) in input.quasi_identifiers.iter().enumerate() {
        let twice = input.quasi_identifiers.iter().take(index).any(|other| other == name);
        if twice || input.sensitive.contains(name) || input.direct_identifiers.contains(name) {
            let message = format!("{name:?} is named twice: a column is of one kind");
            return Err(Failure::invalid(&["quasi_identifiers", &index.to_string()], message));
        }
    }
    let wrong = |index: usize| Failure::invalid(&["rows", &index.to_string()], "must be an object of columns");
    input.rows.iter().enumerate().map(|(index, row)| row.as_object().ok_or_else(|| wrong(index))).collect()
}
