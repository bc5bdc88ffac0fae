//! What a start or reload records. Pure.

use muster_core::Millis;

use super::record::{Deploy, DeployEnd, Program};

/// What happened to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    Start,
    Reload,
}

/// The records to write: the newest one as it is now, and a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) last: Option<Deploy>,
    pub(super) new: Option<Deploy>,
}

/// Decides what is recorded. A start after a clean stop of the same program goes on with its record; every other start,
/// and every reload, begins one.
pub(super) fn begin(
    last: Option<Deploy>,
    occasion: Occasion,
    program: Program,
    policy: &str,
    id: String,
    now: Millis,
) -> Changes {
    let previous = last.as_ref().map(|last| last.id.clone());
    let new = |program| Deploy { id, at: now, program, policy: policy.to_owned(), previous, ended_at: None, end: None };
    let Some(mut last) = last else { return Changes { last: None, new: Some(new(program)) } };
    match (occasion, last.end) {
        (Occasion::Start, Some(DeployEnd::Clean)) if last.program == program => {
            (last.ended_at, last.end) = (None, None);
            Changes { last: Some(last), new: None }
        }
        (Occasion::Start, Some(_)) => Changes { last: None, new: Some(new(program)) },
        (Occasion::Start, None) => {
            (last.ended_at, last.end) = (Some(now), Some(DeployEnd::Killed));
            Changes { last: Some(last), new: Some(new(program)) }
        }
        (Occasion::Reload, None) => {
            (last.ended_at, last.end) = (Some(now), Some(DeployEnd::Clean));
            Changes { last: Some(last), new: Some(new(program)) }
        }
        // A reload while the server stops: the record of the stop stands.
        (Occasion::Reload, Some(_)) => Changes { last: None, new: Some(new(program)) },
    }
}
