//! Regular connections of malware to its controller (T1071, T1573): intervals with little spread and no skew, as RITA
//! scores them, and packets of one size.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use super::{Beacon, Flow, median, quantile, shown, sorted};
use crate::address::Block;
use crate::verdict::finding;

/// Connections that a beacon has at least.
const LEAST: usize = 8;
/// Score from which a pair is listed, and from which it is a serious finding.
const LISTED: f64 = 0.75;
const SERIOUS: f64 = 0.9;

pub(super) fn find(flows: &[Flow]) -> (Vec<Beacon>, Vec<Finding>) {
    let mut pairs: BTreeMap<(&str, &str), Vec<(f64, f64)>> = BTreeMap::new();
    for flow in flows {
        let row = (flow.time.as_duration().as_secs_f64(), flow.bytes_out as f64);
        pairs.entry((&flow.source, &flow.destination)).or_default().push(row);
    }
    let (mut beacons, mut findings) = (Vec::new(), Vec::new());
    for ((source, destination), rows) in pairs {
        let times = sorted(rows.iter().map(|(time, _)| *time).collect());
        let intervals: Vec<f64> = times
            .windows(2)
            .filter_map(|pair| Some(pair.last()? - pair.first()?))
            .filter(|interval| *interval > 0.0)
            .collect();
        if intervals.len() + 1 < LEAST {
            continue;
        }
        let intervals = sorted(intervals);
        let period = median(&intervals);
        let sizes = sorted(rows.into_iter().map(|(_, bytes)| bytes).collect());
        let score = 0.75 * regular(&intervals) + 0.25 * regular(&sizes);
        let score = (score * 1e4).round() / 1e4;
        if score < LISTED {
            continue;
        }
        beacons.push(Beacon {
            source: source.to_owned(),
            destination: destination.to_owned(),
            period_s: period,
            score,
        });
        let private = Block::read(destination).is_ok_and(|(block, _)| {
            ["private-use", "loopback", "link-local", "unique-local", "multicast"].contains(&block.class())
        });
        let severity = match (private, score >= SERIOUS && times.len() >= 20) {
            (true, _) => Severity::Info,
            (false, true) => Severity::High,
            (false, false) => Severity::Medium,
        };
        let message = format!(
            "{} connects to {} every {period:.0} s: find the program, compare with updates and time servers",
            shown(source),
            shown(destination)
        );
        findings.push(finding("beacon", severity, message, None));
    }
    beacons.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| (&a.source, &a.destination).cmp(&(&b.source, &b.destination)))
    });
    (beacons, findings)
}

/// 1 for equal numbers, less for a median absolute deviation (as a share of the median) and for Bowley's skewness.
fn regular(sorted_numbers: &[f64]) -> f64 {
    let (low, middle, high) = (quantile(sorted_numbers, 0.25), median(sorted_numbers), quantile(sorted_numbers, 0.75));
    let skew = if high > low { ((high + low - 2.0 * middle) / (high - low)).abs() } else { 0.0 };
    let deviations = sorted(sorted_numbers.iter().map(|number| (number - middle).abs()).collect());
    let spread = if middle > 0.0 {
        (median(&deviations) / middle * 3.0).min(1.0)
    } else {
        f64::from(u8::from(median(&deviations) > 0.0))
    };
    // Two lengths that alternate have a skewness of 1 however near they are: it counts as far as there is a spread.
    (1.0 - spread) * (1.0 - 0.5 * skew * (4.0 * spread).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(second: f64, bytes: i64) -> Flow {
        let time = Timestamp::from_millisecond(1_767_225_600_000 + (second * 1000.0) as i64).unwrap();
        Flow {
            time,
            source: "10.0.0.5".to_owned(),
            destination: "203.0.113.9".to_owned(),
            bytes_out: bytes,
            bytes_in: None,
        }
    }

    #[test]
    fn jitter_keeps_a_beacon_and_browsing_is_none() {
        let jitter = |n: i64| flow(300.0 * n as f64 + f64::from((n * 7919 % 31) as i32), 512 + n % 3);
        let (beacons, findings) = find(&(0..100).map(jitter).collect::<Vec<_>>());
        assert!((beacons[0].period_s - 300.0).abs() < 31.0);
        assert_eq!(findings[0].severity, Severity::High);
        // Bursts of a few seconds with pauses of minutes to hours, and sizes over two decades.
        let browse = |n: i64| flow((n * n % 97) as f64 * 61.0 + (n / 5) as f64 * 900.0, 300 + (n * n * 7919) % 60_000);
        assert!(find(&(0..100).map(browse).collect::<Vec<_>>()).0.is_empty());
    }
}
