//! Labels of classes (q91): any texts, numbers or truth values.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::support::finite;

/// Most classes: the table has their square.
const MAX_CLASSES: usize = 300;

/// The classes in order: numbers by value, then texts.
pub(crate) struct Labels {
    pub(crate) names: Vec<String>,
}

/// Reads labels as texts.
///
/// # Errors
/// `Invalid` for a value that is neither text, number nor truth value.
pub(crate) fn texts(field: &str, values: &[Value]) -> Result<Vec<String>, Failure> {
    let read = |(at, value): (usize, &Value)| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(is) => Ok(if *is { "1".to_owned() } else { "0".to_owned() }),
        // 1 and 1.0 are one class, and so are 0 and −0.
        Value::Number(number) => Ok(number.as_f64().map_or_else(|| number.to_string(), |x| (x + 0.0).to_string())),
        _ => Err(Failure::invalid(&[field, &at.to_string()], "a class is a text, a number or a truth value")),
    };
    values.iter().enumerate().map(read).collect()
}

/// Reads numbers.
///
/// # Errors
/// `Invalid` for a value that is no number.
pub(crate) fn numbers(field: &str, values: &[Value]) -> Result<Vec<f64>, Failure> {
    let read = |(at, value): (usize, &Value)| {
        value.as_f64().ok_or_else(|| Failure::invalid(&[field, &at.to_string()], "must be a number"))
    };
    values.iter().enumerate().map(read).collect()
}

impl Labels {
    pub(crate) fn of<'a>(values: impl Iterator<Item = &'a String>) -> Self {
        let mut names: Vec<String> = values.cloned().collect();
        let number = |name: &str| name.parse::<f64>().ok();
        names.sort_by(|a, b| match (number(a), number(b)) {
            (Some(x), Some(y)) => x.total_cmp(&y),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => a.cmp(b),
        });
        names.dedup();
        Self { names }
    }

    /// The class that counts as positive of two: the last in order, or the only one unless it is 0.
    pub(crate) fn positive(&self) -> Option<String> {
        self.names.last().cloned()
    }

    /// Counts of truth (rows) and prediction (columns).
    pub(crate) fn table(&self, truth: &[String], predicted: &[String]) -> Vec<Vec<f64>> {
        let places: BTreeMap<&str, usize> = self.names.iter().enumerate().map(|(at, n)| (n.as_str(), at)).collect();
        let mut counts: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (t, p) in truth.iter().zip(predicted) {
            if let (Some(t), Some(p)) = (places.get(t.as_str()), places.get(p.as_str())) {
                *counts.entry((*t, *p)).or_default() += 1.0;
            }
        }
        let k = self.names.len();
        // Beyond the limit only `confusion`, which refuses it, would read the table.
        let k = k.min(MAX_CLASSES + 1);
        (0..k).map(|t| (0..k).map(|p| counts.get(&(t, p)).copied().unwrap_or(0.0)).collect()).collect()
    }

    /// The table with names.
    ///
    /// # Errors
    /// `TooLarge` for more than 300 classes.
    pub(crate) fn confusion(&self, table: &[Vec<f64>]) -> Result<BTreeMap<String, BTreeMap<String, i64>>, Failure> {
        if self.names.len() > MAX_CLASSES {
            return Err(Failure::too_large(format!("at most {MAX_CLASSES} classes")));
        }
        let row = |row: &Vec<f64>| self.names.iter().cloned().zip(row.iter().map(|c| *c as i64)).collect();
        Ok(self.names.iter().cloned().zip(table.iter().map(row)).collect())
    }
}

struct Margins {
    rows: Vec<f64>,
    columns: Vec<f64>,
    hits: Vec<f64>,
    total: f64,
}

impl Margins {
    fn of(table: &[Vec<f64>]) -> Self {
        let rows: Vec<f64> = table.iter().map(|row| row.iter().sum()).collect();
        let columns = (0..table.len()).map(|j| table.iter().filter_map(|row| row.get(j)).sum()).collect();
        let hits = table.iter().enumerate().filter_map(|(i, row)| row.get(i).copied()).collect();
        Self { total: rows.iter().sum(), rows, columns, hits }
    }
}

/// Metrics of a table of counts. `precision`, `recall` and `f1` are of the positive class if there are two, else means
/// over the classes; a share of nothing is 0.
pub(crate) fn metrics(table: &[Vec<f64>], binary: bool) -> BTreeMap<String, f64> {
    let margins = Margins::of(table);
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let each: Vec<(f64, f64, f64, f64)> = margins
        .hits
        .iter()
        .zip(margins.rows.iter().zip(&margins.columns))
        .map(|(hit, (row, column))| (share(*hit, *column), share(*hit, *row), share(2.0 * hit, row + column), *row))
        .collect();
    let mean = |of: fn(&(f64, f64, f64, f64)) -> f64| each.iter().map(of).sum::<f64>() / each.len() as f64;
    let present = each.iter().filter(|e| e.3 > 0.0);
    let balanced = present.clone().map(|e| e.1).sum::<f64>() / present.count() as f64;
    let weighted = each.iter().map(|e| e.2 * e.3).sum::<f64>() / margins.total;
    let (precision, recall, f1) = match each.last() {
        Some(last) if binary => (last.0, last.1, last.2),
        _ => (mean(|e| e.0), mean(|e| e.1), mean(|e| e.2)),
    };
    let accuracy = margins.hits.iter().sum::<f64>() / margins.total;
    let mut out = vec![
        ("accuracy", accuracy),
        ("balanced_accuracy", balanced),
        ("precision", precision),
        ("recall", recall),
        ("f1", f1),
        ("f1_macro", mean(|e| e.2)),
        ("f1_weighted", weighted),
        ("f1_micro", accuracy),
        ("mcc", mcc(&margins)),
    ];
    if binary && let ([tn, fp], Some(negatives)) = (table.first().map_or(&[][..], Vec::as_slice), margins.rows.first())
    {
        out.push(("specificity", share(*tn, *negatives)));
        out.push(("false_positive_rate", share(*fp, *negatives)));
    }
    out.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Matthews' correlation for any number of classes (Gorodkin 2004); 0 if one side has one class only.
fn mcc(margins: &Margins) -> f64 {
    let hits: f64 = margins.hits.iter().sum();
    let n = margins.total;
    let cross: f64 = margins.rows.iter().zip(&margins.columns).map(|(r, c)| r * c).sum();
    let rows: f64 = margins.rows.iter().map(|r| r * r).sum();
    let columns: f64 = margins.columns.iter().map(|c| c * c).sum();
    finite((hits * n - cross) / ((n * n - rows).sqrt() * (n * n - columns).sqrt())).unwrap_or(0.0)
}

/// Cohen's kappa; `None` where agreement by chance is certain.
pub(crate) fn kappa(table: &[Vec<f64>]) -> Option<f64> {
    let margins = Margins::of(table);
    let chance: f64 =
        margins.rows.iter().zip(&margins.columns).map(|(r, c)| r * c).sum::<f64>() / margins.total.powi(2);
    let agreed = margins.hits.iter().sum::<f64>() / margins.total;
    finite((agreed - chance) / (1.0 - chance))
}
