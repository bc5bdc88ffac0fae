//! Unusual amounts of data that leave (T1048): against other sources, and against what comes in.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use super::{Flow, median, shown, sorted};
use crate::verdict::finding;

/// Sources that a comparison needs.
const PEERS: usize = 5;
/// Bytes below which an amount is not reported.
const LEAST: f64 = 50e6;

pub(super) fn find(flows: &[Flow]) -> Vec<Finding> {
    let mut sources: BTreeMap<&str, (f64, Option<f64>)> = BTreeMap::new();
    for flow in flows {
        let (out, into) = sources.entry(&flow.source).or_insert((0.0, None));
        *out += flow.bytes_out as f64;
        if let Some(bytes) = flow.bytes_in {
            *into = Some(into.unwrap_or(0.0) + bytes as f64);
        }
    }
    // Amounts differ by orders of magnitude: their logarithms are compared.
    let logs: Vec<f64> = sources.values().map(|(out, _)| (out + 1.0).ln()).collect();
    let ordered = sorted(logs);
    let middle = median(&ordered);
    let spread = 1.4826 * median(&sorted(ordered.iter().map(|log| (log - middle).abs()).collect()));
    let mut findings = Vec::new();
    for (source, (out, into)) in sources.iter().filter(|(_, (out, _))| *out >= LEAST) {
        let z = ((out + 1.0).ln() - middle) / spread.max(0.3);
        if ordered.len() >= PEERS && z >= 3.5 {
            let severity = if z >= 7.0 { Severity::Critical } else { Severity::High };
            let message =
                format!("{} sent {:.0} MB, {z:.1} robust deviations above the others", shown(source), out / 1e6);
            findings.push(finding("outbound-volume", severity, message, None));
        }
        if into.is_some_and(|into| *out > 10.0 * into) {
            let message = format!("{} sent {:.0} MB, more than ten times what it received", shown(source), out / 1e6);
            findings.push(finding("upload-heavy", Severity::Medium, message, None));
        }
    }
    findings
}
