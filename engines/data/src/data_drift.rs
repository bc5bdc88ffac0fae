//! q117: Data drift.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use muster_engine::prelude::*;

/// Replaces a share of zero in the PSI.
const EPSILON: f64 = 1e-4;
/// Siddiqi's thresholds of the PSI.
const MODERATE: f64 = 0.1;
const MAJOR: f64 = 0.25;
/// Maximum number of new categories reported per column.
const MAX_NEW: usize = 100;
/// Product of both sample sizes up to which the KS test's p is exact; exact computation takes one step per element.
const MAX_EXACT: usize = 1_000_000;

#[derive(Input)]
pub struct Input {
    baseline: BTreeMap<String, Vec<Value>>,
    current: BTreeMap<String, Vec<Value>>,
    bins: usize,
}

#[derive(Output)]
pub struct Output {
    columns: Vec<Column>,
    /// Share of columns that are not stable.
    drifted_share: f64,
}

#[derive(Output)]
struct Column {
    name: String,
    kind: &'static str,
    psi: f64,
    ks: f64,
    ks_p: f64,
    /// The divergence, in bits: 0 to 1.
    js: f64,
    missing_change: f64,
    new_values: Vec<String>,
    status: Status,
}

#[derive(PartialEq, Words)]
#[wire(case = "lower")]
enum Status {
    Stable,
    Moderate,
    Major,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let names: BTreeSet<&String> = input.baseline.keys().chain(input.current.keys()).collect();
    let none = Vec::new();
    let columns: Vec<Column> = names
        .into_iter()
        .map(|name| {
            for (side, columns) in [("baseline", &input.baseline), ("current", &input.current)] {
                if !columns.contains_key(name) {
                    context.warn(format!("{name} is not in {side}: taken as a column without values"));
                }
            }
            let [baseline, current] = [&input.baseline, &input.current].map(|of| of.get(name).unwrap_or(&none));
            column(name, baseline, current, input.bins, context)
        })
        .collect();
    let drifted = columns.iter().filter(|column| column.status != Status::Stable).count();
    let drifted_share = if columns.is_empty() { 0.0 } else { drifted as f64 / columns.len() as f64 };
    Ok(Output { columns, drifted_share })
}

fn column(name: &str, baseline: &[Value], current: &[Value], bins: usize, context: &Context) -> Column {
    let there = |values: &&Value| !values.is_null();
    let numeric = baseline.iter().chain(current).filter(there).all(Value::is_number);
    let (kind, found) = if numeric {
        let numbers = |values: &[Value]| {
            let mut numbers: Vec<f64> = values.iter().filter_map(Value::as_f64).collect();
            numbers.sort_by(f64::total_cmp);
            numbers
        };
        ("numeric", of_numbers(&numbers(baseline), &numbers(current), bins))
    } else {
        context.warn(format!("{name} is not of numbers: its ks is 0, its ks_p 1"));
        ("categorical", of_categories(baseline, current))
    };
    if found.left_out > 0 {
        context.warn(format!("{name}: {} more new values are omitted", found.left_out));
    }
    let missing = |values: &[Value]| match values.len() {
        0 => 1.0,
        all => values.iter().filter(|value| value.is_null()).count() as f64 / all as f64,
    };
    let psi = psi(&found.baseline, &found.current);
    // A column whose values all disappeared or are all new is treated as another column.
    let vanished = found.baseline.is_empty() != found.current.is_empty();
    let status = match psi {
        _ if vanished => Status::Major,
        psi if psi < MODERATE => Status::Stable,
        psi if psi < MAJOR => Status::Moderate,
        _ => Status::Major,
    };
    Column {
        name: name.to_owned(),
        kind,
        psi,
        ks: if vanished && numeric { 1.0 } else { found.ks },
        ks_p: if vanished && numeric { 0.0 } else { found.p },
        js: if vanished { 1.0 } else { divergence(&found.baseline, &found.current) },
        missing_change: missing(current) - missing(baseline),
        new_values: found.new_values,
        status,
    }
}

/// Two distributions over the same bins; either is empty if it has no values.
struct Distributions {
    baseline: Vec<f64>,
    current: Vec<f64>,
    ks: f64,
    p: f64,
    new_values: Vec<String>,
    left_out: usize,
}

fn shares(counts: &[usize]) -> Vec<f64> {
    let all: usize = counts.iter().sum();
    if all == 0 { Vec::new() } else { counts.iter().map(|count| *count as f64 / all as f64).collect() }
}

fn of_numbers(baseline: &[f64], current: &[f64], bins: usize) -> Distributions {
    let mut edges: Vec<f64> = (1..bins).filter_map(|at| quantile(baseline, at as f64 / bins as f64)).collect();
    edges.dedup();
    let counted = |values: &[f64]| {
        let mut counts = vec![0; edges.len().saturating_add(1)];
        for value in values {
            // Bins are closed on the left.
            if let Some(count) = counts.get_mut(edges.partition_point(|edge| edge <= value)) {
                *count += 1;
            }
        }
        shares(&counts)
    };
    let ks = statistic(baseline, current);
    let p = significance(ks, baseline.len(), current.len());
    Distributions { baseline: counted(baseline), current: counted(current), ks, p, new_values: vec![], left_out: 0 }
}

/// Linear interpolation (Hyndman & Fan 1996, type 7) of `sorted`.
fn quantile(sorted: &[f64], at: f64) -> Option<f64> {
    let place = at * sorted.len().checked_sub(1)? as f64;
    let low = sorted.get(place.floor() as usize)?;
    let high = sorted.get(place.ceil() as usize)?;
    Some(low + (high - low) * place.fract())
}

/// Maximum distance of the empirical distribution functions. Both inputs are sorted.
fn statistic(one: &[f64], other: &[f64]) -> f64 {
    if one.is_empty() || other.is_empty() {
        return 0.0;
    }
    let (mut at, mut beside, mut most) = (0, 0, 0.0_f64);
    while let (Some(left), Some(right)) = (one.get(at), other.get(beside)) {
        let value = left.min(*right);
        at += one.get(at..).unwrap_or_default().iter().take_while(|next| **next <= value).count();
        beside += other.get(beside..).unwrap_or_default().iter().take_while(|next| **next <= value).count();
        most = most.max((at as f64 / one.len() as f64 - beside as f64 / other.len() as f64).abs());
    }
    most
}

/// Probability of at least this distance if both samples have the same distribution: exact by counting the orders of
/// the pooled sample (Hodges 1958), for large samples Kolmogorov's limit with Stephens' correction (1970).
fn significance(distance: f64, one: usize, other: usize) -> f64 {
    if one == 0 || other == 0 || distance <= 0.0 {
        return 1.0;
    }
    if one.saturating_mul(other) <= MAX_EXACT {
        return exact(distance, one.min(other), one.max(other));
    }
    let root = (one as f64 * other as f64 / (one as f64 + other as f64)).sqrt();
    let lambda = (root + 0.12 + 0.11 / root) * distance;
    let term = |k: i32| (-2.0 * f64::from(k * k) * lambda * lambda).exp() * if k % 2 == 0 { -1.0 } else { 1.0 };
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// One minus the share of lattice paths from (0, 0) to (fewer, more) that stay closer to the diagonal than `distance`.
fn exact(distance: f64, fewer: usize, more: usize) -> f64 {
    let (m, n) = (fewer as f64, more as f64);
    // Half a step below: distances are multiples of 1/(m n), which floating point does not represent exactly.
    let limit = (0.5 + (distance * m * n - 1e-7).floor()) / (m * n);
    let mut row: Vec<f64> = (0..=more).map(|j| if j as f64 / n > limit { 0.0 } else { 1.0 }).collect();
    for i in 1..=fewer {
        let weight = i as f64 / (i as f64 + n);
        let mut left = 0.0;
        for (j, share) in row.iter_mut().enumerate() {
            let outside = (i as f64 / m - j as f64 / n).abs() > limit;
            *share = if outside { 0.0 } else { weight * *share + left };
            left = *share;
        }
    }
    (1.0 - row.last().copied().unwrap_or(0.0)).clamp(0.0, 1.0)
}

fn of_categories(baseline: &[Value], current: &[Value]) -> Distributions {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (side, values) in [baseline, current].into_iter().enumerate() {
        for value in values.iter().filter(|value| !value.is_null()) {
            if let Some(count) = counts.entry(text(value)).or_default().get_mut(side) {
                *count += 1;
            }
        }
    }
    let mut new: Vec<String> =
        counts.iter().filter(|(_, [before, _])| *before == 0).map(|(name, _)| name.clone()).collect();
    let left_out = new.len().saturating_sub(MAX_NEW);
    new.truncate(MAX_NEW);
    let [before, now] = [0, 1]
        .map(|side| shares(&counts.values().map(|both| both.get(side).copied().unwrap_or(0)).collect::<Vec<_>>()));
    Distributions { baseline: before, current: now, ks: 0.0, p: 1.0, new_values: new, left_out }
}

/// The population stability index: Σ (q − p) ln(q / p).
fn psi(before: &[f64], now: &[f64]) -> f64 {
    let bins = before.len().max(now.len());
    let share = |shares: &[f64], bin: usize| match shares.get(bin) {
        Some(share) if *share > 0.0 => *share,
        _ => EPSILON,
    };
    (0..bins).map(|bin| (share(before, bin), share(now, bin))).map(|(p, q)| (q - p) * (q / p).ln()).sum()
}

/// The mean divergence of either from the mean of both, in bits (Lin 1991).
fn divergence(before: &[f64], now: &[f64]) -> f64 {
    let part = |p: f64, mean: f64| if p > 0.0 { p * (p / mean).log2() } else { 0.0 };
    let both = before.iter().zip(now).map(|(&p, &q)| part(p, (p + q) / 2.0) + part(q, (p + q) / 2.0));
    (both.sum::<f64>() / 2.0).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} in place of {expected}");
    }

    /// SciPy 1.15: `ks_2samp` of the two, exact p.
    #[test]
    fn the_ks_test_is_that_of_scipy() {
        let test = |one: &[f64], other: &[f64]| {
            let distance = statistic(one, other);
            (distance, significance(distance, one.len(), other.len()))
        };
        let ramp = |from: u32| (from..from + 100).map(f64::from).collect::<Vec<_>>();
        let (d, p) = test(&ramp(0), &ramp(20));
        near(d, 0.2);
        near(p, 0.03638428787491733);
        let (d, p) = test(&[1., 2., 3., 4., 5., 6., 7., 8.], &[3.5, 4.5, 5.5, 9., 10.]);
        near(d, 0.4);
        near(p, 0.585858585858586);
        let (d, p) = test(&[1., 1., 2., 2., 3.], &[2., 2., 3., 3., 3., 4.]);
        near(d, 0.4666666666666667);
        near(p, 0.474025974025974);
    }

    /// The limit's table (Smirnov 1948): λ = 1.36 is the 5 % point.
    #[test]
    fn large_samples_use_the_asymptotic_limit() {
        let (size, lambda) = (20_000, 1.36);
        let p = significance(lambda / (f64::from(size) / 2.0).sqrt(), 20_000, 20_000);
        assert!((p - 0.0495).abs() < 5e-4, "{p}");
    }

    /// SciPy 1.15: the square of `jensenshannon(p, q, 2)`.
    #[test]
    fn the_divergence_is_the_square_of_scipys_distance() {
        near(divergence(&[1.0, 0.0], &[0.0, 1.0]), 1.0);
        near(divergence(&[0.5, 0.5, 0.0], &[0.25, 0.25, 0.5]), 0.3112781244591328);
    }

    /// By hand: shares (1/2, 1/2) to (1/4, 3/4) are (-1/4) ln(1/2) + (1/4) ln(3/2) = ln(3)/4.
    #[test]
    fn the_psi_of_categories() {
        let output = crate::FAMILY
            .run(
                117,
                json!({
                    "baseline": { "c": ["a", "b", "a", "b"], "same": [1, 2, null] },
                    "current": { "c": ["a", "b", "b", "b"], "same": [1, 2, null] },
                }),
                &Context::default(),
            )
            .unwrap();
        let [c, same] = [&output["columns"][0], &output["columns"][1]];
        near(c["psi"].as_f64().unwrap(), 3f64.ln() / 4.0);
        assert_eq!((&c["status"], &c["kind"]), (&json!("major"), &json!("categorical")));
        assert_eq!((&same["status"], &same["psi"], &same["js"]), (&json!("stable"), &json!(0.0), &json!(0.0)));
        assert_eq!(output["drifted_share"], 0.5);
    }

    #[test]
    fn new_and_missing_values_are_reported() {
        let output = crate::FAMILY
            .run(
                117,
                json!({
                    "baseline": { "gone": [1, 2], "x": ["a", "a", "a", null] },
                    "current": { "x": ["a", true, null, null] },
                }),
                &Context::default(),
            )
            .unwrap();
        let [gone, x] = [&output["columns"][0], &output["columns"][1]];
        assert_eq!(
            (&gone["status"], &gone["missing_change"], &gone["ks"]),
            (&json!("major"), &json!(1.0), &json!(1.0))
        );
        assert_eq!((&x["new_values"], &x["missing_change"]), (&json!(["true"]), &json!(0.25)));
    }

    /// Deciles of 0 to 99 hold ten each; twenty further on, the first two are empty and the last has thirty: by hand.
    #[test]
    fn bins_are_quantiles_of_the_baseline() {
        let values = |from: u32| (from..from + 100).collect::<Vec<_>>();
        let input = json!({ "baseline": { "v": values(0) }, "current": { "v": values(20) } });
        let output = crate::FAMILY.run(117, input, &Context::default()).unwrap();
        let expected = 2.0 * (EPSILON - 0.1) * (EPSILON / 0.1).ln() + 0.2 * 3f64.ln();
        near(output["columns"][0]["psi"].as_f64().unwrap(), expected);
    }
}
