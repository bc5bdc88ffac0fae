//! Interface between tasks and agents.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::record::{Owner, StepKind, Usage, Waiting};
use crate::engine::EngineProgress;
use muster_core::{Error, Millis};

/// Plans and executes the steps of tasks. An implementation keeps no state about tasks: it is passed everything it
/// needs, so that a task can continue wherever and whenever its runner starts again.
pub trait TaskExecutor: Send + Sync + std::fmt::Debug {
    /// Validates a run request for its agent, and completes its params.
    ///
    /// # Errors
    ///
    /// `NotFound` for an unknown agent, `Invalid` with paths from `body` for its params.
    fn admit(&self, agent: &str, task: &str, params: Value) -> Result<Admission, Error>;

    /// Validates that another agent takes over a task with this instruction, and completes its params. The params of the
    /// previous agent that the new one does not have are dropped.
    ///
    /// # Errors
    ///
    /// As for [`Self::admit`].
    fn readmit(&self, agent: &str, instruction: &str, task: &str, params: Value) -> Result<Admission, Error> {
        let _ = task;
        self.admit(agent, instruction, params)
    }

    /// Determines the next action from the finished steps. Must be fast and deterministic.
    ///
    /// # Errors
    ///
    /// The task fails with the error.
    fn next(&self, view: &TaskView) -> Result<NextAction, StepError>;

    /// Runs a step. Dropping the future ends it: a provider's connection is closed, an engine's process is stopped.
    fn run(&self, request: StepRequest, sink: StepSink) -> BoxFuture<'static, Result<StepOutput, StepError>>;
}

/// An admitted request.
#[derive(Debug, Clone, PartialEq)]
pub struct Admission {
    /// Params completed with the agent's defaults.
    pub params: Value,
    /// Default duration according to the agent's definition, until there is a history.
    pub default_seconds: u32,
    /// Number of steps of the plan, if known.
    pub total_steps: Option<u32>,
}

/// A task as seen by [`TaskExecutor`].
#[derive(Debug, Clone, PartialEq)]
pub struct TaskView {
    /// Identifier of the task.
    pub task_id: String,
    /// Identifier of the agent that currently executes it.
    pub agent: String,
    /// Instruction of the run request.
    pub task: String,
    /// Completed params.
    pub params: Value,
    /// Owner, whose budget the steps use.
    pub owner: Owner,
    /// Time at which the task was accepted.
    pub created_at: Millis,
    /// Number of redirects so far.
    pub revision: u32,
    /// Redirect instructions applied so far, in order.
    pub instructions: Vec<Instruction>,
    /// FinishedStep steps in order.
    pub done: Vec<FinishedStep>,
}

/// An instruction by which an operator redirected a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instruction {
    /// The control that contained it.
    pub request_id: String,
    /// The instruction.
    pub text: String,
    /// Time at which it was accepted.
    pub at: Millis,
    /// The revision that it created.
    pub revision: u32,
    /// Number of finished steps when it was applied; `None` while it is pending.
    pub joined_after: Option<u32>,
}

/// A finished step.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedStep {
    /// Counts from 0 within the task.
    pub index: u32,
    /// Name of the step.
    pub name: String,
    /// Kind of the step.
    pub kind: StepKind,
    /// The revision in which it ran.
    pub revision: u32,
    /// Output, as returned by [`TaskExecutor::run`].
    pub output: Arc<Value>,
}

/// Next action of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum NextAction {
    /// A step is run.
    Step(StepSpec),
    /// The task succeeds with this result.
    Done(Value),
    /// The task waits for input, an approval or an operator.
    Wait(Waiting),
}

/// A step to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSpec {
    /// Name of the step, such as a plan step's `as`.
    pub name: String,
    /// Kind of the step.
    pub kind: StepKind,
    /// Input for [`TaskExecutor::run`].
    pub input: Value,
    /// Whether the step may run twice. One that may not waits for an operator if a crash interrupted it.
    pub repeatable: bool,
    /// Number of steps of the whole plan, if known.
    pub total_steps: Option<u32>,
}

/// Identifies a step across crashes; passed to providers and stores as an idempotency key, as `task/revision/index`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StepKey {
    /// Identifier of the task.
    pub task_id: String,
    /// Revision in which the step was first started.
    pub revision: u32,
    /// Index of the step within the task.
    pub index: u32,
}

impl std::fmt::Display for StepKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.task_id, self.revision, self.index)
    }
}

/// A request to run a step.
#[derive(Debug, Clone)]
pub struct StepRequest {
    /// Identifies the step across attempts.
    pub key: StepKey,
    /// Counts from 1.
    pub attempt: u32,
    /// The step.
    pub spec: StepSpec,
    /// The task, including the outputs of its finished steps.
    pub view: Arc<TaskView>,
}

/// Level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Details for developers.
    Debug,
    /// Normal progress.
    Info,
    /// Unexpected, but the step continues.
    Warn,
    /// The step or a part of it failed.
    Error,
}

/// Receiver of a step's output while it runs. Never waits; output after the step's end is ignored.
#[derive(Clone)]
pub struct StepSink {
    /// Cancelled with the step.
    pub cancel: CancellationToken,
    emit: Arc<dyn Fn(StepEvent<'_>) + Send + Sync>,
}

/// Output of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StepEvent<'a> {
    /// A line of the task's log.
    Log(Level, &'a str),
    /// Streamed model output: kept as `partial` if the step is aborted.
    Delta(&'a str),
    /// How far the step's engine has come; the latest replaces those before it.
    Progress(&'a EngineProgress),
}

impl StepSink {
    /// Creates a sink that passes output to `emit`, which must not block.
    pub fn new(cancel: CancellationToken, emit: impl Fn(StepEvent<'_>) + Send + Sync + 'static) -> Self {
        Self { cancel, emit: Arc::new(emit) }
    }

    /// Adds a line to the log of the task.
    pub fn log(&self, level: Level, text: &str) {
        (self.emit)(StepEvent::Log(level, text));
    }

    /// Adds text of a model to the streamed output.
    pub fn delta(&self, text: &str) {
        (self.emit)(StepEvent::Delta(text));
    }

    /// Says how far the step's engine has come.
    pub fn progress(&self, progress: &EngineProgress) {
        (self.emit)(StepEvent::Progress(progress));
    }
}

impl std::fmt::Debug for StepSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepSink").field("cancelled", &self.cancel.is_cancelled()).finish_non_exhaustive()
    }
}

/// Result of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepOutput {
    /// Output of the step, at most 2 MiB as JSON.
    pub value: Value,
    /// Usage of the attempt.
    pub usage: Usage,
}

/// Whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// No: the step fails.
    Never,
    /// After the task's own back-off.
    Soon,
    /// Not before this time, as requested by a provider.
    After(Duration),
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error_code}: {detail}")]
pub struct StepError {
    /// Stable code, such as `AGENT_EXECUTION_ERROR`.
    pub error_code: &'static str,
    /// Cause and correction, for people.
    pub detail: String,
    /// Whether and when the step is retried.
    pub retry: Retry,
    /// Usage of the failed attempt.
    pub usage: Usage,
}

impl StepError {
    /// Creates an error without usage.
    pub fn new(error_code: &'static str, detail: impl Into<String>, retry: Retry) -> Self {
        Self { error_code, detail: detail.into(), retry, usage: Usage::default() }
    }
}
