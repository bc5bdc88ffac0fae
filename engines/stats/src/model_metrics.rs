//! q91: model evaluation.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::ranks::Ranks;
use muster_kernel_numeric::summary;

use crate::labels::{self, Labels};
use crate::ranking;
use crate::support::{check_same, check_series, finite, order, value_at};

const MAX_VALUES: usize = 200_000;
const BINS: usize = 10;
/// Most points of the ROC curve that are returned.
const MAX_ROC: usize = 1_000;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    task: Task,
    truth: Vec<Value>,
    predicted: Option<Vec<Value>>,
    scores: Option<Vec<f64>>,
    runs: Option<Vec<Run>>,
    k: i64,
}

/// Kinds of models.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum Task {
    /// Labels.
    Classification,
    /// Numbers.
    Regression,
    /// Lists.
    Ranking,
}

/// Results of one query.
#[derive(Input)]
pub(crate) struct Run {
    pub(crate) relevant: BTreeMap<String, f64>,
    pub(crate) ranked: Vec<String>,
}

/// Output of the engine.
#[derive(Output, Default)]
pub struct Output {
    metrics: BTreeMap<String, f64>,
    confusion: Option<BTreeMap<String, BTreeMap<String, i64>>>,
    roc: Option<Vec<Vec<f64>>>,
    calibration: Option<Vec<Calibration>>,
    kappa: Option<f64>,
}

/// Scores from `bin` to a tenth above it: their mean and the share of positives.
#[derive(Output)]
struct Calibration {
    bin: f64,
    mean: f64,
    rate: f64,
    n: i64,
}

/// Evaluates the model.
///
/// # Errors
/// `Invalid` (what the task needs is missing), `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.truth.len() > MAX_VALUES {
        return Err(Failure::too_large(format!("truth: at most {MAX_VALUES} values")));
    }
    match input.task {
        Task::Classification => classification(input, cx),
        Task::Regression => regression(&input),
        Task::Ranking => {
            let runs = input.runs.filter(|runs| !runs.is_empty());
            let runs = runs.ok_or_else(|| Failure::invalid(&["runs"], "ranking needs `runs`"))?;
            let metrics = ranking::metrics(&runs, input.k.clamp(1, 1_000_000) as usize)?;
            Ok(Output { metrics, ..Output::default() })
        }
    }
}

fn classification(input: Input, cx: &Context) -> Result<Output, Failure> {
    let rows = input.truth.len();
    let truth = labels::texts("truth", &input.truth)?;
    let scores = input.scores;
    if let Some(scores) = &scores {
        check_same("scores", scores.len(), "truth", rows)?;
        check_series(scores, "scores", 0, MAX_VALUES)?;
    }
    let given = input.predicted.map(|values| labels::texts("predicted", &values)).transpose()?;
    if let Some(predicted) = &given {
        check_same("predicted", predicted.len(), "truth", rows)?;
    }
    if rows == 0 {
        return Err(Failure::no_answer(NoAnswer::TooFew, "truth is empty"));
    }
    let known = Labels::of(truth.iter().chain(given.iter().flatten()));
    let positive = known.positive();
    let mut output = Output::default();
    let predicted = match (given, &scores) {
        (Some(predicted), _) => predicted,
        (None, Some(scores)) if known.names.len() == 2 => {
            cx.warn("predicted: absent, so scores of 0.5 and more count as positive");
            let (no, yes) = (known.names.first().cloned().unwrap_or_default(), positive.clone().unwrap_or_default());
            scores.iter().map(|s| if *s >= 0.5 { yes.clone() } else { no.clone() }).collect()
        }
        _ => return Err(Failure::invalid(&["predicted"], "is needed, or `scores` for two classes")),
    };
    let table = known.table(&truth, &predicted);
    output.metrics = labels::metrics(&table, known.names.len() == 2);
    output.kappa = labels::kappa(&table);
    output.confusion = Some(known.confusion(&table)?);
    if let Some(scores) = scores {
        match positive {
            Some(positive) if known.names.len() == 2 => {
                let is: Vec<bool> = truth.iter().map(|label| *label == positive).collect();
                add_scores(&mut output, &is, &scores, cx);
            }
            _ => cx.warn("scores: used for two classes only"),
        }
    }
    Ok(output)
}

fn add_scores(output: &mut Output, is: &[bool], scores: &[f64], cx: &Context) {
    let mut add = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            output.metrics.insert(name.to_owned(), value);
        }
    };
    add("roc_auc", auc(is, scores));
    let (curve, precision) = curves(is, scores);
    add("average_precision", precision);
    let n = scores.len() as f64;
    if scores.iter().all(|s| (0.0..=1.0).contains(s)) {
        let truth = |is: &bool| if *is { 1.0 } else { 0.0 };
        add("brier", Some(summary::sum(is.iter().zip(scores).map(|(is, s)| (s - truth(is)).powi(2))) / n));
        let limit = |s: f64| s.clamp(f64::EPSILON, 1.0 - f64::EPSILON);
        let losses = is.iter().zip(scores).map(|(is, s)| -if *is { limit(*s).ln() } else { (1.0 - limit(*s)).ln() });
        add("log_loss", Some(summary::sum(losses) / n));
        let bins = calibration(is, scores);
        add("ece", Some(bins.iter().map(|bin| bin.n as f64 / n * (bin.mean - bin.rate).abs()).sum()));
        output.calibration = Some(bins);
    } else {
        cx.warn("scores: outside of 0 to 1, so they are no probabilities: no brier, log_loss and calibration");
    }
    output.roc = curve;
}

/// Area under the ROC curve: the share of pairs in order, ties half. `None` without both classes.
pub(crate) fn auc(is: &[bool], scores: &[f64]) -> Option<f64> {
    let positives = is.iter().filter(|is| **is).count() as f64;
    let negatives = is.len() as f64 - positives;
    let ranks = Ranks::of(scores).ranks;
    let sum: f64 = is.iter().zip(&ranks).filter(|(is, _)| **is).map(|(_, r)| r).sum();
    finite((sum - positives * (positives + 1.0) / 2.0) / (positives * negatives))
}

/// The ROC curve from (0, 0) to (1, 1), and the average precision: the sum of precision times the step of recall.
fn curves(is: &[bool], scores: &[f64]) -> (Option<Vec<Vec<f64>>>, Option<f64>) {
    let positives = is.iter().filter(|is| **is).count() as f64;
    let negatives = is.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return (None, None);
    }
    let falling: Vec<usize> = order(scores).into_iter().rev().collect();
    let (mut hits, mut false_alarms, mut average) = (0.0, 0.0, 0.0);
    let mut points = vec![vec![0.0, 0.0]];
    for group in falling.chunk_by(|a, b| value_at(scores, *a) == value_at(scores, *b)) {
        let new = group.iter().filter(|at| is.get(**at).copied().unwrap_or(false)).count() as f64;
        hits += new;
        false_alarms += group.len() as f64 - new;
        average += new / positives * (hits / (hits + false_alarms));
        points.push(vec![false_alarms / negatives, hits / positives]);
    }
    let step = points.len().div_ceil(MAX_ROC).max(1);
    let last = points.len() - 1;
    let kept = points.into_iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last).map(|(_, p)| p);
    (Some(kept.collect()), Some(average))
}

fn calibration(is: &[bool], scores: &[f64]) -> Vec<Calibration> {
    let mut sums = [(0.0, 0_i64, 0_i64); BINS];
    for (is, score) in is.iter().zip(scores) {
        let at = ((score * BINS as f64) as usize).min(BINS - 1);
        if let Some((sum, hits, n)) = sums.get_mut(at) {
            *sum += score;
            *hits += i64::from(*is);
            *n += 1;
        }
    }
    let filled = sums.into_iter().enumerate().filter(|(_, (_, _, n))| *n > 0);
    filled
        .map(|(at, (sum, hits, n))| Calibration {
            bin: at as f64 / BINS as f64,
            mean: sum / n as f64,
            rate: hits as f64 / n as f64,
            n,
        })
        .collect()
}

fn regression(input: &Input) -> Result<Output, Failure> {
    let predicted =
        input.predicted.as_ref().ok_or_else(|| Failure::invalid(&["predicted"], "regression needs `predicted`"))?;
    check_same("predicted", predicted.len(), "truth", input.truth.len())?;
    let (truth, predicted) = (labels::numbers("truth", &input.truth)?, labels::numbers("predicted", predicted)?);
    check_series(&truth, "truth", 1, MAX_VALUES)?;
    check_series(&predicted, "predicted", 1, MAX_VALUES)?;
    let errors: Vec<f64> = truth.iter().zip(&predicted).map(|(t, p)| t - p).collect();
    let sizes: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
    let n = errors.len() as f64;
    let mse = summary::sum(errors.iter().map(|e| e * e)) / n;
    let total = summary::squares(&truth);
    let mape = truth.iter().zip(&sizes).map(|(t, e)| e / t.abs());
    let values = [
        ("mae", Some(summary::mean(&sizes))),
        ("mse", Some(mse)),
        ("rmse", Some(mse.sqrt())),
        ("median_absolute_error", Some(summary::median(&sizes))),
        ("max_error", sizes.iter().copied().reduce(f64::max)),
        ("bias", Some(-summary::mean(&errors))),
        ("r2", finite(1.0 - mse * n / total)),
        ("explained_variance", finite(1.0 - summary::squares(&errors) / total)),
        ("mape", finite(summary::sum(mape) / n)),
        ("correlation", summary::correlation(&truth, &predicted)),
    ];
    let metrics = values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    Ok(Output { metrics, ..Output::default() })
}
