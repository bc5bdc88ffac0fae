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
    /// Waiting for a slot.
    Queued,
    /// Holds a slot; a step is being planned or executed.
    Running,
    /// A pause was requested while a step is in progress.
    Pausing,
    /// Paused: nothing of it runs until it is resumed.
    Paused,
    /// Waiting for an approval or input.
    Waiting,
    /// Backing off after a failure.
    Retrying,
    /// Ended with a result.
    Succeeded,
    /// Ended with an error.
    Failed,
    /// Ended because its run time or its queue time was exceeded.
    TimedOut,
    /// Ended by a kill.
    Killed,
    /// Ended because its agent no longer admits it.
    Rejected,
}

impl Status {
    /// All statuses, final ones last.
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

    /// Returns whether the status is final.
    pub const fn ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::TimedOut | Self::Killed | Self::Rejected)
    }

    /// Returns the name used in the API.
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

    /// Returns the status with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// Number of characters of an instruction in lists and events.
const SHOWN_INSTRUCTION: usize = 200;

/// Priority of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Served up to 120 s later than a task of high priority that arrives at the same time.
    Low,
    /// Served up to 30 s later than a task of high priority that arrives at the same time.
    #[default]
    Normal,
    /// Served in the order of arrival.
    High,
}

/// Owner of a task, whose budget it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// `key_…` or `usr_…`.
    pub id: String,
    /// The key's budget per calendar month, in billionths of a US dollar.
    pub budget_nanos: Option<u64>,
    /// Owner of the key, whose budget all of the owner's keys share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
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

/// Status of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// The current attempt is running.
    Running,
    /// Finished: its output is stored.
    Succeeded,
    /// The last attempt failed.
    Failed,
    /// Dropped by a kill, an interrupt or an immediate pause.
    Aborted,
}

/// A step as part of a task's record. Its output is stored separately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Counts from 0 within the task, across all revisions.
    pub index: u32,
    /// Name of the step.
    pub name: String,
    /// Kind of the step.
    pub kind: StepKind,
    /// Status of the last attempt.
    pub status: StepStatus,
    /// Number of starts, including those ended by a crash.
    pub attempts: u32,
    /// Duration of the successful attempt.
    pub ms: Option<u64>,
}

/// Basis of a percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// FinishedStep steps relative to planned ones.
    Measured,
    /// Elapsed time relative to the usual duration.
    Estimated,
}

/// Progress of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// 0 to 100; never decreases within a revision. 100 only for a task that succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// Number of finished steps.
    pub completed_steps: u32,
    /// Number of steps of the plan, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u32>,
    /// Current phase, such as a step's name.
    pub phase: String,
    /// Basis of `percent`.
    pub basis: Basis,
    /// Time of the last change.
    pub updated_at: Millis,
}

/// Estimated duration, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Median run time.
    pub p50_seconds: u64,
    /// Run time that nine of ten runs do not exceed.
    pub p90_seconds: u64,
    /// Number of runs of the agent on which the estimate is based.
    pub samples: u64,
    /// Expected wait in the queue.
    pub queue_seconds: u64,
}

/// Input, approval or operation that a task waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    /// `input`, `approval` or `operator`.
    pub reason: String,
    /// Description of it, for people.
    pub detail: String,
}

/// Why a task failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskError {
    /// Stable code, such as `AGENT_EXECUTION_ERROR`, `CRASH_LOOP`, `QUEUE_TIMEOUT`, `AGENT_PARAMS_MISSING`.
    pub error_code: String,
    /// Cause and correction, for people.
    pub detail: String,
}

/// Usage of a task so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens.
    pub prompt: u64,
    /// Completion tokens.
    pub completion: u64,
    /// Billionths of a US dollar.
    pub cost_nanos: u64,
}

impl Usage {
    /// Adds another usage.
    pub fn add(&mut self, other: Self) {
        self.prompt = self.prompt.saturating_add(other.prompt);
        self.completion = self.completion.saturating_add(other.completion);
        self.cost_nanos = self.cost_nanos.saturating_add(other.cost_nanos);
    }
}

/// An accepted control and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlRecord {
    /// Identifier of the request.
    pub request_id: String,
    /// The operation.
    pub verb: Verb,
    /// Principal that requested it.
    pub by: String,
    /// Time at which it was accepted.
    pub at: Millis,
    /// `None` while it is pending.
    pub outcome: Option<Outcome>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// `task_…`
    pub id: String,
    /// Identifier of the agent that currently executes it.
    pub agent: String,
    /// Current status.
    pub status: Status,
    /// The instruction.
    pub task: String,
    /// Params, completed with the defaults of the agent.
    pub params: Value,
    /// Priority in the queue.
    pub priority: Priority,
    /// Maximum run time, 1 to 86,400.
    pub timeout_seconds: u32,
    /// Owner of the task.
    pub owner: Owner,
    /// Incremented by each redirect.
    pub revision: u32,
    /// Attempt of the current step, from 1.
    pub attempt: u32,
    /// Incremented by each durable change.
    pub seq: u64,
    /// Time at which it was accepted.
    pub created_at: Millis,
    /// Time at which it was first queued, on which its queue age is based.
    pub queued_at: Option<Millis>,
    /// Time at which it first ran.
    pub started_at: Option<Millis>,
    /// Time at which it ended.
    pub finished_at: Option<Millis>,
    /// Time at which its run time limit is reached, while it runs.
    pub deadline_at: Option<Millis>,
    /// Run time before the current period, in milliseconds, excluding time paused, queued or waiting.
    pub ran_ms: u64,
    /// Total time paused, in milliseconds.
    pub paused_ms: u64,
    /// Progress.
    pub progress: Progress,
    /// Estimated duration, determined when it was accepted.
    pub estimate: Estimate,
    /// Input, approval or operation that it waits for, if it waits.
    pub waiting: Option<Waiting>,
    /// Redirect instructions, applied or pending, oldest first.
    pub instructions: Vec<super::Instruction>,
    /// Controls of the last 24 h.
    pub controls: Vec<ControlRecord>,
    /// Steps so far, in order.
    pub steps: Vec<StepRecord>,
    /// Result, if it succeeded.
    pub result: Option<Value>,
    /// Partial output of an aborted step.
    pub partial: Option<String>,
    /// Error, if it ended with one.
    pub error: Option<TaskError>,
    /// Whether it was interrupted by a crash.
    pub recovered: bool,
    /// Usage of all attempts so far.
    pub usage: Usage,
}

impl TaskRecord {
    /// Returns the beginning of the latest instruction: of the last redirect, or else of the task.
    pub(in crate::task) fn latest_instruction(&self) -> String {
        let text = self.instructions.last().map_or(&self.task, |instruction| &instruction.text);
        text.chars().take(SHOWN_INSTRUCTION).collect()
    }
}

/// An entry of a task's journal: `GET /api/v1/tasks/{id}/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The task's `seq` after the change.
    pub seq: u64,
    /// Time of the change.
    pub at: Millis,
    /// Name of the feed event, such as `task.state`, `task.step`, `control.applied`.
    pub event: String,
    /// Data of the event.
    pub data: Value,
}
