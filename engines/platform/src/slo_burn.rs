//! q59: error budget and burn rate.

use std::collections::BTreeMap;

use jiff::Timestamp;

use muster_engine::prelude::*;

/// Maximum number of buckets: 30 days by the minute, twice.
const MAX_BUCKETS: usize = 86_400;
/// Maximum number of events of a bucket, up to which sums are exact enough.
const MAX_EVENTS: f64 = 1e15;
const DAY_SECONDS: f64 = 86_400.0;

/// Windows of the burn rates, in seconds.
const WINDOWS: [(&str, i64); 7] =
    [("5m", 300), ("30m", 1_800), ("1h", 3_600), ("2h", 7_200), ("6h", 21_600), ("1d", 86_400), ("3d", 259_200)];

/// Alerts of the workbook: name, long window, short window, threshold. An alert fires if the burn rates of both windows
/// exceed the threshold.
const ALERTS: [(&str, &str, &str, f64); 4] = [
    ("page 1h/5m", "1h", "5m", 14.4),
    ("page 6h/30m", "6h", "30m", 6.0),
    ("ticket 1d/2h", "1d", "2h", 3.0),
    ("ticket 3d/6h", "3d", "6h", 1.0),
];

#[derive(Input)]
pub struct Input {
    objective: f64,
    window_days: f64,
    buckets: Vec<Bucket>,
    now: Option<String>,
}

/// Events from `time` to the next bucket.
#[derive(Input)]
struct Bucket {
    time: String,
    good: f64,
    total: f64,
}

#[derive(Output)]
pub struct Output {
    sli: f64,
    budget_remaining: f64,
    /// Burn rate by window; windows without events are omitted.
    burn_rates: BTreeMap<&'static str, f64>,
    alerts: Vec<Alert>,
    /// When the budget is spent at the burn rate of the last hour, or of the shortest window if that hour has no events.
    exhaustion: Option<String>,
}

/// A bucket with its start in seconds since 1970.
struct Events {
    start: i64,
    good: f64,
    total: f64,
}

#[derive(Output)]
struct Alert {
    name: &'static str,
    fires: bool,
    threshold: f64,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let events = |bucket: Bucket| Ok(Events { start: seconds(&bucket.time)?, good: bucket.good, total: bucket.total });
    let mut buckets = input.buckets.into_iter().map(events).collect::<Result<Vec<_>, Failure>>()?;
    buckets.sort_by_key(|bucket| bucket.start);
    let now = input.now.as_deref().map(seconds).transpose()?.or_else(|| end(&buckets)).ok_or_else(|| {
        Failure::invalid(&["buckets"], "is empty, or has one bucket and no now: the end of the last bucket is unknown")
    })?;
    let window = input.window_days * DAY_SECONDS;
    let allowed = 1.0 - input.objective / 100.0;
    // The cast saturates, which is before every bucket.
    let rate = error_rate(&buckets, now, window as i64)
        .ok_or_else(|| Failure::invalid(&["buckets"], "has no events within window_days before now"))?;
    let burn_rates: BTreeMap<_, _> = WINDOWS
        .into_iter()
        .filter_map(|(name, seconds)| Some((name, error_rate(&buckets, now, seconds)? / allowed)))
        .collect();
    let missing: Vec<_> = WINDOWS.iter().map(|(name, _)| *name).filter(|name| !burn_rates.contains_key(name)).collect();
    if !missing.is_empty() {
        context.warn(format!("no events in the last {}: alerts that need them do not fire", missing.join(", ")));
    }
    let exceeds = |window: &str, threshold| burn_rates.get(window).is_some_and(|rate| *rate > threshold);
    let alerts = ALERTS
        .into_iter()
        .map(|(name, long, short, threshold)| Alert {
            name,
            fires: exceeds(long, threshold) && exceeds(short, threshold),
            threshold,
        })
        .collect();
    let remaining = 1.0 - rate / allowed;
    let present = burn_rates.get("1h").or_else(|| WINDOWS.iter().find_map(|(name, _)| burn_rates.get(name)));
    let exhaustion = present.filter(|rate| **rate > 0.0).and_then(|rate| {
        let seconds = (remaining.max(0.0) * window / rate).round();
        Some(Timestamp::from_second(now.checked_add(seconds as i64)?).ok()?.to_string())
    });
    Ok(Output { sli: 100.0 * (1.0 - rate), budget_remaining: 100.0 * remaining, burn_rates, alerts, exhaustion })
}

fn check(input: &Input) -> Result<(), Failure> {
    if input.buckets.len() > MAX_BUCKETS {
        return Err(Failure::too_large(format!("at most {MAX_BUCKETS} buckets at a time: use longer ones")));
    }
    if input.objective >= 100.0 {
        return Err(Failure::invalid(&["objective"], "leaves no error budget: it must be less than 100"));
    }
    for (at, bucket) in input.buckets.iter().enumerate() {
        if bucket.total > MAX_EVENTS {
            return Err(Failure::invalid(
                &["buckets", &at.to_string(), "total"],
                format!("must be at most {MAX_EVENTS}"),
            ));
        }
        if !(0.0..=bucket.total).contains(&bucket.good) {
            let message = "must be between 0 and the total of its bucket";
            return Err(Failure::invalid(&["buckets", &at.to_string(), "good"], message));
        }
    }
    Ok(())
}

/// Parses a time, which the grammar has accepted already.
fn seconds(time: &str) -> Result<i64, Failure> {
    time.parse::<Timestamp>().map(|time| time.as_second()).map_err(Failure::internal)
}

/// Returns the end of the last bucket, which is assumed to be as long as the shortest one. `None` with fewer than two
/// buckets at different times.
fn end(buckets: &[Events]) -> Option<i64> {
    let pairs = buckets.iter().zip(buckets.iter().skip(1));
    let shortest = pairs.map(|(bucket, next)| next.start - bucket.start).filter(|length| *length > 0).min()?;
    Some(buckets.last()?.start + shortest)
}

/// Returns the share of bad events in the buckets that begin within `seconds` before `now`; `None` without events.
fn error_rate(buckets: &[Events], now: i64, seconds: i64) -> Option<f64> {
    let within = |bucket: &&Events| (now.saturating_sub(seconds)..now).contains(&bucket.start);
    let (good, total) = buckets
        .iter()
        .filter(within)
        .fold((0.0, 0.0), |(good, total), bucket| (good + bucket.good, total + bucket.total));
    (total > 0.0).then(|| (total - good) / total)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-01-31T00:00:00Z";

    /// 30 days of buckets with equal traffic and without errors, but for the last `bad_seconds` at this error rate.
    fn run(bucket_seconds: i64, bad_seconds: i64, error_rate: f64) -> Value {
        let now: Timestamp = NOW.parse().unwrap();
        let buckets: Vec<_> = (1..=30 * 86_400 / bucket_seconds)
            .map(|n| {
                let bad = if n * bucket_seconds <= bad_seconds { error_rate } else { 0.0 };
                let time = Timestamp::from_second(now.as_second() - n * bucket_seconds).unwrap();
                json!({ "time": time.to_string(), "good": 1_000.0 * (1.0 - bad), "total": 1_000 })
            })
            .collect();
        crate::FAMILY
            .run(59, json!({ "objective": 99.9, "buckets": buckets, "now": NOW }), &Context::default())
            .unwrap()
    }

    fn fires(output: &Value) -> Vec<&str> {
        let alerts = output["alerts"].as_array().unwrap().iter();
        alerts.filter(|alert| alert["fires"] == true).map(|alert| alert["name"].as_str().unwrap()).collect()
    }

    /// The workbook, chapter 5, table 5-4 (objective 99.9 % over 30 days): burn rate, error rate, time to exhaustion.
    #[test]
    fn time_to_exhaustion_matches_table_5_4() {
        for (burn_rate, error_rate, days) in [(1.0, 0.001, 30), (2.0, 0.002, 15), (10.0, 0.01, 3)] {
            let output = run(3_600, 3_600, error_rate);
            assert!((output["burn_rates"]["1h"].as_f64().unwrap() - burn_rate).abs() < 1e-9, "{output}");
            // The errors began an hour before now.
            let begun = NOW.parse::<Timestamp>().unwrap().as_second() - 3_600;
            let exhaustion: Timestamp = output["exhaustion"].as_str().unwrap().parse().unwrap();
            assert_eq!(exhaustion.as_second() - begun, days * 86_400, "{output}");
        }
    }

    /// The workbook, chapter 5, table 5-8: 2 % of the budget in an hour, 5 % in 6 hours, 10 % in 3 days.
    #[test]
    fn budget_consumption_matches_table_5_8() {
        for (burn_rate, hours, consumed) in [(14.4, 1, 2.0), (6.0, 6, 5.0), (1.0, 72, 10.0)] {
            let output = run(3_600, hours * 3_600, burn_rate * 0.001);
            assert!((output["budget_remaining"].as_f64().unwrap() - (100.0 - consumed)).abs() < 1e-9, "{output}");
        }
    }

    #[test]
    fn an_alert_fires_if_both_windows_exceed_its_threshold() {
        assert_eq!(fires(&run(300, 3_600, 0.0145)), ["page 1h/5m"]);
        assert_eq!(fires(&run(300, 3_600, 0.0143)), [""; 0], "the threshold is not exceeded");
        assert_eq!(fires(&run(300, 300, 1.0)), ["page 1h/5m", "page 6h/30m", "ticket 1d/2h", "ticket 3d/6h"]);
        assert_eq!(fires(&run(300, 6 * 3_600, 0.0061)), ["page 6h/30m"]);
        assert_eq!(fires(&run(300, 86_400, 0.0031)), ["ticket 1d/2h", "ticket 3d/6h"]);
    }

    #[test]
    fn windows_shorter_than_a_bucket_are_omitted_with_a_warning() {
        let context = Context::default();
        let input = crate::FAMILY.by_number(59).unwrap().example();
        let output = crate::FAMILY.run(59, input, &context).unwrap();
        assert_eq!(
            output["burn_rates"].as_object().unwrap().keys().collect::<Vec<_>>(),
            ["1d", "1h", "2h", "3d", "6h"]
        );
        let warnings = context.into_warnings();
        assert_eq!(warnings, ["no events in the last 5m, 30m: alerts that need them do not fire"]);
    }

    #[test]
    fn inputs_without_budget_events_or_end_are_rejected() {
        let bucket = |good: f64| json!({ "time": "2026-01-30T23:00:00Z", "good": good, "total": 10 });
        for input in [
            json!({ "objective": 100, "buckets": [bucket(9.0)], "now": NOW }),
            json!({ "objective": 99, "buckets": [bucket(11.0)], "now": NOW }),
            json!({ "objective": 99, "buckets": [bucket(-1.0)], "now": NOW }),
            json!({ "objective": 99, "buckets": [{ "time": NOW, "good": 1, "total": 1e16 }], "now": NOW }),
            json!({ "objective": 99, "buckets": [], "now": NOW }),
            json!({ "objective": 99, "buckets": [bucket(9.0)] }),
            json!({ "objective": 99, "buckets": [bucket(9.0)], "now": "2026-01-30T23:00:00Z" }),
        ] {
            let outcome = crate::FAMILY.run(59, input.clone(), &Context::default());
            assert!(matches!(outcome, Err(Failure::Invalid { .. })), "{input}: {outcome:?}");
        }
    }
}
