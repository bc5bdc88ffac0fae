//! Stored records of tasks, which are also returned to clients (contract 4).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::messages::{Outcome, Verb};
use muster_core::Millis;

/// Status of a task. The last five are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Accepted and durable; being admitted.
    Pending,
    Queued,
    Running,
    /// A pause was requested while a step is in progress.
    Pausing,
    Paused,
    /// Waiting for an approval or input.
    Waiting,
    /// Backing off after a failure.
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

/// Priority of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

/// Owner of a task, whose budget it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// `key_…` or `usr_…`.
    pub id: String,
    /// The key's budget per calendar month, in billionths of a US dollar.
    pub budget_nanos: Option<u64>,
}

/// Kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Calls an engine.
    Engine,
    /// Asks a model what comes next.
    Model,
    /// Writes the result.
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

/// A step as part of a task's record. Its output is stored separately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Counts from 0 within the task, across all revisions.
    pub index: u32,
    pub name: String,
    pub kind: StepKind,
    pub status: StepStatus,
    /// Number of starts, including those ended by a crash.
    pub attempts: u32,
    /// Duration of the successful attempt.
    pub ms: Option<u64>,
}

/// What a percentage is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Finished steps relative to planned ones.
    Measured,
    /// Elapsed time relative to the usual duration.
    Estimated,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    pub completed_steps: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u32>,
    /// Current phase, such as a step's name.
    pub phase: String,
    pub basis: Basis,
    pub updated_at: Millis,
}

/// Estimated duration, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub p50_seconds: u64,
    pub p90_seconds: u64,
    /// Number of runs of the agent on which the estimate is based.
    pub samples: u64,
    /// Expected wait in the queue.
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
    /// Stable code, such as `AGENT_EXECUTION_ERROR`, `CRASH_LOOP`, `QUEUE_TIMEOUT`, `AGENT_PARAMS_MISSING`.
    pub error_code: String,
    pub detail: String,
}

/// Usage of a task so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub prompt: u64,
    pub completion: u64,
    pub cost_nanos: u64,
}

/// An accepted control and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlRecord {
    pub request_id: String,
    pub verb: Verb,
    pub by: String,
    pub at: Millis,
    /// `None` while it is pending.
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
    /// Incremented by each redirect.
    pub revision: u32,
    /// Attempt of the current step, from 1.
    pub attempt: u32,
    /// Incremented by each durable change.
    pub seq: u64,
    pub created_at: Millis,
    /// Time at which it was first queued, on which its queue age is based.
    pub queued_at: Option<Millis>,
    pub started_at: Option<Millis>,
    pub finished_at: Option<Millis>,
    /// Time at which its run time limit is reached, while it runs.
    pub deadline_at: Option<Millis>,
    /// Run time before the current period, in milliseconds, excluding time paused, queued or waiting.
    pub ran_ms: u64,
    pub paused_ms: u64,
    pub progress: Progress,
    pub estimate: Estimate,
    pub waiting: Option<Waiting>,
    /// Redirect instructions, applied or pending, oldest first.
    pub instructions: Vec<super::Instruction>,
    /// Controls of the last 24 h.
    pub controls: Vec<ControlRecord>,
    pub steps: Vec<StepRecord>,
    pub result: Option<Value>,
    /// What an aborted step had written.
    pub partial: Option<String>,
    pub error: Option<TaskError>,
    /// Whether it was interrupted by a crash.
    pub recovered: bool,
    pub usage: Usage,
}

/// An entry of a task's journal: `GET /api/v1/tasks/{id}/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The task's `seq` after the change.
    pub seq: u64,
    pub at: Millis,
    /// Name of the feed event, such as `task.state`, `task.step`, `control.applied`.
    pub event: String,
    pub data: Value,
}
