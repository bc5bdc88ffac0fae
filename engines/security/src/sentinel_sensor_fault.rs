//! q154: sensor fault and spoofing.

use std::collections::{BTreeMap, VecDeque};

use muster_engine::prelude::*;
use muster_kernel_earth::inverse;

use crate::verdict::{Verdict, finding, score, verdict};

/// Maximum number of values, and of neighbours' values in all.
const MAX_VALUES: usize = 100_000;
const MAX_NEIGHBOURS: usize = 1_000_000;
/// Speed in metres per second beyond which a position is not believed.
const MAX_SPEED: f64 = 100.0;
/// Robust deviations from the neighbours' median beyond which a value is suspect.
const APART: f64 = 3.5;

/// Flags of QARTOD.
const GOOD: u8 = 1;
const NOT_EVALUATED: u8 = 2;
const SUSPECT: u8 = 3;
const FAIL: u8 = 4;

#[derive(Debug, Input)]
pub struct Input {
    telemetry: Vec<Reading>,
    limits: Limits,
    neighbours: Vec<Vec<f64>>,
    interval_s: Option<f64>,
}

#[derive(Debug, Input)]
struct Reading {
    time: Timestamp,
    value: f64,
    lat: Option<f64>,
    lon: Option<f64>,
}

#[derive(Debug, Input)]
struct Limits {
    min: f64,
    max: f64,
    suspect_min: Option<f64>,
    suspect_max: Option<f64>,
    spike: Option<f64>,
    rate: Option<f64>,
    flat_count: Option<i64>,
    flat_tolerance: Option<f64>,
}

#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    flags: Vec<u8>,
    tests: BTreeMap<&'static str, Vec<u8>>,
    usable_share: f64,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let Input { telemetry, limits, neighbours, interval_s } = input;
    let mut tests = BTreeMap::from([("gross_range", gross_range(&telemetry, &limits)), ("time", clock(&telemetry))]);
    if let Some(spike) = limits.spike {
        tests.insert("spike", spikes(&telemetry, spike));
    }
    if let Some(rate) = limits.rate {
        tests.insert("rate_of_change", rates(&telemetry, rate));
    }
    if let Some(count) = limits.flat_count {
        tests.insert("flat_line", flat_lines(&telemetry, count, limits.flat_tolerance.unwrap_or(0.0)));
    }
    if !neighbours.is_empty() {
        tests.insert("neighbour", compared(&telemetry, &neighbours));
    }
    if telemetry.iter().any(|reading| reading.lat.is_some() || reading.lon.is_some()) {
        tests.insert("location", positions(&telemetry));
    }
    let worst = |at: usize| {
        let flags = tests.values().filter_map(|flags| flags.get(at).copied());
        flags.max_by_key(|flag| if *flag == NOT_EVALUATED { 0 } else { *flag }).unwrap_or(NOT_EVALUATED)
    };
    let flags: Vec<u8> = (0..telemetry.len()).map(worst).collect();
    let usable = flags.iter().filter(|flag| matches!(**flag, GOOD | NOT_EVALUATED)).count();
    let mut findings: Vec<Finding> = tests.iter().filter_map(|(name, flags)| found(name, flags)).collect();
    findings.extend(dropouts(&telemetry, interval_s));
    if telemetry.is_empty() {
        cx.warn("too-few: there are no readings");
    }
    Ok(Output {
        verdict: verdict(&findings),
        score: score(&findings),
        findings,
        usable_share: if flags.is_empty() { 0.0 } else { usable as f64 / flags.len() as f64 },
        flags,
        tests,
    })
}

fn check(input: &Input) -> Result<(), Failure> {
    let values = input.telemetry.len();
    if values > MAX_VALUES || input.neighbours.iter().map(Vec::len).sum::<usize>() > MAX_NEIGHBOURS {
        return Err(Failure::too_large(format!(
            "at most {MAX_VALUES} readings and {MAX_NEIGHBOURS} values of neighbours are allowed"
        )));
    }
    let limits = &input.limits;
    if limits.min > limits.max {
        return Err(Failure::invalid(&["limits", "min"], "must be at most max"));
    }
    let suspect = [("suspect_min", limits.suspect_min), ("suspect_max", limits.suspect_max)];
    for (name, bound) in suspect {
        if bound.is_some_and(|bound| !(limits.min..=limits.max).contains(&bound)) {
            return Err(Failure::invalid(&["limits", name], "must lie between min and max"));
        }
    }
    let positive = [("spike", limits.spike), ("rate", limits.rate), ("flat_tolerance", limits.flat_tolerance)];
    for (name, bound) in positive {
        if bound.is_some_and(|bound| bound < 0.0) {
            return Err(Failure::invalid(&["limits", name], "must be 0 or more"));
        }
    }
    if limits.flat_count.is_some_and(|count| count < 2) {
        return Err(Failure::invalid(&["limits", "flat_count"], "must be 2 or more"));
    }
    if input.interval_s.is_some_and(|interval| interval <= 0.0) {
        return Err(Failure::invalid(&["interval"], "must be more than 0 s"));
    }
    if let Some(at) = input.neighbours.iter().position(|values| values.len() != input.telemetry.len()) {
        return Err(Failure::invalid(
            &["neighbours", &at.to_string()],
            "must have a value for each reading, in the same order",
        ));
    }
    Ok(())
}

/// QARTOD test 4: outside the sensor's range is a failure, outside the operator's range suspect.
fn gross_range(telemetry: &[Reading], limits: &Limits) -> Vec<u8> {
    let flag = |reading: &Reading| {
        let low = limits.suspect_min.is_some_and(|bound| reading.value < bound);
        let high = limits.suspect_max.is_some_and(|bound| reading.value > bound);
        match reading.value {
            value if value < limits.min || value > limits.max => FAIL,
            _ if low || high => SUSPECT,
            _ => GOOD,
        }
    };
    telemetry.iter().map(flag).collect()
}

/// QARTOD test 6 with the mean of both neighbours in time: suspect beyond the threshold, a failure beyond twice of it. The
/// ends have no neighbours.
fn spikes(telemetry: &[Reading], threshold: f64) -> Vec<u8> {
    let mut flags = vec![NOT_EVALUATED; telemetry.len()];
    for (at, three) in telemetry.windows(3).enumerate() {
        let [before, reading, after] = three else { continue };
        let apart = (reading.value - (before.value + after.value) / 2.0).abs();
        if let Some(flag) = flags.get_mut(at + 1) {
            *flag = if apart > 2.0 * threshold {
                FAIL
            } else if apart > threshold {
                SUSPECT
            } else {
                GOOD
            };
        }
    }
    flags
}

/// QARTOD test 7: units a second, against the reading before.
fn rates(telemetry: &[Reading], most: f64) -> Vec<u8> {
    let mut flags = vec![if telemetry.is_empty() { NOT_EVALUATED } else { GOOD }; telemetry.len()];
    for (at, pair) in telemetry.windows(2).enumerate() {
        let [before, reading] = pair else { continue };
        let seconds = reading.time.duration_since(before.time).as_secs_f64();
        if let Some(flag) = flags.get_mut(at + 1) {
            // Without a time between them there is no rate.
            *flag = if seconds <= 0.0 {
                NOT_EVALUATED
            } else if ((reading.value - before.value) / seconds).abs() > most {
                SUSPECT
            } else {
                GOOD
            };
        }
    }
    flags
}

/// QARTOD test 8: the last `count` readings lie within the tolerance; suspect from three fifths of them on, as the manual's
/// 3 and 5.
fn flat_lines(telemetry: &[Reading], count: i64, tolerance: f64) -> Vec<u8> {
    let fail = usize::try_from(count).unwrap_or(usize::MAX).max(2);
    let suspect = fail.saturating_mul(3).div_ceil(5).max(2);
    // Positions of the greatest and least values of the run that ends at each reading, in falling and rising order.
    let (mut greatest, mut least) = (VecDeque::<(usize, f64)>::new(), VecDeque::<(usize, f64)>::new());
    let mut from = 0;
    let mut flags = Vec::with_capacity(telemetry.len());
    for (at, reading) in telemetry.iter().enumerate() {
        while greatest.back().is_some_and(|(_, value)| *value <= reading.value) {
            greatest.pop_back();
        }
        while least.back().is_some_and(|(_, value)| *value >= reading.value) {
            least.pop_back();
        }
        greatest.push_back((at, reading.value));
        least.push_back((at, reading.value));
        while let Some(((high_at, high), (low_at, low))) = greatest.front().copied().zip(least.front().copied()) {
            if high - low <= tolerance {
                break;
            }
            // The run cannot hold the earlier of both.
            from = high_at.min(low_at) + 1;
            if high_at < low_at {
                greatest.pop_front()
            } else {
                least.pop_front()
            };
        }
        let length = at + 1 - from;
        flags.push(if length >= fail {
            FAIL
        } else if length >= suspect {
            SUSPECT
        } else {
            GOOD
        });
    }
    flags
}

/// Times that repeat or go back.
fn clock(telemetry: &[Reading]) -> Vec<u8> {
    let mut flags = vec![GOOD; telemetry.len()];
    for (at, pair) in telemetry.windows(2).enumerate() {
        if let ([before, reading], Some(flag)) = (pair, flags.get_mut(at + 1)) {
            *flag = if reading.time <= before.time { FAIL } else { GOOD };
        }
    }
    flags
}

/// Against the median of the neighbours at the same time.
fn compared(telemetry: &[Reading], neighbours: &[Vec<f64>]) -> Vec<u8> {
    let flag = |(at, reading): (usize, &Reading)| {
        let mut values: Vec<f64> = neighbours.iter().filter_map(|values| values.get(at).copied()).collect();
        if values.len() < 3 {
            return NOT_EVALUATED;
        }
        let middle = median(&mut values);
        let mut apart: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
        let spread = (1.4826 * median(&mut apart)).max(1e-9 * middle.abs()).max(f64::MIN_POSITIVE);
        match (reading.value - middle).abs() / spread {
            apart if apart > 2.0 * APART => FAIL,
            apart if apart > APART => SUSPECT,
            _ => GOOD,
        }
    };
    telemetry.iter().enumerate().map(flag).collect()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = values.get(half).copied().unwrap_or(0.0);
    if values.len() % 2 == 1 {
        upper
    } else {
        (values.get(half.saturating_sub(1)).copied().unwrap_or(upper) + upper) / 2.0
    }
}

/// Positions off the earth, at 0°, 0°, and jumps.
fn positions(telemetry: &[Reading]) -> Vec<u8> {
    let place = |reading: &Reading| reading.lat.zip(reading.lon);
    let valid = |(lat, lon): (f64, f64)| (-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lon);
    let mut last: Option<(f64, f64, Timestamp)> = None;
    let flag = |reading: &Reading| {
        let Some((lat, lon)) = place(reading) else { return NOT_EVALUATED };
        if !valid((lat, lon)) {
            return FAIL;
        }
        if lat == 0.0 && lon == 0.0 {
            return SUSPECT;
        }
        let jump = last.is_some_and(|(last_lat, last_lon, time)| {
            let metres = inverse(
                muster_kernel_earth::LatLon::new(last_lat, last_lon),
                muster_kernel_earth::LatLon::new(lat, lon),
            )
            .distance;
            let seconds = reading.time.duration_since(time).as_secs_f64();
            metres > 50.0 && metres > MAX_SPEED * seconds.max(0.0)
        });
        if jump {
            return FAIL;
        }
        last = Some((lat, lon, reading.time));
        GOOD
    };
    telemetry.iter().map(flag).collect()
}

fn found(name: &str, flags: &[u8]) -> Option<Finding> {
    let count = |wanted: u8| flags.iter().filter(|flag| **flag == wanted).count();
    let (failed, suspect) = (count(FAIL), count(SUSPECT));
    let first = flags.iter().position(|flag| matches!(*flag, SUSPECT | FAIL))?;
    let share = failed as f64 / flags.len() as f64;
    let severity = match (failed, share) {
        (0, _) => Severity::Low,
        (_, share) if share >= 0.5 => Severity::Critical,
        (_, share) if share >= 0.1 => Severity::High,
        _ => Severity::Medium,
    };
    let message =
        format!("{failed} of {} readings fail, {suspect} are suspect: do not use them unchecked", flags.len());
    Some(finding(&name.replace('_', "-"), severity, message, Some(format!("telemetry.{first}"))))
}

/// Gaps of more than one and a half intervals.
fn dropouts(telemetry: &[Reading], interval: Option<f64>) -> Option<Finding> {
    let interval = interval?;
    let gaps = telemetry
        .windows(2)
        .filter_map(|pair| Some(pair.last()?.time.duration_since(pair.first()?.time).as_secs_f64()));
    let (mut missing, mut longest) = (0.0, 0.0_f64);
    for gap in gaps.filter(|gap| *gap > 1.5 * interval) {
        missing += (gap / interval).round() - 1.0;
        longest = longest.max(gap);
    }
    if missing == 0.0 {
        return None;
    }
    let severity = if missing >= telemetry.len() as f64 { Severity::High } else { Severity::Medium };
    Some(finding(
        "dropout",
        severity,
        format!("{missing} readings are missing, the longest gap has {longest:.0} s"),
        None,
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn readings(values: &[f64]) -> Vec<Reading> {
        let reading = |(at, value): (usize, &f64)| Reading {
            time: Timestamp::from_second(60 * at as i64).unwrap(),
            value: *value,
            lat: None,
            lon: None,
        };
        values.iter().enumerate().map(reading).collect()
    }

    fn limits() -> Limits {
        Limits {
            min: -100.0,
            max: 100.0,
            suspect_min: None,
            suspect_max: None,
            spike: None,
            rate: None,
            flat_count: None,
            flat_tolerance: None,
        }
    }

    proptest! {
        #[test]
        fn wider_limits_never_flag_more(values in proptest::collection::vec(-50.0..50.0_f64, 0..40), low in 0.0..20.0_f64, more in 0.0..20.0_f64) {
            let data = readings(&values);
            for (narrow, wide) in [
                (spikes(&data, low), spikes(&data, low + more)),
                (rates(&data, low / 60.0), rates(&data, (low + more) / 60.0)),
                (gross_range(&data, &Limits { min: -low, max: low, ..limits() }), gross_range(&data, &Limits { min: -low - more, max: low + more, ..limits() })),
                (flat_lines(&data, 4, low + more), flat_lines(&data, 4, low)),
            ] {
                prop_assert!(narrow.iter().zip(&wide).all(|(narrow, wide)| narrow >= wide));
            }
        }

        #[test]
        fn a_shift_of_values_changes_no_difference(values in proptest::collection::vec(-50_i32..50, 3..40), shift in -40_i32..40) {
            let data = readings(&values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>());
            let moved = readings(&values.iter().map(|value| f64::from(value + shift)).collect::<Vec<_>>());
            prop_assert_eq!(spikes(&data, 5.0), spikes(&moved, 5.0));
            prop_assert_eq!(flat_lines(&data, 3, 1.0), flat_lines(&moved, 3, 1.0));
        }
    }

    #[test]
    fn a_jump_of_the_position_fails_and_the_next_true_one_is_good() {
        let mut data = readings(&[1.0; 4]);
        for (reading, place) in data.iter_mut().zip([(50.0, 8.0), (50.001, 8.0), (51.0, 8.0), (50.002, 8.0)]) {
            (reading.lat, reading.lon) = (Some(place.0), Some(place.1));
        }
        assert_eq!(positions(&data), [GOOD, GOOD, FAIL, GOOD]);
    }
}
