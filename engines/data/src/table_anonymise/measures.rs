//! Disclosure measures of classes for sensitive values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Row;
use super::column::{Class, text};

fn values<'a>(rows: &'a [&'a Row], class: &'a [usize], name: &'a str) -> impl Iterator<Item = &'a Value> {
    class.iter().filter_map(|row| rows.get(*row)).map(move |row| row.get(name).unwrap_or(&Value::Null))
}

/// Minimum number of distinct sensitive values in a class (distinct l-diversity, Machanavajjhala et al. 2007).
pub(super) fn l_diversity(rows: &[&Row], classes: &[Class], sensitive: &[String]) -> Option<usize> {
    let distinct = |class: &Class, name: &str| values(rows, class, name).map(text).collect::<BTreeSet<_>>().len();
    sensitive.iter().flat_map(|name| classes.iter().map(move |class| distinct(class, name))).min()
}

/// Maximum distance between a class's distribution of a sensitive column and that of the whole table (Li, Li,
/// Venkatasubramanian 2007): ordered distance for numbers, equal distance for categories.
pub(super) fn t_closeness(rows: &[&Row], classes: &[Class], sensitive: &[String]) -> Option<f64> {
    let all: Class = classes.iter().flatten().copied().collect();
    sensitive.iter().filter_map(|name| farthest(rows, classes, &all, name)).max_by(f64::total_cmp)
}

fn farthest(rows: &[&Row], classes: &[Class], all: &[usize], name: &str) -> Option<f64> {
    let numbers: Option<Vec<f64>> = values(rows, all, name).map(Value::as_f64).collect();
    let numeric = numbers.is_some();
    // Ranks of the distinct values: numbers by size, others by their text.
    let known: Vec<&Value> = {
        let mut known: Vec<&Value> = values(rows, all, name).collect();
        known.sort_by(|one, other| match (numeric, one.as_f64(), other.as_f64()) {
            (true, Some(one), Some(other)) => one.total_cmp(&other),
            _ => text(one).cmp(&text(other)),
        });
        known.dedup_by(|one, other| if numeric { one.as_f64() == other.as_f64() } else { text(one) == text(other) });
        known
    };
    let key = |value: &Value| value.as_f64().filter(|_| numeric).map_or_else(|| text(value), |float| float.to_string());
    let places: BTreeMap<String, usize> = known.iter().enumerate().map(|(place, value)| (key(value), place)).collect();
    let shares = |class: &[usize]| {
        let mut shares = vec![0.0; known.len()];
        for value in values(rows, class, name) {
            if let Some(share) = places.get(&key(value)).and_then(|place| shares.get_mut(*place)) {
                *share += 1.0 / class.len() as f64;
            }
        }
        shares
    };
    let whole = shares(all);
    classes
        .iter()
        .map(|class| if numeric { along(&shares(class), &whole) } else { apart(&shares(class), &whole) })
        .max_by(f64::total_cmp)
}

/// Earth mover's distance over ordered values.
fn along(one: &[f64], other: &[f64]) -> f64 {
    let mut carried = 0.0;
    let mut work = 0.0;
    for (one, other) in one.iter().zip(other) {
        carried += one - other;
        work += f64::abs(carried);
    }
    if one.len() > 1 { work / one.len().saturating_sub(1) as f64 } else { 0.0 }
}

/// Half of the summed differences.
fn apart(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).sum::<f64>() / 2.0
}
