//! A task in a response.

use muster_core::Millis;
use muster_tasks::task::{
    Basis, ControlRecord, Estimate, Priority, Progress, Status, StepKind, StepRecord, StepStatus, TaskError,
    TaskRecord, Verb, Waiting,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A task of an agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskBody {
    pub task_id: String,
    pub agent: String,
    /// Status. Live: `pending`, `queued`, `running`, `pausing`, `paused`, `waiting`, `retrying`. Ended: `succeeded`,
    /// `failed`, `timed_out`, `killed`, `rejected`.
    #[schema(value_type = String)]
    pub status: Status,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Millis,
    /// Run time plus time in the queue, as estimated when the task was accepted, in seconds.
    pub estimated_seconds: u64,
    /// Instruction of the task.
    pub task: String,
    #[schema(value_type = Object)]
    pub params: Value,
    /// Priority in the queue: `low`, `normal` or `high`.
    #[schema(value_type = String)]
    pub priority: Priority,
    pub timeout_seconds: u32,
    /// Identifier of the owner: `key_…` or `usr_…`.
    pub owner: String,
    /// Revision of the instructions, incremented by each redirect.
    pub revision: u32,
    /// Number of the attempt of the present step, from 1.
    pub attempt: u32,
    /// Sequence number of the task's journal, incremented by each durable change.
    pub seq: u64,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub queued_at: Option<Millis>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Millis>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Millis>,
    /// Time at which the run time ends, while the task runs.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deadline_at: Option<Millis>,
    pub paused_seconds: u64,
    pub progress: ProgressBody,
    pub estimate: EstimateBody,
    /// Reason for which the task waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingBody>,
    pub control: ControlsBody,
    pub steps: Vec<StepBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
    /// Output of an aborted step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureBody>,
    /// Whether the task was interrupted by a crash of the server and continued.
    pub recovered: bool,
    pub usage: UsageBody,
}

/// The progress of a task.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProgressBody {
    /// Progress in percent, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    pub completed_steps: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u32>,
    pub phase: String,
    /// Basis of the progress: `measured` (by steps) or `estimated` (by time).
    #[schema(value_type = String)]
    pub basis: Basis,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Millis,
}

/// The estimated duration of a task.
#[derive(Debug, Serialize, ToSchema)]
pub struct EstimateBody {
    pub p50_seconds: u64,
    pub p90_seconds: u64,
    /// Number of earlier runs of the agent on which the estimate is based.
    pub samples: u64,
    pub queue_seconds: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct WaitingBody {
    /// Reason: `input`, `approval` or `operator`.
    pub reason: String,
    pub detail: String,
}

/// The controls of a task that are not finished.
#[derive(Debug, Serialize, ToSchema)]
pub struct ControlsBody {
    pub pending: Vec<PendingBody>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct PendingBody {
    pub request_id: String,
    /// Verb: `pause`, `resume`, `kill` or `redirect`.
    pub verb: &'static str,
    /// Identifier of the caller: `key_…` or `usr_…`.
    pub by: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StepBody {
    /// Index within the task, from 0, over all revisions.
    pub index: u32,
    pub name: String,
    /// Kind: `engine`, `model` or `writeup`.
    #[schema(value_type = String)]
    pub kind: StepKind,
    /// Status: `running`, `succeeded`, `failed` or `aborted`.
    #[schema(value_type = String)]
    pub status: StepStatus,
    pub attempts: u32,
    pub ms: Option<u64>,
}

/// The reason for which a task failed.
#[derive(Debug, Serialize, ToSchema)]
pub struct FailureBody {
    /// Code, such as `AGENT_EXECUTION_ERROR`, `CRASH_LOOP`, `QUEUE_TIMEOUT`, `AGENT_PARAMS_MISSING`.
    pub error_code: String,
    pub detail: String,
}

/// The tokens and the cost of a task so far.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageBody {
    /// Number of prompt tokens.
    pub prompt: u64,
    /// Number of completion tokens.
    pub completion: u64,
    pub cost_usd: f64,
}

impl From<TaskRecord> for TaskBody {
    fn from(task: TaskRecord) -> Self {
        let Estimate { p50_seconds, p90_seconds, samples, queue_seconds } = task.estimate;
        Self {
            task_id: task.id,
            agent: task.agent,
            status: task.status,
            created_at: task.created_at,
            estimated_seconds: (p50_seconds + queue_seconds).max(1),
            task: task.task,
            params: task.params,
            priority: task.priority,
            timeout_seconds: task.timeout_seconds,
            owner: task.owner.id,
            revision: task.revision,
            attempt: task.attempt,
            seq: task.seq,
            queued_at: task.queued_at,
            started_at: task.started_at,
            finished_at: task.finished_at,
            deadline_at: task.deadline_at,
            paused_seconds: task.paused_ms / 1_000,
            progress: task.progress.into(),
            estimate: EstimateBody { p50_seconds, p90_seconds, samples, queue_seconds },
            waiting: task.waiting.map(|Waiting { reason, detail }| WaitingBody { reason, detail }),
            control: ControlsBody {
                pending: task.controls.into_iter().filter(|it| it.outcome.is_none()).map(PendingBody::from).collect(),
            },
            steps: task.steps.into_iter().map(StepBody::from).collect(),
            result: task.result,
            partial: task.partial,
            error: task.error.map(|TaskError { error_code, detail }| FailureBody { error_code, detail }),
            recovered: task.recovered,
            usage: UsageBody {
                prompt: task.usage.prompt,
                completion: task.usage.completion,
                cost_usd: task.usage.cost_nanos as f64 / 1e9,
            },
        }
    }
}

impl From<Progress> for ProgressBody {
    fn from(progress: Progress) -> Self {
        let Progress { percent, completed_steps, total_steps, phase, basis, updated_at } = progress;
        Self { percent, completed_steps, total_steps, phase, basis, updated_at }
    }
}

impl From<ControlRecord> for PendingBody {
    fn from(control: ControlRecord) -> Self {
        let verb = match control.verb {
            Verb::Pause { .. } => "pause",
            Verb::Resume => "resume",
            Verb::Kill => "kill",
            Verb::Redirect { .. } => "redirect",
        };
        Self { request_id: control.request_id, verb, by: control.by, at: control.at }
    }
}

impl From<StepRecord> for StepBody {
    fn from(step: StepRecord) -> Self {
        let StepRecord { index, name, kind, status, attempts, ms } = step;
        Self { index, name, kind, status, attempts, ms }
    }
}
