//! q113: duplicate detection and record linkage.

mod blocking;
mod compare;
mod model;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use compare::Kind;
use model::Model;
use muster_engine::prelude::*;

/// Maximum number of values that are compared with another: each is kept until the model is fitted.
const MAX_COMPARISONS: usize = 4_000_000;
/// Maximum number of reported matches, and of reported pairs to review.
const MAX_TOLD: usize = 20_000;

#[derive(Input)]
pub struct Input {
    left: Vec<Value>,
    right: Option<Vec<Value>>,
    fields: Vec<Field>,
    block_on: Vec<String>,
    threshold: f64,
}

#[derive(Input)]
struct Field {
    name: String,
    kind: Kind,
    /// Weight of the field's log-odds; 1 by default.
    weight: Option<f64>,
}

#[derive(Output)]
pub struct Output {
    /// Most likely first. For a single table, both are indices into it.
    matches: Vec<Match>,
    /// Indices into the first table; those of the second continue after its end.
    clusters: Vec<Vec<usize>>,
    review: Vec<Doubt>,
    compared: usize,
}

#[derive(Output)]
struct Match {
    left: usize,
    right: usize,
    /// Probability that both are the same.
    score: f64,
    /// Similarity per field, 0 to 1; fields that either lacks are omitted.
    fields: BTreeMap<String, f64>,
}

#[derive(Output)]
struct Doubt {
    left: usize,
    right: usize,
    score: f64,
}

type Record = Map<String, Value>;

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.fields.is_empty() {
        return Err(Failure::invalid(&["fields"], "is empty: name the fields that are compared"));
    }
    if let Some(index) = input.fields.iter().position(|field| field.weight.is_some_and(|weight| weight < 0.0)) {
        return Err(Failure::invalid(&["fields", &index.to_string(), "weight"], "must be 0 or more"));
    }
    let left = records("left", &input.left)?;
    let right = input.right.as_deref().map(|right| records("right", right)).transpose()?;
    let pairs = blocking::pairs(&left, right.as_deref(), &input.block_on)?;
    if pairs.len().saturating_mul(input.fields.len()) > MAX_COMPARISONS {
        return Err(Failure::too_large(format!(
            "pairs times fields may be at most {MAX_COMPARISONS}: compare fewer fields, or block on finer ones"
        )));
    }
    let others = right.as_deref().unwrap_or(&left);
    let alike: Vec<Vec<Option<f64>>> = {
        let prepared = [&left[..], others].map(|records| compare::prepare(records, &input.fields));
        let [prepared, other] = &prepared;
        pairs.iter().map(|&(one, two)| compare::alike(prepared.get(one), other.get(two), &input.fields)).collect()
    };
    let model = Model::fitted(&alike, &input.fields, left.len().min(others.len()));
    let mut scored: Vec<(f64, usize, usize, &Vec<Option<f64>>)> = pairs
        .iter()
        .zip(&alike)
        .map(|(&(one, two), alike)| (model.probability(alike), one, two, alike))
        .filter(|(score, ..)| *score >= input.threshold / 2.0)
        .collect();
    scored.sort_by(|one, two| two.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(two.1, two.2))));
    let sure = scored.partition_point(|(score, ..)| *score >= input.threshold);
    let (matched, doubtful) = scored.split_at_checked(sure).unwrap_or_default();
    if matched.len().max(doubtful.len()) > MAX_TOLD {
        context.warn(format!("only the first {MAX_TOLD} matches, and as many to review, are reported"));
    }
    let shift = if right.is_some() { left.len() } else { 0 };
    let linked = matched.iter().map(|&(_, one, two, _)| (one, two.saturating_add(shift)));
    let clusters = clusters(linked, left.len().saturating_add(right.as_ref().map_or(0, Vec::len)));
    let named = |alike: &[Option<f64>]| {
        let fields = input.fields.iter().zip(alike);
        fields.filter_map(|(field, alike)| Some((field.name.clone(), (*alike)?))).collect()
    };
    let matches = matched.iter().take(MAX_TOLD);
    let review = doubtful.iter().take(MAX_TOLD);
    Ok(Output {
        matches: matches
            .map(|&(score, left, right, alike)| Match { left, right, score, fields: named(alike) })
            .collect(),
        clusters,
        review: review.map(|&(score, left, right, _)| Doubt { left, right, score }).collect(),
        compared: pairs.len(),
    })
}

fn records<'a>(field: &str, rows: &'a [Value]) -> Result<Vec<&'a Record>, Failure> {
    let wrong = |index: usize| Failure::invalid(&[field, &index.to_string()], "must be an object of fields");
    rows.iter().enumerate().map(|(index, row)| row.as_object().ok_or_else(|| wrong(index))).collect()
}

/// Groups of records linked by matches, directly or transitively.
fn clusters(linked: impl Iterator<Item = (usize, usize)>, records: usize) -> Vec<Vec<usize>> {
    let mut parents: Vec<usize> = (0..records).collect();
    for (one, two) in linked {
        let (one, two) = (root(&mut parents, one), root(&mut parents, two));
        if let Some(parent) = parents.get_mut(one.max(two)) {
            *parent = one.min(two);
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for record in 0..records {
        groups.entry(root(&mut parents, record)).or_default().push(record);
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

/// Finds a record's representative, with path halving.
fn root(parents: &mut [usize], mut at: usize) -> usize {
    while let Some(&parent) = parents.get(at).filter(|parent| **parent != at) {
        let above = parents.get(parent).copied().unwrap_or(parent);
        if let Some(place) = parents.get_mut(at) {
            *place = above;
        }
        at = above;
    }
    at
}
