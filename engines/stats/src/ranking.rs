//! Metrics of ranked lists (q91), each a mean over the queries.

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;

use crate::model_metrics::Run;

const MAX_RUNS: usize = 20_000;
const MAX_ITEMS: usize = 500_000;
/// Largest grade: 2^grade is a number, and its sums are.
const MAX_GRADE: f64 = 100.0;

/// Returns nDCG, recall, precision and average precision of the first `k`, and the mean reciprocal rank.
///
/// # Errors
/// `Invalid` (a grade out of range, an item twice), `TooLarge`.
pub(crate) fn metrics(runs: &[Run], k: usize) -> Result<BTreeMap<String, f64>, Failure> {
    if runs.len() > MAX_RUNS || runs.iter().map(|r| r.ranked.len() + r.relevant.len()).sum::<usize>() > MAX_ITEMS {
        return Err(Failure::too_large(format!("runs: at most {MAX_RUNS}, with {MAX_ITEMS} items in all")));
    }
    let names = ["ndcg", "mrr", "recall", "precision", "map"];
    let mut sums = [0.0; 5];
    for (at, run) in runs.iter().enumerate() {
        let here = at.to_string();
        if let Some((item, _)) = run.relevant.iter().find(|(_, grade)| !(0.0..=MAX_GRADE).contains(*grade)) {
            return Err(Failure::invalid(&["runs", &here, "relevant", item], "a grade is from 0 to 100"));
        }
        let mut seen = BTreeSet::new();
        if !run.ranked.iter().all(|item| seen.insert(item)) {
            return Err(Failure::invalid(&["runs", &here, "ranked"], "an item is ranked twice"));
        }
        for (sum, value) in sums.iter_mut().zip(of_run(run, k)) {
            *sum += value;
        }
    }
    Ok(names.iter().zip(sums).map(|(name, sum)| ((*name).to_owned(), sum / runs.len() as f64)).collect())
}

/// A query without relevant items counts as 0 everywhere.
fn of_run(run: &Run, k: usize) -> [f64; 5] {
    let gain = |grade: f64, place: usize| (grade.exp2() - 1.0) / (place as f64 + 2.0).log2();
    let grade = |item: &String| run.relevant.get(item).copied().unwrap_or(0.0);
    let relevant = run.relevant.values().filter(|grade| **grade > 0.0).count();
    let dcg: f64 = run.ranked.iter().take(k).enumerate().map(|(place, item)| gain(grade(item), place)).sum();
    let mut ideal: Vec<f64> = run.relevant.values().copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let best: f64 = ideal.into_iter().take(k).enumerate().map(|(place, grade)| gain(grade, place)).sum();
    let first = run.ranked.iter().position(|item| grade(item) > 0.0).map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
    let (mut hits, mut precisions) = (0.0, 0.0);
    for (place, item) in run.ranked.iter().take(k).enumerate() {
        if grade(item) > 0.0 {
            hits += 1.0;
            precisions += hits / (place as f64 + 1.0);
        }
    }
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let relevant = relevant as f64;
    [share(dcg, best), first, share(hits, relevant), hits / k as f64, share(precisions, relevant)]
}
