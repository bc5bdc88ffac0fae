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
    /// Those that the principal owns.
    Own,
    /// Those of all owners.
    All,
}

/// The principal of a request and its reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Requester {
    /// The principal.
    pub by: By,
    /// Tasks that it may read.
    pub reads: Reach,
    /// Tasks that it may control.
    pub controls: Reach,
}

impl Requester {
    /// Determines the reach of a principal. A key has access to its own tasks; with the scope `admin` or the role
    /// `auditor` it sees all, with `admin` or the role `operations` it controls all. A user sees all with `agents:read`
    /// and controls all with `agents:control`.
    pub fn of(by: By) -> Self {
        let reach = |all: bool| if all { Reach::All } else { Reach::Own };
        let (reads, controls) = match &by {
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
        Self { reads: reach(reads), controls: reach(controls), by }
    }

    /// Returns whether tasks of this owner are visible.
    pub fn may_read(&self, owner: &str) -> bool {
        self.reads == Reach::All || self.by.id() == owner
    }

    /// Returns whether tasks of this owner may be controlled.
    pub fn may_control(&self, owner: &str) -> bool {
        self.controls == Reach::All || self.by.id() == owner
    }
}

/// A run request.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// Identifier of the agent.
    pub agent: String,
    /// Instruction, at most 64 KiB.
    pub task: String,
    /// Params, at most 1 MiB as JSON.
    pub params: Value,
    /// 1 to 86,400.
    pub timeout_seconds: u32,
    /// Priority in the queue.
    pub priority: Priority,
    /// Whether it runs as soon as it can.
    pub start: Start,
}

/// How a task begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Start {
    /// It runs once it has a slot.
    #[default]
    AtOnce,
    /// It is paused before its first step, until it is resumed.
    Paused,
}

/// How a redirect affects the step in progress and the agent.
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
        /// Whether the step in progress is aborted instead of finished.
        now: bool,
    },
    /// Continues a paused or waiting task.
    Resume,
    /// Ends the task; the step in progress is dropped.
    Kill,
    /// Adds an instruction, and plans the task again.
    Redirect {
        /// When the instruction takes effect.
        mode: RedirectMode,
        /// The instruction, at most 8 KiB.
        instruction: String,
        /// The agent that continues, with [`RedirectMode::Agent`].
        agent: Option<String>,
    },
}

/// A control of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// The operation.
    pub verb: Verb,
    /// Identifies the request: repeated requests get the same reply for 24 h. For WebSockets the `idem`; generated if
    /// the client sends none.
    pub request_id: String,
    /// Applies only if the task is at this `seq`.
    pub if_seq: Option<u64>,
    /// Reason for the audit log, for people.
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
    /// Immediately.
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
    /// It took effect.
    Applied,
    /// A later control replaced it.
    Superseded,
    /// The task ended before.
    Missed,
}

/// Effect of a control on the step in progress.
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
    /// Identifier of the task.
    pub task_id: String,
    /// Identifier of the request.
    pub request_id: String,
    /// Whether the control was accepted or had no effect.
    pub phase: FirstPhase,
    /// When the control takes effect.
    pub effective: Effective,
    /// Status of the task after the control.
    pub status: Status,
    /// `seq` of the task after the control.
    pub seq: u64,
    /// Effect on the step in progress, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort: Option<Abort>,
}

/// Filter for tasks. Empty sets match everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Statuses, one of which a task must have.
    pub status: Vec<Status>,
    /// Identifier of the agent.
    pub agent: Option<String>,
    /// Priority.
    pub priority: Option<Priority>,
    /// Lower bound of `created_at`, inclusive.
    pub from: Option<Millis>,
    /// Upper bound of `created_at`, exclusive.
    pub to: Option<Millis>,
}

/// Whether a bulk control only reports what it would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// Nothing is changed.
    Yes,
    /// The control is applied.
    No,
}

/// Outcome for one task of a bulk control.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkOutcome {
    /// Identifier of the task.
    pub task_id: String,
    /// `None` in a dry run, or if the control was rejected.
    pub phase: Option<FirstPhase>,
    /// Why the control was rejected, if it was.
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
    /// Outcome for each of the first 10,000 of them.
    pub outcomes: Vec<BulkOutcome>,
}
