//! The state of a control by what was found. Pure.

use muster_core::Millis;
use serde_json::Value;

use super::control::{Control, Evidence, EvidenceKind};

/// State of a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// There is evidence of acts within the window, and nothing contradicts it.
    Pass,
    /// Something contradicts the control.
    Fail,
    /// Nothing contradicts it, and evidence is missing.
    NoEvidence,
    /// An approval excepts it.
    Excepted,
}

impl Status {
    /// Returns the name used in responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NoEvidence => "no_evidence",
            Self::Excepted => "excepted",
        }
    }
}

/// What a query found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Entries of the audit log.
    Entries {
        /// Number of entries.
        count: u64,
        /// Number of the oldest one.
        first_seq: Option<u64>,
        /// Number of the newest one.
        last_seq: Option<u64>,
        /// Time of the newest one.
        at: Option<Millis>,
    },
    /// The last result of a module: `healthy`, `degraded` or `unhealthy`.
    Probe {
        /// Its status.
        status: String,
        /// When it was probed.
        at: Millis,
    },
    /// A setting.
    Setting(Value),
    /// A number of records.
    Records(u64),
    /// There is no such module, setting or record.
    Nothing,
}

/// A query and what it found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEvidence {
    /// What was looked at.
    pub kind: EvidenceKind,
    /// Which actions, module, setting or record.
    pub reference: String,
    /// Number of entries or records; 1 for a module or setting that there is.
    pub count: u64,
    /// Number of the oldest entry.
    pub first_seq: Option<u64>,
    /// Number of the newest entry.
    pub last_seq: Option<u64>,
    /// Time of the newest entry, or of the evaluation.
    pub at: Option<Millis>,
    verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Supports,
    Missing(String),
    Contradicts(String),
}

/// A control and its state.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlState {
    /// The control.
    pub control: Control,
    /// Its state.
    pub status: Status,
    /// Why it has this state.
    pub why: String,
    /// What was found.
    pub evidence: Vec<FoundEvidence>,
}

/// Returns the state of a control. `exception` is the approval that excepts it.
pub fn evaluate(control: &Control, found: Vec<Found>, exception: Option<&str>, now: Millis) -> ControlState {
    let judged: Vec<FoundEvidence> = control
        .evidence
        .iter()
        .zip(found)
        .map(|(query, found)| judge(query, found, control.window_days, now))
        .collect();
    let reasons = |contradicting: bool| -> Vec<&str> {
        let reason = |evidence| match &FoundEvidence::verdict(evidence) {
            Verdict::Contradicts(why) if contradicting => Some(why.as_str()),
            Verdict::Missing(why) if !contradicting => Some(why.as_str()),
            _ => None,
        };
        judged.iter().filter_map(reason).collect()
    };
    let (against, missing) = (reasons(true), reasons(false));
    // Only acts are evidence: a server on which nothing happened has settings and healthy modules too.
    let acted = judged.iter().any(|evidence| evidence.kind == EvidenceKind::Audit && evidence.supports());
    let complete = judged.len() == control.evidence.len();
    let (status, why) = match exception {
        Some(approval) => (Status::Excepted, format!("excepted by {approval}")),
        None if !against.is_empty() => (Status::Fail, against.join("; ")),
        None if !missing.is_empty() => (Status::NoEvidence, missing.join("; ")),
        None if acted && complete => (Status::Pass, control.requirement.clone()),
        None => (Status::NoEvidence, "nothing was recorded".to_owned()),
    };
    ControlState { control: control.clone(), status, why, evidence: judged }
}

impl FoundEvidence {
    const fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn supports(&self) -> bool {
        self.verdict == Verdict::Supports && self.count > 0
    }
}

fn judge(query: &Evidence, found: Found, window_days: u32, now: Millis) -> FoundEvidence {
    let name = &query.reference;
    let evidence = |count, at, verdict| FoundEvidence {
        kind: query.kind,
        reference: name.clone(),
        count,
        first_seq: None,
        last_seq: None,
        at,
        verdict,
    };
    match found {
        Found::Entries { count, first_seq, last_seq, at } => {
            let window = format!("within {window_days} days");
            let verdict = match query.at_most {
                Some(most) if count > most => {
                    Verdict::Contradicts(format!("{count} entries `{name}` {window}, at most {most}"))
                }
                Some(_) => Verdict::Supports,
                None if count >= query.min => Verdict::Supports,
                None => Verdict::Missing(format!("{count} entries `{name}` {window}, of {}", query.min)),
            };
            FoundEvidence { first_seq, last_seq, ..evidence(count, at, verdict) }
        }
        Found::Probe { status, at } => {
            let verdict = match status.as_str() {
                "healthy" => Verdict::Supports,
                "unhealthy" => Verdict::Contradicts(format!("the module {name} is unhealthy")),
                other => Verdict::Missing(format!("the module {name} is {other}")),
            };
            evidence(1, Some(at), verdict)
        }
        Found::Setting(value) => {
            let is_set = !matches!(&value, Value::Null | Value::Bool(false))
                && value.as_str() != Some("")
                && value.as_array().is_none_or(|list| !list.is_empty());
            let text = value.to_string();
            let fits = query.is.iter().any(|wanted| *wanted == text || (wanted == "set" && is_set));
            let verdict = match fits {
                true => Verdict::Supports,
                false => Verdict::Contradicts(format!("the setting {name} is {text}")),
            };
            evidence(1, Some(now), verdict)
        }
        Found::Records(count) => {
            let verdict = match query.at_most {
                Some(most) if count > most => Verdict::Contradicts(format!("{count} {name}, at most {most}")),
                Some(_) => Verdict::Supports,
                None if count >= query.min => Verdict::Supports,
                None => Verdict::Missing(format!("{count} {name}, of {}", query.min)),
            };
            evidence(count, Some(now), verdict)
        }
        Found::Nothing => evidence(0, None, Verdict::Missing(format!("there is no {} {name}", query.kind.name()))),
    }
}
