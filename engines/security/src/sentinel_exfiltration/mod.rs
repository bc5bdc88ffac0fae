//! q149: data exfiltration and tunnels.

mod beacons;
mod tunnels;
mod volume;

use muster_engine::prelude::*;

use crate::verdict::{Verdict, listed, score, verdict};

/// Maximum number of queries and of flows.
const MAX_ROWS: usize = 200_000;
/// Findings, beacons and domains that are listed.
const MAX_LISTED: usize = 500;

#[derive(Debug, Input)]
pub struct Input {
    dns: Vec<Query>,
    flows: Vec<Flow>,
}

#[derive(Debug, Input)]
struct Query {
    #[allow(dead_code, reason = "a member of the published input that no test of queries uses yet")]
    time: Timestamp,
    client: String,
    query: String,
    r#type: Option<String>,
}

#[derive(Debug, Input)]
struct Flow {
    time: Timestamp,
    source: String,
    destination: String,
    bytes_out: i64,
    bytes_in: Option<i64>,
}

#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    beacons: Vec<Beacon>,
    domains: Vec<Domain>,
}

#[derive(Debug, Output)]
struct Beacon {
    source: String,
    destination: String,
    period_s: f64,
    score: f64,
}

#[derive(Debug, Output)]
struct Domain {
    domain: String,
    entropy: f64,
    unique: usize,
    score: f64,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    for (name, rows) in [("dns", input.dns.len()), ("flows", input.flows.len())] {
        if rows > MAX_ROWS {
            return Err(Failure::too_large(format!(
                "{name} has {rows} rows, at most {MAX_ROWS} are allowed: send a shorter time"
            )));
        }
    }
    let negative = |flow: &Flow| flow.bytes_out < 0 || flow.bytes_in.is_some_and(|bytes| bytes < 0);
    if let Some(at) = input.flows.iter().position(negative) {
        return Err(Failure::invalid(&["flows", &at.to_string()], "bytes must be 0 or more"));
    }
    let (mut domains, mut findings) = tunnels::find(&input.dns);
    let (mut beacons, found) = beacons::find(&input.flows);
    findings.extend(found);
    findings.extend(volume::find(&input.flows));
    domains.truncate(MAX_LISTED);
    beacons.truncate(MAX_LISTED);
    let (verdict, score) = (verdict(&findings), score(&findings));
    Ok(Output { verdict, score, findings: listed(findings, MAX_LISTED, cx), beacons, domains })
}

/// Text of a caller in a message.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// Median of sorted numbers.
fn median(sorted: &[f64]) -> f64 {
    quantile(sorted, 0.5)
}

/// Quantile of sorted numbers with linear interpolation (Hyndman and Fan's type 7); 0 of none.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * sorted.len().saturating_sub(1) as f64;
    let below = sorted.get(position.floor() as usize).copied().unwrap_or(0.0);
    let above = sorted.get(position.ceil() as usize).copied().unwrap_or(below);
    below + (above - below) * position.fract()
}

fn sorted(mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers
}
