//! Requests about tasks, and their replies.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{Priority, Status};
use muster_core::principal::Permission;
use muster_core::{Error, Millis};
use muster_identity::By;
use muster_identity::keys::{Role, Scope};

/// Whose tasks a principal may see or control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Own,
    All,
}

/// The principal of a request and its reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Asker {
    pub by: By,
    pub sees: Reach,
    pub controls: Reach,
}

impl Asker {
    /// Determines the reach of a principal. A key has access to its own tasks; with the scope `admin` or the role
    /// `auditor` it sees all, with `admin` or the role `operations` it controls all. A user sees all with `agents:read`
    /// and controls all with `agents:control`.
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

    /// Returns whether tasks of this owner are visible.
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
    /// The instruction takes effect at the next boundary.
    #[default]
    Steer,
    /// The step in progress is aborted, and the task is planned again.
    Interrupt,
    /// Another agent continues with the instruction and the finished steps.
    Agent,
}

/// A control operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Verb {
    /// `now` aborts the step in progress, which runs again on resume.
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

/// A control of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    pub verb: Verb,
    /// Identifies the request: repeated requests get the same reply for 24 h. For WebSockets the `idem`; generated if
    /// the client sends none.
    pub request_id: String,
    /// Applies only if the task is at this `seq`.
    pub if_seq: Option<u64>,
    pub reason: Option<String>,
}

/// First phase of the reply, durable when it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstPhase {
    /// 202: the second phase follows as an event.
    Accepted,
    /// 200: the task is in the requested state already.
    Already,
}

/// When an accepted control takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effective {
    Now,
    /// At the next step boundary.
    Boundary,
    /// When the task is resumed.
    Resume,
}

/// Second phase: the single final outcome of an accepted control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Applied,
    /// A later control replaced it.
    Superseded,
    /// The task ended before.
    Missed,
}

/// What happens to the step in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Abort {
    /// Its future was dropped.
    Dropped,
    /// CPU work that cannot be dropped continues, and its late result is ignored.
    Detached,
}

/// Reply to a control. A rejection is an [`Error`](muster_core::Error) of kind `Conflict` whose details contain the
/// current status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlReply {
    pub task_id: String,
    pub request_id: String,
    pub phase: FirstPhase,
    pub effective: Effective,
    /// Status of the task after the control.
    pub status: Status,
    pub seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort: Option<Abort>,
}

/// Filter for tasks. Empty sets match everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    pub status: Vec<Status>,
    pub agent: Option<String>,
    pub priority: Option<Priority>,
    /// Lower bound of `created_at`, inclusive.
    pub from: Option<Millis>,
    /// Upper bound of `created_at`, exclusive.
    pub to: Option<Millis>,
}

/// Whether a bulk control only reports what it would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    Yes,
    No,
}

/// Outcome for one task of a bulk control.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkOutcome {
    pub task_id: String,
    /// `None` in a dry run, or if the control was rejected.
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

/// Reply to a bulk control.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkReply {
    /// Number of tasks that match the filter.
    pub matched: usize,
    pub outcomes: Vec<BulkOutcome>,
}
