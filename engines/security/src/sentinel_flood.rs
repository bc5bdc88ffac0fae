//! q148: traffic flood.

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;

use crate::verdict::{Verdict, finding, listed, score, verdict};

/// Maximum number of rows.
const MAX_ROWS: usize = 200_000;
/// Maximum total of requests, so that sums are exact.
const MAX_REQUESTS: u64 = 1 << 52;
/// Minutes that a baseline needs.
const WARM_UP: usize = 5;
/// Slack and bound of the cumulative sums, in units of the logarithm of the rate.
const SLACK: f64 = 0.25;
const BOUND: f64 = 3.0;
/// Sources that are listed.
const MAX_SOURCES: usize = 20;

#[derive(Debug, Input)]
pub struct Input {
    traffic: Vec<Row>,
    baseline_minutes: i64,
    threshold: f64,
}

#[derive(Debug, Input)]
struct Row {
    time: Timestamp,
    source: String,
    requests: i64,
    bytes: Option<i64>,
    path: Option<String>,
}

#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    surge_factor: f64,
    source_entropy: f64,
    top_sources: Vec<Share>,
}

#[derive(Debug, Output)]
struct Share {
    source: String,
    share: f64,
}

/// Requests of a minute.
#[derive(Default)]
struct Minute<'a> {
    requests: u64,
    by_source: BTreeMap<&'a str, u64>,
}

/// What the rates of the minutes show.
#[derive(Default)]
struct Rates {
    surge: f64,
    /// Minute of the greatest surge.
    at: Option<i64>,
    rise: f64,
    fall: f64,
    lowest: f64,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { traffic, baseline_minutes, threshold } = input;
    if traffic.len() > MAX_ROWS {
        return Err(Failure::too_large(format!(
            "traffic has {} rows, at most {MAX_ROWS} are allowed: send a shorter time",
            traffic.len()
        )));
    }
    let mut minutes: BTreeMap<i64, Minute<'_>> = BTreeMap::new();
    let mut total = 0_u64;
    for (at, row) in traffic.iter().enumerate() {
        let bad = |field: &str| {
            Failure::invalid(&["traffic", &at.to_string(), field], "must be 0 or more, and the sum below 2^52")
        };
        let requests = u64::try_from(row.requests).map_err(|_| bad("requests"))?;
        if row.bytes.is_some_and(|bytes| bytes < 0) {
            return Err(bad("bytes"));
        }
        total = total.checked_add(requests).filter(|total| *total <= MAX_REQUESTS).ok_or_else(|| bad("requests"))?;
        let minute = minutes.entry(row.time.as_second().div_euclid(60)).or_default();
        minute.requests += requests;
        *minute.by_source.entry(&row.source).or_default() += requests;
    }
    let mut sources: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &traffic {
        *sources.entry(&row.source).or_default() += row.requests.unsigned_abs();
    }
    if minutes.len() <= WARM_UP {
        cx.warn(format!("too-short: a surge is only found after {WARM_UP} minutes with rows"));
    }
    let rates = rates(&minutes, baseline_minutes);
    let mut findings = surges(&rates, threshold);
    findings.extend(concentration(&minutes, &rates, &sources, threshold));
    findings.extend(behaviour(&traffic));
    let (verdict, score) = (verdict(&findings), score(&findings));
    let mut top: Vec<(&str, u64)> = sources.iter().map(|(source, requests)| (*source, *requests)).collect();
    top.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let share = |(source, requests): (&str, u64)| Share {
        source: source.to_owned(),
        share: requests as f64 / total.max(1) as f64,
    };
    Ok(Output {
        verdict,
        score,
        findings: listed(findings, 100, cx),
        surge_factor: rates.surge,
        source_entropy: entropy(sources.values().copied()),
        top_sources: top.into_iter().take(MAX_SOURCES).map(share).collect(),
    })
}

/// Compares each minute with the exponentially weighted mean of those before (span: `baseline` minutes), and adds up how
/// far the logarithm of the rate lies above and below (two-sided cumulative sum). A minute that is far above is not taken
/// into the mean, so that an attack does not become the baseline. Minutes without rows are not counted as zero.
fn rates(minutes: &BTreeMap<i64, Minute<'_>>, baseline: i64) -> Rates {
    let weight = 2.0 / (baseline as f64 + 1.0);
    let mut rates = Rates { surge: 1.0, lowest: 1.0, ..Rates::default() };
    let (mut mean, mut up, mut down) = (0.0, 0.0_f64, 0.0_f64);
    for (count, (at, minute)) in minutes.iter().enumerate() {
        let rate = minute.requests as f64;
        if count < WARM_UP {
            mean += (rate - mean) / (count as f64 + 1.0);
            continue;
        }
        let factor = rate / mean.max(1.0);
        if factor > rates.surge {
            (rates.surge, rates.at) = (factor, Some(*at));
        }
        let log = factor.max(1e-3).ln();
        // One minute alone may not reach the bound: that is what the surge is for.
        up = (up + log.min(1.0) - SLACK).max(0.0);
        down = (down - log.max(-1.0) - SLACK).max(0.0);
        rates.rise = rates.rise.max(up);
        if down > rates.fall {
            (rates.fall, rates.lowest) = (down, rates.lowest.min(factor));
        }
        if factor < 3.0 {
            mean += weight * (rate - mean);
        }
    }
    rates
}

fn minute(at: Option<i64>) -> Option<String> {
    Timestamp::from_second(at?.checked_mul(60)?).ok().map(|time| time.to_string())
}

fn surges(rates: &Rates, threshold: f64) -> Vec<Finding> {
    let mut findings = Vec::new();
    if rates.surge >= threshold && rates.surge > 1.0 {
        let severity = if rates.surge >= 2.0 * threshold { Severity::Critical } else { Severity::High };
        let message = format!(
            "{:.1} times the rate of the minutes before: limit the rate, ask the provider to filter",
            rates.surge
        );
        findings.push(finding("rate-surge", severity, message, minute(rates.at)));
    } else if rates.rise >= BOUND {
        findings.push(finding(
            "sustained-rise",
            Severity::Medium,
            "the rate stays above the baseline for minutes",
            minute(rates.at),
        ));
    }
    if rates.fall >= BOUND {
        let message = format!("the rate fell to {:.2} of the baseline: requests may not arrive", rates.lowest);
        findings.push(finding("rate-drop", Severity::Low, message, None));
    }
    findings
}

/// How the requests of the greatest surge are spread over sources, against the minutes before.
fn concentration(
    minutes: &BTreeMap<i64, Minute<'_>>,
    rates: &Rates,
    sources: &BTreeMap<&str, u64>,
    threshold: f64,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(at) = rates.at.filter(|_| rates.surge >= threshold.min(3.0)) {
        let before: Vec<f64> =
            minutes.range(..at).rev().take(60).map(|(_, minute)| entropy(minute.by_source.values().copied())).collect();
        let usual = before.iter().sum::<f64>() / before.len().max(1) as f64;
        let now = minutes.get(&at).map_or(0.0, |minute| entropy(minute.by_source.values().copied()));
        if now >= usual + 2.0 {
            let message = format!("sources are spread over {now:.1} bits, {usual:.1} before: many take part");
            findings.push(finding("distributed-sources", Severity::High, message, minute(Some(at))));
        } else if now <= usual - 2.0 {
            let message = format!("sources are concentrated on {now:.1} bits, {usual:.1} before: block the few");
            findings.push(finding("concentrated-sources", Severity::High, message, minute(Some(at))));
        }
    }
    let gini = gini(sources.values().copied().collect());
    if sources.len() >= 20 && gini >= 0.9 {
        findings.push(finding(
            "unequal-sources",
            Severity::Low,
            format!("few of {} sources make most requests (Gini {gini:.2})", sources.len()),
            None,
        ));
    }
    findings
}

/// Sources that fetch page after page, and those that hold connections with next to no bytes.
fn behaviour(traffic: &[Row]) -> Vec<Finding> {
    #[derive(Default)]
    struct Habit<'a> {
        requests: u64,
        bytes: u64,
        measured: u64,
        paths: BTreeSet<&'a str>,
        with_path: u64,
    }
    let mut habits: BTreeMap<&str, Habit<'_>> = BTreeMap::new();
    for row in traffic {
        let habit = habits.entry(&row.source).or_default();
        let requests = row.requests.unsigned_abs();
        habit.requests += requests;
        if let Some(bytes) = row.bytes {
            habit.bytes = habit.bytes.saturating_add(bytes.unsigned_abs());
            habit.measured += requests;
        }
        if let Some(path) = &row.path {
            habit.paths.insert(path);
            habit.with_path += 1;
        }
    }
    let mut findings = Vec::new();
    for (source, habit) in habits {
        let shown: String = source.chars().filter(|c| !c.is_control()).take(60).collect();
        if habit.paths.len() >= 200 && habit.paths.len() as u64 * 2 >= habit.with_path {
            findings.push(finding(
                "scraping",
                Severity::Medium,
                format!("{shown}: {} different paths", habit.paths.len()),
                None,
            ));
        }
        if habit.measured >= 200 && habit.bytes / habit.measured < 32 {
            let message = format!(
                "{shown}: {} requests of {} bytes on average: close idle connections",
                habit.measured,
                habit.bytes / habit.measured
            );
            findings.push(finding("slow-requests", Severity::Medium, message, None));
        }
    }
    findings
}

/// Shannon entropy of shares, in bits.
fn entropy(counts: impl Iterator<Item = u64> + Clone) -> f64 {
    let total: u64 = counts.clone().sum();
    let bits: f64 = counts
        .filter(|count| *count > 0)
        .map(|count| count as f64 / total as f64)
        .map(|share| -share * share.log2())
        .sum();
    bits.max(0.0)
}

/// Gini coefficient: 0 for equal counts, towards 1 for one that has all.
fn gini(mut counts: Vec<u64>) -> f64 {
    counts.sort_unstable();
    let (number, total) = (counts.len() as f64, counts.iter().sum::<u64>() as f64);
    if total == 0.0 {
        return 0.0;
    }
    let weighted: f64 = (1..).zip(&counts).map(|(rank, count)| f64::from(rank) * *count as f64).sum();
    2.0 * weighted / (number * total) - (number + 1.0) / number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(minute: i64, source: &str, requests: i64) -> Row {
        Row {
            time: Timestamp::from_second(1_767_225_600 + minute * 60).unwrap(),
            source: source.to_owned(),
            requests,
            bytes: None,
            path: None,
        }
    }

    fn go(traffic: Vec<Row>) -> Output {
        run(Input { traffic, baseline_minutes: 60, threshold: 5.0 }, &Context::default()).unwrap()
    }

    #[test]
    fn a_daily_course_is_clear() {
        // A sine over 24 hours with a third of its mean as amplitude, and a little noise.
        let rate = |minute: i64| {
            300.0
                + 100.0 * (minute as f64 / 1440.0 * std::f64::consts::TAU).sin()
                + f64::from((minute * 7919 % 41) as i32)
        };
        let output =
            go((0..1440).map(|minute| row(minute, &format!("s{}", minute % 17), rate(minute) as i64)).collect());
        assert_eq!(output.verdict, Verdict::Clear, "{:?}", output.findings);
    }

    #[test]
    fn entropy_and_gini_of_equal_and_single_sources() {
        assert!((entropy([5, 5, 5, 5].into_iter()) - 2.0).abs() < 1e-12);
        assert_eq!(entropy([7].into_iter()), 0.0);
        assert!(gini(vec![3; 10]).abs() < 1e-12);
        // One of ten has all: (n - 1) / n.
        assert!((gini(vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 8]) - 0.9).abs() < 1e-12);
    }

    #[test]
    fn the_surge_factor_follows_the_scale() {
        let traffic = |scale: i64| {
            let mut rows: Vec<Row> = (0..30).map(|minute| row(minute, "a", 10 * scale)).collect();
            rows.push(row(30, "b", 70 * scale));
            go(rows).surge_factor
        };
        assert!((traffic(1) - 7.0).abs() < 1e-9 && (traffic(1000) - 7.0).abs() < 1e-9);
    }
}
