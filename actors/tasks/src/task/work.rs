//! Who does the work: what the tasks know of agents.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::record::{Owner, StepKind, Usage, Waiting};
use muster_core::{Error, Millis};

/// Knows what agents do. It keeps nothing of a task: what it needs it is given, so that a task goes on wherever and
/// whenever its runner begins anew.
pub trait Work: Send + Sync + std::fmt::Debug {
    /// Checks a run request against its agent, and completes its params.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `Invalid` with places from `body` for its params.
    fn admit(&self, agent: &str, task: &str, params: Value) -> Result<Admission, Error>;

    /// What comes next, from what is finished. Quick, and the same for the same view.
    ///
    /// # Errors
    /// The task fails with it.
    fn next(&self, view: &View) -> Result<Next, StepError>;

    /// Does a step. Dropping the future ends it: a provider's connection is closed, an engine's process is stopped.
    fn run(&self, ask: StepAsk, desk: Desk) -> BoxFuture<'static, Result<StepOutput, StepError>>;
}

/// A request that may run.
#[derive(Debug, Clone, PartialEq)]
pub struct Admission {
    /// With the agent's defaults.
    pub params: Value,
    /// What the agent's data say it takes, until there is a history.
    pub default_seconds: u32,
    /// Of the plan, where it is known.
    pub total_steps: Option<u32>,
}

/// A task as [`Work`] sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub task_id: String,
    pub agent: String,
    /// The instruction of the run request.
    pub task: String,
    pub params: Value,
    pub owner: Owner,
    pub created_at: Millis,
    pub revision: u32,
    /// Redirections in their order, those that joined by now.
    pub instructions: Vec<Instruction>,
    /// Finished steps in their order.
    pub done: Vec<Finished>,
}

/// What an operator redirected a task by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instruction {
    /// The control that brought it.
    pub request_id: String,
    pub text: String,
    pub at: Millis,
    /// The revision that it made.
    pub revision: u32,
    /// Steps that were finished when it joined; `None` while it waits for a boundary.
    pub joined_after: Option<u32>,
}

/// A finished step.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    pub index: u32,
    pub name: String,
    pub kind: StepKind,
    /// The revision that it was done in.
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

/// A step to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSpec {
    /// Such as a plan step's `as`.
    pub name: String,
    pub kind: StepKind,
    /// What [`Work::run`] needs to do it.
    pub input: Value,
    /// Whether it may be done twice. One that may not, and that a crash interrupted, waits for an operator.
    pub repeatable: bool,
    /// Steps of the whole plan, where it is known.
    pub total_steps: Option<u32>,
}

/// Names a step over crashes: what providers and stores get as an idempotency key, as `task/revision/index`.
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

/// A step that is to be done now.
#[derive(Debug, Clone)]
pub struct StepAsk {
    pub key: StepKey,
    /// From 1.
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

/// Where a step tells what it does while it does it. Never waits; what is told after the step's end is not heard.
#[derive(Clone)]
pub struct Desk {
    /// Cancelled with the step.
    pub cancel: CancellationToken,
    tell: Arc<dyn Fn(Told<'_>) + Send + Sync>,
}

/// What a step tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Told<'a> {
    /// A line of the task's log.
    Log(Level, &'a str),
    /// A model's output as it comes: kept as `partial` where the step is aborted.
    Delta(&'a str),
}

impl Desk {
    pub fn new(cancel: CancellationToken, tell: impl Fn(Told<'_>) + Send + Sync + 'static) -> Self {
        Self { cancel, tell: Arc::new(tell) }
    }

    pub fn log(&self, level: Level, text: &str) {
        (self.tell)(Told::Log(level, text));
    }

    pub fn delta(&self, text: &str) {
        (self.tell)(Told::Delta(text));
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("cancelled", &self.cancel.is_cancelled()).finish_non_exhaustive()
    }
}

/// A step's outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct StepOutput {
    pub value: Value,
    pub usage: Usage,
}

/// Whether trying again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Never,
    /// After the task's own back-off.
    Soon,
    /// Not before this, as a provider said.
    After(Duration),
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error_code}: {detail}")]
pub struct StepError {
    /// Such as `AGENT_EXECUTION_ERROR`.
    pub error_code: &'static str,
    pub detail: String,
    pub retry: Retry,
    /// What the failed attempt used all the same.
    pub usage: Usage,
}

impl StepError {
    pub fn new(error_code: &'static str, detail: impl Into<String>, retry: Retry) -> Self {
        Self { error_code, detail: detail.into(), retry, usage: Usage::default() }
    }
}
