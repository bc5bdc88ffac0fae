//! Interface between tasks and agents.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::record::{Owner, StepKind, Usage, Waiting};
use muster_core::{Error, Millis};

/// Plans and executes the steps of tasks. An implementation keeps no state about tasks: it is passed everything it
/// needs, so that a task can continue wherever and whenever its runner starts again.
pub trait Work: Send + Sync + std::fmt::Debug {
    /// Validates a run request for its agent, and completes its params.
    ///
    /// # Errors
    ///
    /// `NotFound` for an unknown agent, `Invalid` with paths from `body` for its params.
    fn admit(&self, agent: &str, task: &str, params: Value) -> Result<Admission, Error>;

    /// Determines what comes next from the finished steps. Must be fast and deterministic.
    ///
    /// # Errors
    ///
    /// The task fails with the error.
    fn next(&self, view: &View) -> Result<Next, StepError>;

    /// Runs a step. Dropping the future ends it: a provider's connection is closed, an engine's process is stopped.
    fn run(&self, ask: StepAsk, desk: StepSink) -> BoxFuture<'static, Result<StepOutput, StepError>>;
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

/// A task as seen by [`Work`].
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub task_id: String,
    pub agent: String,
    /// Instruction of the run request.
    pub task: String,
    pub params: Value,
    pub owner: Owner,
    pub created_at: Millis,
    pub revision: u32,
    /// Redirect instructions applied so far, in order.
    pub instructions: Vec<Instruction>,
    /// Finished steps in order.
    pub done: Vec<Finished>,
}

/// An instruction by which an operator redirected a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instruction {
    /// The control that contained it.
    pub request_id: String,
    pub text: String,
    pub at: Millis,
    /// The revision that it created.
    pub revision: u32,
    /// Number of finished steps when it was applied; `None` while it is pending.
    pub joined_after: Option<u32>,
}

/// A finished step.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    pub index: u32,
    pub name: String,
    pub kind: StepKind,
    /// The revision in which it ran.
    pub revision: u32,
    pub output: Arc<Value>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    Step(StepSpec),
    /// The task succeeds with this result.
    Done(Value),
    Wait(Waiting),
}

/// A step to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSpec {
    /// Name of the step, such as a plan step's `as`.
    pub name: String,
    pub kind: StepKind,
    /// Input for [`Work::run`].
    pub input: Value,
    /// Whether the step may run twice. One that may not waits for an operator if a crash interrupted it.
    pub repeatable: bool,
    /// Number of steps of the whole plan, if known.
    pub total_steps: Option<u32>,
}

/// Identifies a step across crashes; passed to providers and stores as an idempotency key, as `task/revision/index`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StepKey {
    pub task_id: String,
    pub revision: u32,
    pub index: u32,
}

impl std::fmt::Display for StepKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.task_id, self.revision, self.index)
    }
}

/// A request to run a step.
#[derive(Debug, Clone)]
pub struct StepAsk {
    pub key: StepKey,
    /// Counts from 1.
    pub attempt: u32,
    pub spec: StepSpec,
    pub view: Arc<View>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Debug,
    Info,
    Warn,
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
}

impl StepSink {
    pub fn new(cancel: CancellationToken, emit: impl Fn(StepEvent<'_>) + Send + Sync + 'static) -> Self {
        Self { cancel, emit: Arc::new(emit) }
    }

    pub fn log(&self, level: Level, text: &str) {
        (self.emit)(StepEvent::Log(level, text));
    }

    pub fn delta(&self, text: &str) {
        (self.emit)(StepEvent::Delta(text));
    }
}

impl std::fmt::Debug for StepSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("cancelled", &self.cancel.is_cancelled()).finish_non_exhaustive()
    }
}

/// Result of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepOutput {
    pub value: Value,
    pub usage: Usage,
}

/// Whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
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
    pub detail: String,
    pub retry: Retry,
    /// Usage of the failed attempt.
    pub usage: Usage,
}

impl StepError {
    pub fn new(error_code: &'static str, detail: impl Into<String>, retry: Retry) -> Self {
        Self { error_code, detail: detail.into(), retry, usage: Usage::default() }
    }
}
