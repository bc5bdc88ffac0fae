//! q101: clusters of rows.

use muster_engine::prelude::*;
use muster_kernel_numeric::sample::Sampler;
use muster_kernel_numeric::table;

use crate::clustering::{Points, kmeans, silhouettes, ward};
use crate::support::check_series;

const MAX_ROWS: usize = 3_000;
const MAX_CELLS: usize = 60_000;
/// Clusters that are tried where `k` is absent.
const MOST: usize = 10;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    rows: Vec<Vec<f64>>,
    k: Option<i64>,
    method: Method,
    standardise: bool,
    seed: i64,
}

/// Methods.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum Method {
    /// Centres.
    Kmeans,
    /// A tree of merged clusters.
    Ward,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    labels: Vec<i64>,
    centres: Vec<Vec<f64>>,
    silhouette: Option<f64>,
    inertia: f64,
    k: i64,
    profile: Vec<Profile>,
}

#[derive(Output)]
struct Profile {
    cluster: i64,
    size: i64,
    means: Vec<f64>,
}

/// Clusters the rows.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` (`too_few`).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let n = input.rows.len();
    let width = input.rows.first().map_or(0, Vec::len);
    if n > MAX_ROWS || n * width > MAX_CELLS {
        return Err(Failure::too_large(format!("rows: at most {MAX_ROWS}, with {MAX_CELLS} numbers in all")));
    }
    for row in &input.rows {
        check_series(row, "rows", 0, MAX_CELLS)?;
    }
    let mut matrix = table::matrix(&input.rows).map_err(|error| match error {
        table::TableError::Empty => Failure::invalid(&["rows"], "at least one row with one number is needed"),
        table::TableError::Ragged(at) => {
            Failure::invalid(&["rows", &at.to_string()], "has another width than the first row")
        }
    })?;
    table::standardise(&mut matrix, input.standardise, 0);
    let points = Points::of(&matrix);
    let distinct = points.distinct();
    let ks: Vec<usize> = match input.k {
        Some(k) => vec![usize::try_from(k).unwrap_or(2)],
        None => (2..=MOST.min(n.saturating_sub(1))).filter(|k| *k <= distinct).collect(),
    };
    if ks.is_empty() || ks.iter().any(|k| *k > distinct) {
        let problem = format!("the rows have {distinct} different values, which is too few for the clusters");
        return Err(Failure::no_answer(NoAnswer::TooFew, problem));
    }
    let mut sampler = Sampler::new(input.seed);
    let labellings: Vec<Vec<usize>> = match input.method {
        Method::Kmeans => ks.iter().map(|k| kmeans(&points, *k, &mut sampler)).collect(),
        Method::Ward => ward(&points, &ks),
    };
    let scores = silhouettes(&points, &labellings);
    let best = (0..labellings.len()).max_by(|a, b| {
        let score = |at: &usize| scores.get(*at).copied().flatten().unwrap_or(-1.0);
        // Of equal scores the fewest clusters.
        score(a).total_cmp(&score(b)).then(b.cmp(a))
    });
    let Some(at) = best else { return Err(Failure::internal("no clusters")) };
    let labels = labellings.get(at).cloned().unwrap_or_default();
    let k = labels.iter().max().map_or(0, |l| l + 1);
    let silhouette = scores.get(at).copied().flatten();
    if input.standardise {
        cx.warn("standardised: inertia and silhouette are of the scaled columns; centres are in the given units");
    }
    let centres: Vec<Vec<f64>> = (0..k)
        .map(|cluster| {
            let members: Vec<&Vec<f64>> =
                input.rows.iter().zip(&labels).filter(|(_, l)| **l == cluster).map(|(row, _)| row).collect();
            let mean = |column: usize| {
                let values: Vec<f64> = members.iter().filter_map(|row| row.get(column).copied()).collect();
                muster_kernel_numeric::summary::mean(&values)
            };
            (0..width).map(mean).collect()
        })
        .collect();
    let size = |cluster: usize| labels.iter().filter(|l| **l == cluster).count() as i64;
    let profile = centres
        .iter()
        .enumerate()
        .map(|(cluster, means)| Profile { cluster: cluster as i64, size: size(cluster), means: means.clone() })
        .collect();
    Ok(Output {
        inertia: points.inertia(&labels),
        labels: labels.into_iter().map(|l| l as i64).collect(),
        centres,
        silhouette,
        k: k as i64,
        profile,
    })
}
