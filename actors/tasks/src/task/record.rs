//! What is stored of a task, and shown of it (contract 4).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::messages::{Outcome, Verb};
use muster_core::Millis;

/// Where a task is. The last five never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Accepted and durable, in admission.
    Pending,
    Queued,
    Running,
    /// A pause was asked for while a step is in flight.
    Pausing,
    Paused,
    /// For an approval or input.
    Waiting,
    /// In back-off after a failure.
    Retrying,
    Succeeded,
    Failed,
    TimedOut,
    Killed,
    Rejected,
}

impl Status {
    pub const ALL: [Self; 12] = [
        Self::Pending,
        Self::Queued,
        Self::Running,
        Self::Pausing,
        Self::Paused,
        Self::Waiting,
        Self::Retrying,
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::Killed,
        Self::Rejected,
    ];

    pub const fn ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::TimedOut | Self::Killed | Self::Rejected)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Pausing => "pausing",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Killed => "killed",
            Self::Rejected => "rejected",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// How soon a task is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

/// Whose task it is, and whose money it spends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// `key_…` or `usr_…`.
    pub id: String,
    /// The key's budget of a calendar month, in billionths of a dollar.
    pub budget_nanos: Option<u64>,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Calls an engine.
    Engine,
    /// Asks a model what comes next.
    Model,
    /// Writes the result up.
    Writeup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    Running,
    Succeeded,
    Failed,
    /// Dropped by a kill, an interrupt or an immediate pause.
    Aborted,
}

/// One step as the task shows it. Its output is kept apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// From 0 within the task, over all revisions.
    pub index: u32,
    pub name: String,
    pub kind: StepKind,
    pub status: StepStatus,
    /// Starts, those that a crash ended among them.
    pub attempts: u32,
    /// Of the attempt that finished.
    pub ms: Option<u64>,
}

/// What a percentage rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Steps finished of those planned.
    Measured,
    /// Time passed of the time that such tasks take.
    Estimated,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    pub completed_steps: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u32>,
    /// What it is at, such as a step's name.
    pub phase: String,
    pub basis: Basis,
    pub updated_at: Millis,
}

/// How long it is thought to take, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub p50_seconds: u64,
    pub p90_seconds: u64,
    /// Runs of that agent that it rests on.
    pub samples: u64,
    /// The expected wait in the queue.
    pub queue_seconds: u64,
}

/// What a task waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    /// `input`, `approval` or `operator`.
    pub reason: String,
    /// What is needed, for people.
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskError {
    /// Such as `AGENT_EXECUTION_ERROR`, `CRASH_LOOP`, `QUEUE_TIMEOUT`, `AGENT_PARAMS_MISSING`.
    pub error_code: String,
    pub detail: String,
}

/// What a task used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub prompt: u64,
    pub completion: u64,
    pub cost_nanos: u64,
}

/// An accepted control and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlRecord {
    pub request_id: String,
    pub verb: Verb,
    pub by: String,
    pub at: Millis,
    /// `None` while it is under way.
    pub outcome: Option<Outcome>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// `task_…`
    pub id: String,
    pub agent: String,
    pub status: Status,
    /// The instruction.
    pub task: String,
    pub params: Value,
    pub priority: Priority,
    pub timeout_seconds: u32,
    pub owner: Owner,
    /// One more with each redirect.
    pub revision: u32,
    /// Of the step in hand, from 1.
    pub attempt: u32,
    /// One more with each durable change.
    pub seq: u64,
    pub created_at: Millis,
    /// When it first came into the queue: what its age is counted from.
    pub queued_at: Option<Millis>,
    pub started_at: Option<Millis>,
    pub finished_at: Option<Millis>,
    /// When its run time is over, while it runs.
    pub deadline_at: Option<Millis>,
    /// Run time before the present stretch, in milliseconds: paused, queued and waiting do not count.
    pub ran_ms: u64,
    pub paused_ms: u64,
    pub progress: Progress,
    pub estimate: Estimate,
    pub waiting: Option<Waiting>,
    /// Instructions that joined or wait to join, oldest first.
    pub instructions: Vec<super::Instruction>,
    /// Controls of the last 24 h.
    pub controls: Vec<ControlRecord>,
    pub steps: Vec<StepRecord>,
    pub result: Option<Value>,
    /// What an aborted step had written.
    pub partial: Option<String>,
    pub error: Option<TaskError>,
    /// Whether a crash interrupted it.
    pub recovered: bool,
    pub usage: Usage,
}

/// One line of a task's journal: `GET /api/v1/tasks/{id}/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The task's `seq` that it brought.
    pub seq: u64,
    pub at: Millis,
    /// The feed's name of it, such as `task.state`, `task.step`, `control.applied`.
    pub event: String,
    pub data: Value,
}
