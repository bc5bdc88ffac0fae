//! q153: agent runaway.

mod calls;

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;

use self::calls::{Call, cycle, minhash, similar};
use crate::verdict::{Verdict, finding, listed, score, verdict};

/// Maximum number of steps.
const MAX_STEPS: usize = 20_000;
/// Steps at the end of the trace in which loops are sought.
const WINDOW: usize = 60;
/// Findings and repeats that are listed.
const MAX_LISTED: usize = 200;
/// Similarity of arguments from which a call is nearly the one before.
const NEAR: f64 = 0.8;

#[derive(Debug, Input)]
pub struct Input {
    agent_trace: Vec<Step>,
    allowed_tools: Vec<String>,
    budget: Budget,
}

#[derive(Debug, Input)]
struct Step {
    time: Timestamp,
    tool: String,
    arguments: Value,
    tokens: Option<i64>,
    cost: Option<f64>,
    outcome: Option<String>,
}

#[derive(Debug, Default, Input)]
struct Budget {
    tokens: Option<i64>,
    cost: Option<f64>,
    steps: Option<i64>,
    seconds: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
enum Action {
    Continue,
    Pause,
    Kill,
    Redirect,
}

#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    action: Action,
    repeats: Vec<Repeat>,
    projection: BTreeMap<String, f64>,
}

#[derive(Debug, Output)]
struct Repeat {
    signature: String,
    count: usize,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { agent_trace: mut trace, allowed_tools, budget } = input;
    if trace.len() > MAX_STEPS {
        return Err(Failure::too_large(format!(
            "agent_trace has {} steps, at most {MAX_STEPS} are allowed: send the last ones",
            trace.len()
        )));
    }
    for (at, step) in trace.iter().enumerate() {
        let negative = step.tokens.is_some_and(|tokens| tokens < 0) || step.cost.is_some_and(|cost| cost < 0.0);
        if negative {
            return Err(Failure::invalid(&["agent_trace", &at.to_string()], "tokens and cost must be 0 or more"));
        }
    }
    let mut findings = Vec::new();
    if trace.windows(2).any(|pair| matches!(pair, [before, after] if before.time > after.time)) {
        findings.push(finding(
            "time-order",
            Severity::Low,
            "steps are not in the order of their times; they were sorted",
            None,
        ));
        trace.sort_by_key(|step| step.time);
    }
    let calls: Vec<Call> = trace.iter().map(|step| Call::new(&step.tool, &step.arguments)).collect();
    findings.extend(outside(&trace, &allowed_tools));
    findings.extend(loops(&calls));
    findings.extend(storms(&trace));
    findings.extend(stalled(&trace));
    let projection = spend(&trace, &budget, &mut findings)?;
    let verdict = verdict(&findings);
    let has =
        |rule: &str| findings.iter().any(|finding| finding.rule == rule && finding.severity == Severity::Critical);
    let action = match verdict {
        Verdict::Critical if has("budget-exceeded") || has("tool-not-allowed") => Action::Kill,
        Verdict::Critical => Action::Pause,
        Verdict::Warn => Action::Redirect,
        Verdict::Notice | Verdict::Clear => Action::Continue,
    };
    let score = score(&findings);
    Ok(Output {
        verdict,
        score,
        findings: listed(findings, MAX_LISTED, cx),
        action,
        repeats: repeats(&calls),
        projection,
    })
}

/// Calls of tools that the agent may not use.
fn outside(trace: &[Step], allowed: &[String]) -> Vec<Finding> {
    if allowed.is_empty() {
        return Vec::new();
    }
    let allowed: BTreeSet<&str> = allowed.iter().map(String::as_str).collect();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, step) in trace.iter().enumerate().filter(|(_, step)| !allowed.contains(step.tool.as_str())) {
        first.entry(&step.tool).or_insert(at);
    }
    let shown = |tool: &str| tool.chars().take(60).collect::<String>();
    let found = |(tool, at): (&str, usize)| {
        let message = format!("{} is not in allowed_tools: end the agent, then check what the call did", shown(tool));
        finding("tool-not-allowed", Severity::Critical, message, Some(format!("agent_trace.{at}")))
    };
    first.into_iter().map(found).collect()
}

/// Equal calls, cycles of calls and nearly equal calls at the end of the trace.
fn loops(calls: &[Call]) -> Vec<Finding> {
    let recent = calls.get(calls.len().saturating_sub(WINDOW)..).unwrap_or_default();
    let mut findings = Vec::new();
    let Some(last) = recent.last() else { return findings };
    let equal = recent.iter().rev().take_while(|call| call.hash == last.hash).count();
    let severity = match equal {
        8.. => Some(Severity::Critical),
        5..8 => Some(Severity::High),
        3..5 => Some(Severity::Medium),
        _ => None,
    };
    if let Some(severity) = severity {
        let message = format!("the last {equal} calls are the same: give the agent the answer it has, or another task");
        findings.push(finding("identical-calls", severity, message, None));
        return findings;
    }
    let hashes: Vec<u64> = recent.iter().rev().map(|call| call.hash).collect();
    if let Some((period, rounds)) = cycle(&hashes) {
        let severity = if rounds >= 5 { Severity::Critical } else { Severity::High };
        let message = format!("the last {rounds} rounds of {period} calls are the same");
        findings.push(finding("cycle", severity, message, None));
    }
    let prints: Vec<_> = recent.iter().rev().map(|call| (call.tool, minhash(&call.text))).collect();
    let near = prints
        .windows(2)
        .take_while(|pair| matches!(pair, [(a, x), (b, y)] if a == b && similar(x, y) >= NEAR))
        .count()
        + 1;
    if near >= 6 {
        let severity = if near >= 15 { Severity::High } else { Severity::Medium };
        findings.push(finding("similar-calls", severity, format!("the last {near} calls differ by little"), None));
    }
    let same = recent.iter().filter(|call| call.hash == last.hash).count();
    if findings.is_empty() && same >= 10 {
        findings.push(finding(
            "repeated-call",
            Severity::Medium,
            format!("the last call was made {same} times in the last {} steps", recent.len()),
            None,
        ));
    }
    findings
}

/// More calls in a time than a model makes: 30 in 10 s, or 120 in a minute.
fn storms(trace: &[Step]) -> Vec<Finding> {
    let times: Vec<f64> = trace.iter().map(|step| step.time.as_duration().as_secs_f64()).collect();
    let most = |seconds: f64| {
        let (mut from, mut most) = (0, 0);
        for (at, time) in times.iter().enumerate() {
            while times.get(from).is_some_and(|first| time - first >= seconds) {
                from += 1;
            }
            most = most.max(at + 1 - from);
        }
        most
    };
    let (short, long) = (most(10.0), most(60.0));
    if short >= 30 || long >= 120 {
        let severity = if short >= 100 || long >= 400 { Severity::Critical } else { Severity::High };
        let message = format!("up to {short} calls in 10 s and {long} in a minute: limit the rate");
        return vec![finding("tool-storm", severity, message, None)];
    }
    Vec::new()
}

/// Failures in a row at the end.
fn stalled(trace: &[Step]) -> Vec<Finding> {
    let failed = |step: &&Step| {
        step.outcome.as_deref().is_some_and(|outcome| {
            let lower = outcome.trim().to_lowercase();
            ["error", "fail", "timeout", "denied", "refused", "invalid", "exception"]
                .iter()
                .any(|word| lower.starts_with(word))
        })
    };
    let failures = trace.iter().rev().take_while(failed).count();
    let empty = trace
        .iter()
        .rev()
        .take_while(|step| {
            step.outcome.as_deref().is_some_and(|outcome| ["", "empty", "no_result", "none"].contains(&outcome.trim()))
        })
        .count();
    let mut findings = Vec::new();
    if failures >= 5 {
        let severity = if failures >= 10 { Severity::Critical } else { Severity::High };
        findings.push(finding("repeated-failures", severity, format!("the last {failures} calls failed"), None));
    }
    if empty >= 8 {
        findings.push(finding(
            "no-progress",
            Severity::Medium,
            format!("the last {empty} calls brought nothing"),
            None,
        ));
    }
    findings
}

/// Share of each budget that is used, and the steps until it is used up at the mean so far.
fn spend(trace: &[Step], budget: &Budget, findings: &mut Vec<Finding>) -> Result<BTreeMap<String, f64>, Failure> {
    let steps = trace.len() as f64;
    let elapsed = match (trace.first(), trace.last()) {
        (Some(first), Some(last)) => last.time.duration_since(first.time).as_secs_f64(),
        _ => 0.0,
    };
    let used = [
        (
            "tokens",
            budget.tokens.map(|most| most as f64),
            trace.iter().filter_map(|step| step.tokens).map(|tokens| tokens as f64).sum::<f64>(),
        ),
        ("cost", budget.cost, trace.iter().filter_map(|step| step.cost).sum()),
        ("steps", budget.steps.map(|most| most as f64), steps),
        ("seconds", budget.seconds, elapsed),
    ];
    let mut projection = BTreeMap::new();
    for (name, most, used) in used {
        if !used.is_finite() {
            return Err(Failure::invalid(&["agent_trace"], format!("the sum of {name} is too large for a number")));
        }
        projection.insert(format!("{name}_used"), used);
        let Some(most) = most else { continue };
        if most <= 0.0 {
            return Err(Failure::invalid(&["budget", name], "must be more than 0"));
        }
        let share = used / most;
        if share.is_finite() {
            projection.insert(format!("{name}_share"), share);
        }
        let left = (most - used).max(0.0) * steps / used;
        if used > 0.0 && left.is_finite() {
            projection.insert(format!("steps_until_{name}"), left.floor());
        }
        if used > most {
            findings.push(finding(
                "budget-exceeded",
                Severity::Critical,
                format!("{name}: {used} of {most} are used"),
                None,
            ));
        } else if share >= 0.8 {
            findings.push(finding(
                "budget-nearly-used",
                Severity::Medium,
                format!("{name}: {used} of {most} are used"),
                None,
            ));
        }
    }
    Ok(projection)
}

/// Calls that were made more than once, most frequent first.
fn repeats(calls: &[Call]) -> Vec<Repeat> {
    let mut counts: BTreeMap<(&str, u64), usize> = BTreeMap::new();
    for call in calls {
        *counts.entry((call.tool, call.hash)).or_default() += 1;
    }
    let mut repeats: Vec<Repeat> = counts
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .map(|((tool, hash), count)| Repeat { signature: format!("{tool}:{hash:016x}"), count })
        .collect();
    repeats.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.signature.cmp(&b.signature)));
    repeats.truncate(MAX_LISTED);
    repeats
}
