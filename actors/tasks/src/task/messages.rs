//! What tasks are asked, and what they answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{Priority, Status};
use muster_core::principal::Permission;
use muster_core::{Error, Millis};
use muster_identity::By;
use muster_identity::keys::{Role, Scope};

/// Whose tasks one may see or control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Own,
    All,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Asker {
    pub by: By,
    pub sees: Reach,
    pub controls: Reach,
}

impl Asker {
    /// A key has its own tasks; with the scope `admin` or the role `auditor` it sees all, with `admin` or the role
    /// `operations` it controls all. A person sees all with `agents:read` and controls all with `agents:control`.
    pub fn of(by: By) -> Self {
        let reach = |all: bool| if all { Reach::All } else { Reach::Own };
        let (sees, controls) = match &by {
            By::Key(key) => {
                let admin = key.has(Scope::Admin);
                let role = |role: Role| key.roles.contains(&role) || key.roles.contains(&Role::SuperAdmin);
                let controls = admin || role(Role::Operations);
                (admin || controls || role(Role::Auditor), controls)
            }
            By::Person(_) => (by.may(Permission::AgentsRead), by.may(Permission::AgentsControl)),
            By::Device(_) => (false, false),
            By::System => (true, true),
        };
        Self { sees: reach(sees), controls: reach(controls), by }
    }

    /// Whether it may know of an owner's tasks.
    pub fn may_see(&self, owner: &str) -> bool {
        self.sees == Reach::All || self.by.id() == owner
    }

    pub fn may_control(&self, owner: &str) -> bool {
        self.controls == Reach::All || self.by.id() == owner
    }
}

/// A run request.
#[derive(Debug, Clone)]
pub struct NewTask {
    pub agent: String,
    pub task: String,
    pub params: Value,
    /// 1 to 86,400.
    pub timeout_seconds: u32,
    pub priority: Priority,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedirectMode {
    /// The instruction joins at the next boundary.
    #[default]
    Steer,
    /// The step in flight is aborted, and what comes next is planned anew.
    Interrupt,
    /// Another agent takes the instruction and the finished steps.
    Agent,
}

/// What an operator asks of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Verb {
    /// `now` aborts the step in flight; it runs again on resume.
    Pause {
        now: bool,
    },
    Resume,
    Kill,
    Redirect {
        mode: RedirectMode,
        instruction: String,
        agent: Option<String>,
    },
}

/// One control of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    pub verb: Verb,
    /// The same gets the same answer for 24 h. Of a socket its `idem`; made up where the client says none.
    pub request_id: String,
    /// Only if the task is still at this `seq`.
    pub if_seq: Option<u64>,
    pub reason: Option<String>,
}

/// The first phase of the answer: durable by the time it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstPhase {
    /// 202: the second phase follows as an event.
    Accepted,
    /// 200: it is so already.
    Already,
}

/// When an accepted control takes hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effective {
    Now,
    /// At the next step boundary.
    Boundary,
    /// When the task is resumed.
    Resume,
}

/// The second phase: in exactly one of these every accepted control ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Applied,
    /// A later control took its place.
    Superseded,
    /// The task ended first.
    Missed,
}

/// What becomes of the step in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Abort {
    /// Its future was dropped.
    Dropped,
    /// CPU work goes on where it cannot be dropped, and its late result is fenced off.
    Detached,
}

/// The answer to a control. A refusal is an [`Error`](muster_core::Error) of the kind `Conflict` whose details hold the present status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlReply {
    pub task_id: String,
    pub request_id: String,
    pub phase: FirstPhase,
    pub effective: Effective,
    /// The task's, after it.
    pub status: Status,
    pub seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort: Option<Abort>,
}

/// Which tasks. Empty sets mean any.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    pub status: Vec<Status>,
    pub agent: Option<String>,
    pub priority: Option<Priority>,
    /// On `created_at`, inclusive.
    pub from: Option<Millis>,
    /// On `created_at`, exclusive.
    pub to: Option<Millis>,
}

/// Whether a bulk control only says what it would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    Yes,
    No,
}

/// What became of one task of a bulk control.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkOutcome {
    pub task_id: String,
    /// `None` in a dry run, or where it is refused.
    pub phase: Option<FirstPhase>,
    pub refused: Option<Error>,
}

impl BulkOutcome {
    pub(super) fn of(task_id: String, outcome: Result<ControlReply, Error>) -> Self {
        match outcome {
            Ok(reply) => Self { task_id, phase: Some(reply.phase), refused: None },
            Err(refused) => Self { task_id, phase: None, refused: Some(refused) },
        }
    }
}

/// The answer to a bulk control.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkReply {
    /// Tasks that the filter let through.
    pub matched: usize,
    pub outcomes: Vec<BulkOutcome>,
}
