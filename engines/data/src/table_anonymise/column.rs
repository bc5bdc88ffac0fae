//! A quasi-identifier: splitting and generalisation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Row;
use muster_engine::Failure;

/// Maximum levels of a hierarchy.
const MAX_LEVELS: usize = 64;
/// Maximum number of values listed for a class.
const MAX_TOLD: usize = 10;
/// The root of every hierarchy.
const ANY: &str = "*";

/// One column over all rows.
pub(super) enum Column {
    /// Numbers, or ranks of ordered values; `names` are then the values.
    Line { places: Vec<f64>, values: Vec<Value>, names: Option<Vec<Value>>, range: f64 },
    /// `leaves` are the distinct paths from the root, sorted, so that each node's are adjacent.
    Tree { of: Vec<usize>, leaves: Vec<Vec<String>>, values: Vec<Value> },
}

/// A subset of rows, by index.
pub(super) type Class = Vec<usize>;

impl Column {
    pub(super) fn of(rows: &[&Row], name: &str, hierarchy: Option<&Value>) -> Result<Self, Failure> {
        let values: Vec<Value> = rows.iter().map(|row| row.get(name).cloned().unwrap_or_default()).collect();
        if let Some(hierarchy) = hierarchy {
            let paths =
                paths(&values, hierarchy).map_err(|message| Failure::invalid(&["hierarchies", name], message))?;
            let leaves: Vec<Vec<String>> = paths.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
            let of = paths.iter().map(|path| leaves.binary_search(path).unwrap_or_default()).collect();
            return Ok(Self::Tree { of, leaves, values });
        }
        let numbers: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
        let (places, names) = match numbers {
            Some(numbers) => (numbers, None),
            None => {
                let known: BTreeMap<String, &Value> = values.iter().map(|value| (text(value), value)).collect();
                let order: Vec<&String> = known.keys().collect();
                let place = |value: &Value| order.binary_search(&&text(value)).unwrap_or_default() as f64;
                (values.iter().map(place).collect(), Some(known.into_values().cloned().collect()))
            }
        };
        let (least, most) = ends(places.iter().copied());
        Ok(Self::Line { places, values, names, range: most - least })
    }

    /// Spread of a class over the column, 0 to 1: share of the numeric range, or of the leaves (normalised certainty
    /// penalty of Xu et al. 2006).
    pub(super) fn width(&self, class: &[usize]) -> f64 {
        match self {
            Self::Line { places, range, .. } => {
                let (least, most) = ends(class.iter().filter_map(|row| places.get(*row).copied()));
                if *range > 0.0 { ((most - least) / range).clamp(0.0, 1.0) } else { 0.0 }
            }
            Self::Tree { of, leaves, .. } => {
                let Some(common) = common(of, leaves, class) else { return 0.0 };
                let (under, all) = (leaves.iter().filter(|leaf| leaf.starts_with(common)).count(), leaves.len());
                if all > 1 { under.saturating_sub(1) as f64 / all.saturating_sub(1) as f64 } else { 0.0 }
            }
        }
    }

    /// Generalised value of a class.
    pub(super) fn label(&self, class: &[usize]) -> Value {
        let (Self::Line { values, .. } | Self::Tree { values, .. }) = self;
        let of = |row: &usize| values.get(*row).unwrap_or(&Value::Null);
        let first = class.first().map(of).unwrap_or(&Value::Null);
        if class.iter().all(|row| of(row) == first) {
            return first.clone();
        }
        match self {
            Self::Tree { of, leaves, .. } => {
                common(of, leaves, class).and_then(|path| path.last()).map_or(ANY, String::as_str).into()
            }
            Self::Line { names: None, places, .. } => {
                let (least, most) = ends(class.iter().filter_map(|row| places.get(*row).copied()));
                format!("[{least}, {most}]").into()
            }
            Self::Line { names: Some(_), .. } => {
                let reported: BTreeSet<String> = class.iter().map(|row| text(of(row))).collect();
                let reported: Vec<String> = reported.into_iter().collect();
                if reported.len() > MAX_TOLD { ANY.into() } else { format!("{{{}}}", reported.join(", ")).into() }
            }
        }
    }

    /// Splits the class: at the median, or by the children of its common node; empty if all values are equal.
    pub(super) fn split(&self, class: &[usize]) -> Vec<Class> {
        match self {
            Self::Line { places, .. } => {
                let at = |row: &usize| places.get(*row).copied().unwrap_or_default();
                let mut sorted: Vec<f64> = class.iter().map(at).collect();
                sorted.sort_by(f64::total_cmp);
                let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
                let below =
                    |strict| class.iter().partition(|row| if strict { at(row) < median } else { at(row) <= median });
                // Of the two cuts beside the median, the more balanced one.
                let cuts: [(Class, Class); 2] = [below(true), below(false)];
                let best = cuts.into_iter().max_by_key(|(low, high)| low.len().min(high.len()));
                best.filter(|(low, high)| !low.is_empty() && !high.is_empty())
                    .map_or_else(Vec::new, |(low, high)| vec![low, high])
            }
            Self::Tree { of, leaves, .. } => {
                let depth = common(of, leaves, class).map_or(0, <[String]>::len);
                let mut children: BTreeMap<Option<&String>, Class> = BTreeMap::new();
                for row in class {
                    let path = of.get(*row).and_then(|leaf| leaves.get(*leaf));
                    children.entry(path.and_then(|path| path.get(depth))).or_default().push(*row);
                }
                if children.len() < 2 { Vec::new() } else { children.into_values().collect() }
            }
        }
    }
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn ends(places: impl Iterator<Item = f64>) -> (f64, f64) {
    places.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), place| (least.min(place), most.max(place)))
}

/// Common path prefix of a class. That of the least and the greatest is that of all between.
fn common<'a>(of: &[usize], leaves: &'a [Vec<String>], class: &[usize]) -> Option<&'a [String]> {
    let leaf = |row: &usize| of.get(*row).copied();
    let least = leaves.get(class.iter().filter_map(leaf).min()?)?;
    let most = leaves.get(class.iter().filter_map(leaf).max()?)?;
    let depth = least.iter().zip(most).take_while(|(one, other)| one == other).count();
    least.get(..depth)
}

/// Paths from the root to each value.
fn paths(values: &[Value], hierarchy: &Value) -> Result<Vec<Vec<String>>, String> {
    let how = "must be an object: of each value its ancestors from near to far, {\"Oslo\": [\"Norway\", \"Europe\"]}, \
               or its parent, {\"Oslo\": \"Norway\", \"Norway\": \"Europe\"}";
    let hierarchy = hierarchy.as_object().ok_or(how)?;
    let path = |value: &Value| {
        let mut path = vec![text(value)];
        let mut at = hierarchy.get(&text(value));
        while let Some(next) = at {
            at = match next {
                Value::String(parent) => {
                    path.push(parent.clone());
                    hierarchy.get(parent)
                }
                Value::Array(ancestors) => {
                    path.extend(ancestors.iter().map(text));
                    None
                }
                _ => return Err(how.to_owned()),
            };
            if path.len() > MAX_LEVELS {
                return Err(format!("has a circle or more than {MAX_LEVELS} levels at {value}"));
            }
        }
        path.push(ANY.to_owned());
        path.dedup();
        path.reverse();
        Ok(path)
    };
    values.iter().map(path).collect()
}
