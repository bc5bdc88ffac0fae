//! q155: orchestration of the sentinels.

pub mod fuse;
pub mod plan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use muster_engine::prelude::*;

use self::fuse::{Run, Status, fuse};
use self::plan::{Mode, Planned, WAVES, plan};
use crate::verdict::{Verdict, listed};

/// Findings that are listed.
pub const MAX_LISTED: usize = 1_000;

#[derive(Debug, Input)]
pub struct Input {
    subject: Subject,
    sentinels: Vec<String>,
    mode: Mode,
    weights: BTreeMap<String, f64>,
    deadline_ms: u64,
}

#[derive(Debug, Input)]
struct Subject {
    text: Option<String>,
    url: Option<String>,
    filename: Option<String>,
    request: Option<Value>,
    line: Option<String>,
    auth_events: Option<Vec<Value>>,
    traffic: Option<Vec<Value>>,
    dns: Option<Vec<Value>>,
    flows: Option<Vec<Value>>,
    dependencies: Option<Vec<Value>>,
    advisories: Option<Vec<Value>>,
    config: Option<String>,
    files: Option<Vec<Value>>,
    manifest: Option<Vec<Value>>,
    agent_trace: Option<Vec<Value>>,
    telemetry: Option<Vec<Value>>,
    limits: Option<Value>,
}

#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    runs: Vec<RunReport>,
    actions: Vec<String>,
    agreement: f64,
}

#[derive(Debug, Output)]
struct RunReport {
    sentinel: &'static str,
    priority: u8,
    verdict: &'static str,
    score: f64,
    ms: f64,
    status: Status,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { subject, sentinels, mode, weights, deadline_ms } = input;
    fuse::check_weights(&weights)?;
    let planned = plan(&subject.members(), &sentinels)?;
    let mut runs: Vec<Run> = Vec::with_capacity(planned.len());
    let mut ended = false;
    for wave in 1..=WAVES {
        let until = Duration::from_millis(deadline_ms).as_micros() * u128::from(mode.share(wave)) / 100;
        for planned in planned.iter().filter(|planned| planned.sentinel.wave == wave) {
            runs.push(run_one(planned, ended, until, cx));
        }
        let critical = runs.iter().any(|run| run.verdict == Some(Verdict::Critical));
        ended |= mode == Mode::FirstCritical && critical;
    }
    let fused = fuse(&runs, &weights);
    let report = |run: Run| RunReport {
        sentinel: run.sentinel.id,
        priority: run.sentinel.wave,
        verdict: run.verdict.map_or("none", |verdict| verdict.word()),
        score: run.score,
        ms: run.ms,
        status: run.status,
    };
    Ok(Output {
        verdict: fused.verdict,
        score: fused.score,
        findings: listed(fused.findings, MAX_LISTED, cx),
        runs: runs.into_iter().map(report).collect(),
        actions: fused.actions,
        agreement: fused.agreement,
    })
}

/// Runs a sentinel with its members of the subject, if it has any and the time of its wave is not over.
fn run_one(planned: &Planned, ended: bool, until: u128, cx: &Context) -> Run {
    let Some(input) = planned.input.clone().filter(|_| !ended) else {
        return Run::without(planned.sentinel, Status::Skipped);
    };
    let begun = cx.elapsed();
    if begun.as_micros() > until {
        return Run::without(planned.sentinel, Status::Timeout);
    }
    let own = Context::default();
    let answer = crate::FAMILY.run(planned.sentinel.number, input, &own);
    let ms = (cx.elapsed().saturating_sub(begun)).as_secs_f64() * 1_000.0;
    for warning in own.into_warnings() {
        cx.warn(format!("{}: {warning}", planned.sentinel.id));
    }
    match answer {
        Ok(output) => Run::of(planned.sentinel, &output, ms),
        Err(failure) => {
            cx.warn(format!("error: {}: {}", planned.sentinel.id, reason(&failure)));
            Run { ms, ..Run::without(planned.sentinel, Status::Error) }
        }
    }
}

/// The first problem of a failure, with its field.
fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Invalid { problems } => problems
            .first()
            .map_or_else(|| failure.to_string(), |problem| format!("{} {}", problem.loc.join("."), problem.message)),
        other => other.to_string(),
    }
}

impl Subject {
    fn members(self) -> Map<String, Value> {
        let text = |text: Option<String>| text.map(Value::from);
        let list = |items: Option<Vec<Value>>| items.map(Value::Array);
        let members = [
            ("text", text(self.text)),
            ("url", text(self.url)),
            ("filename", text(self.filename)),
            ("request", self.request),
            ("line", text(self.line)),
            ("auth_events", list(self.auth_events)),
            ("traffic", list(self.traffic)),
            ("dns", list(self.dns)),
            ("flows", list(self.flows)),
            ("dependencies", list(self.dependencies)),
            ("advisories", list(self.advisories)),
            ("config", text(self.config)),
            ("files", list(self.files)),
            ("manifest", list(self.manifest)),
            ("agent_trace", list(self.agent_trace)),
            ("telemetry", list(self.telemetry)),
            ("limits", self.limits),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}
