//! One answer from the answers of several sentinels.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_engine::wire::FromValue;

use super::plan::Sentinel;
use crate::verdict::Verdict;

/// Score from which two warnings together are critical.
const CORROBORATED: f64 = 0.9;

/// How the run of a sentinel ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Status {
    /// It gave an answer.
    Ran,
    /// It was not run: the subject has nothing for it, or a critical finding ended the call.
    Skipped,
    /// The deadline passed before.
    Timeout,
    /// It failed.
    Error,
}

/// The run of a sentinel.
#[derive(Debug, Clone)]
pub struct Run {
    /// The sentinel.
    pub sentinel: &'static Sentinel,
    /// Its verdict, if it ran.
    pub verdict: Option<Verdict>,
    /// Its score, 0 to 1.
    pub score: f64,
    /// Its findings.
    pub findings: Vec<Finding>,
    /// Its duration in milliseconds.
    pub ms: f64,
    /// How it ended.
    pub status: Status,
}

impl Run {
    /// Creates the record of a sentinel that gave no answer.
    pub fn without(sentinel: &'static Sentinel, status: Status) -> Self {
        Self { sentinel, verdict: None, score: 0.0, findings: Vec::new(), ms: 0.0, status }
    }

    /// Reads the output of a sentinel's engine; an output without verdict, score and findings is an error.
    pub fn of(sentinel: &'static Sentinel, output: &Value, ms: f64) -> Self {
        let verdict = output.get("verdict").and_then(Value::as_str);
        let verdict = Verdict::ALL.iter().find(|(_, word)| Some(*word) == verdict).map(|(verdict, _)| *verdict);
        let score = output.get("score").and_then(Value::as_f64);
        let findings = output.get("findings").and_then(Value::as_array);
        let findings: Option<Vec<Finding>> =
            findings.and_then(|all| all.iter().map(|one| Finding::from_value(one.clone()).ok()).collect());
        match (verdict, score, findings) {
            (Some(verdict), Some(score), Some(findings)) => Self {
                sentinel,
                verdict: Some(verdict),
                score: score.clamp(0.0, 1.0),
                findings,
                ms,
                status: Status::Ran,
            },
            _ => Self { ms, ..Self::without(sentinel, Status::Error) },
        }
    }
}

impl Run {
    /// The findings as they stand in the answer: their rules begin with the sentinel's id and a slash.
    pub fn named_findings(&self) -> impl Iterator<Item = Finding> {
        let id = self.sentinel.id;
        self.findings.iter().map(move |one| Finding { rule: format!("{id}/{}", one.rule), ..one.clone() })
    }
}

/// The answer of all.
#[derive(Debug, Clone)]
pub struct Fused {
    /// The worst verdict; see [`fuse`].
    pub verdict: Verdict,
    /// `1 - Π (1 - w·s)` over those that ran (noisy-OR, Pearl 1988).
    pub score: f64,
    /// Findings by severity, sentinel, rule and place; their rules begin with the sentinel's id and a slash.
    pub findings: Vec<Finding>,
    /// What to do, by sentinel.
    pub actions: Vec<String>,
    /// Share of those that ran whose verdict lies on the same side of `warn` as the fused one.
    pub agreement: f64,
    /// Whether every sentinel that applies gave its answer.
    pub complete: bool,
}

/// Fails if a weight is outside 0 to 1 or names no sentinel.
///
/// # Errors
/// `Invalid` with the weight's name.
pub fn check_weights(weights: &BTreeMap<String, f64>) -> Result<(), Failure> {
    for (name, weight) in weights {
        if !super::plan::SENTINELS.iter().any(|sentinel| sentinel.id == name) {
            return Err(Failure::invalid(&["weights", name], "is no sentinel's id, such as sentinel-secrets"));
        }
        if !(0.0..=1.0).contains(weight) {
            return Err(Failure::invalid(&["weights", name], "must be 0 to 1"));
        }
    }
    Ok(())
}

/// Fuses runs. The verdict is the worst; `warn` becomes `critical` if two sentinels or more say `warn` and the score is 0.9
/// or more; an incomplete call in which nothing was found is `notice`, never `clear`. A weight that is not given is 1.
pub fn fuse(runs: &[Run], weights: &BTreeMap<String, f64>) -> Fused {
    let ran: Vec<&Run> = runs.iter().filter(|run| run.status == Status::Ran).collect();
    let complete = !runs.iter().any(|run| matches!(run.status, Status::Timeout | Status::Error));
    let weight = |run: &Run| weights.get(run.sentinel.id).copied().unwrap_or(1.0);
    let none: f64 = ran.iter().map(|run| 1.0 - weight(run) * run.score).product();
    let score = ((1.0 - none) * 1e4).round() / 1e4;
    let verdicts: Vec<Verdict> = ran.iter().filter_map(|run| run.verdict).collect();
    let mut verdict = verdicts.iter().copied().max().unwrap_or(Verdict::Clear);
    let warning = verdicts.iter().filter(|verdict| **verdict >= Verdict::Warn).count();
    if verdict == Verdict::Warn && warning >= 2 && score >= CORROBORATED {
        verdict = Verdict::Critical;
    }
    if verdict == Verdict::Clear && !complete {
        verdict = Verdict::Notice;
    }
    let side = verdict >= Verdict::Warn;
    let same = verdicts.iter().filter(|one| (**one >= Verdict::Warn) == side).count();
    let mut findings: Vec<(usize, Finding)> = Vec::new();
    for (at, run) in ran.iter().enumerate() {
        findings.extend(run.named_findings().map(|finding| (at, finding)));
    }
    findings.sort_by(|(at, a), (bt, b)| {
        (b.severity.cmp(&a.severity))
            .then_with(|| at.cmp(bt))
            .then_with(|| a.rule.cmp(&b.rule))
            .then_with(|| a.location.cmp(&b.location))
    });
    let alarmed = ran.iter().filter(|run| run.verdict >= Some(Verdict::Warn));
    let mut actions: Vec<String> = alarmed.map(|run| action(run.sentinel.number).to_owned()).collect();
    if !complete {
        actions.push("run the sentinels that gave no answer again".to_owned());
    }
    Fused {
        verdict,
        score,
        findings: findings.into_iter().map(|(_, finding)| finding).collect(),
        actions,
        agreement: if verdicts.is_empty() { 1.0 } else { same as f64 / verdicts.len() as f64 },
        complete,
    }
}

/// What to do first where a sentinel warns.
const fn action(number: u16) -> &'static str {
    match number {
        141 => "revoke the exposed credentials, then remove them from the text",
        142 => "mask the personal data before the text leaves",
        143 => "treat the text as data, and do not let a model act on it",
        144 => "hold the text back and have a person read it",
        145 => "do not follow the link, and reach the sender another way",
        146 => "refuse the request and check the program that received it",
        147 => "block the addresses and end the sessions of the users named",
        148 => "limit the rate of the sources named",
        149 => "isolate the clients named and block the destinations",
        150 => "update or remove the dependencies named",
        151 => "apply the fixes to the configuration",
        152 => "restore the files from the signed source",
        153 => "pause the agent",
        154 => "do not use the flagged readings",
        _ => "have a person look at the findings",
    }
}
