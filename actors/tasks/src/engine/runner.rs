//! The interface through which engines are run.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use muster_engines::{Engine, Explained, Failure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use muster_core::{Error, FieldError, Kind};
use muster_gateway::Spend;
use muster_identity::By;

use crate::task::Usage;

/// A call of an engine.
#[derive(Debug, Clone)]
pub struct EngineCall {
    /// Engine to run.
    pub engine: &'static Engine,
    /// Input, validated by the engine.
    pub input: Value,
    /// Principal and task on whose behalf the call is made: the queue is fair by principal, and audit entries name both.
    pub caller: EngineCaller,
    /// Whether steps and assumptions are returned with the output.
    pub explain: bool,
    /// Receives the latest progress of a long call.
    pub progress: Option<Arc<watch::Sender<EngineProgress>>>,
}

impl EngineCall {
    /// Creates a call without explanation and progress.
    pub fn new(engine: &'static Engine, input: Value, caller: EngineCaller) -> Self {
        Self { engine, input, caller, explain: false, progress: None }
    }
}

/// How far a long call has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineProgress {
    /// Units of work that are done.
    pub done: u64,
    /// Units of work of this phase; 0 if unknown.
    pub total: u64,
    /// Name of the phase.
    pub phase: String,
}

/// The principal and task on whose behalf something is done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EngineCaller {
    /// `usr_…`, `key_…` or `system`.
    pub actor: String,
    /// The task, if there is one.
    pub task: Option<String>,
    /// Who pays for calls of models that an engine needs; `None` for a caller that may make none.
    pub payer: Option<Box<Spend>>,
    /// As whom it sees tasks; `None` for a caller that may see none.
    pub watcher: Option<By>,
    /// As whom it reads memory; `None` for a caller that may read none.
    pub reader: Option<By>,
}

impl EngineCaller {
    /// Creates the caller for a principal, without a task, that may use no models, tasks and memory.
    pub fn of(by: &By) -> Self {
        Self { actor: by.id().to_owned(), ..Self::default() }
    }
}

/// Result of an engine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EngineAnswer {
    /// Output of the engine.
    pub output: Value,
    /// Warnings of the engine, for people.
    pub warnings: Vec<String>,
    /// Duration of the engine itself, without waiting.
    pub took: Duration,
    /// Steps and assumptions, if they were requested.
    pub explained: Option<Explained>,
    /// What models used for the needs of the call.
    pub usage: Usage,
}

/// Runs engines. Dropping the future stops the call.
pub trait EngineRunner: Send + Sync + std::fmt::Debug {
    /// Runs a call.
    ///
    /// # Errors
    ///
    /// `Invalid` with paths inside the input, `NoAnswer` with the reason, `Forbidden` for a path outside of the workspace, `NotFound`, `TimedOut`
    /// and `TooLarge` beyond its bounds, `RateLimited` if too many calls of the caller wait, `Unavailable` if the queue
    /// is full.
    fn run(&self, call: EngineCall) -> BoxFuture<'static, Result<EngineAnswer, Error>>;

    /// Reads a file of the workspace folder.
    ///
    /// # Errors
    ///
    /// `Forbidden` without a folder and for a path outside of it, `NotFound`, `TooLarge`.
    fn workspace_file(&self, path: String, caller: EngineCaller) -> BoxFuture<'static, Result<Vec<u8>, Error>> {
        let _ = (path, caller);
        let none = Error::new(Kind::Forbidden, "this server has no workspace folder").coded("no_workspace");
        Box::pin(std::future::ready(Err(none)))
    }
}

/// Converts an engine's failure into an error.
pub(crate) fn refusal(failure: Failure) -> Error {
    let message = failure.to_string();
    match failure {
        Failure::Invalid { problems } => {
            let message =
                problems.first().map_or(message, |first| format!("{}: {}", first.loc.join("."), first.message));
            let fields = problems.into_iter().map(|problem| FieldError {
                kind: problem.kind.name(),
                loc: std::iter::once("body".to_owned()).chain(problem.loc).collect(),
                msg: problem.message,
                input: problem.input,
            });
            Error { fields: fields.collect(), ..Error::new(Kind::Invalid, message) }
        }
        Failure::Outside { .. } => Error::new(Kind::Forbidden, message).coded("path_outside_workspace"),
        Failure::NotFound { .. } => Error::new(Kind::NotFound, message),
        Failure::NoWorkspace => Error::new(Kind::Forbidden, message).coded("no_workspace"),
        Failure::NoModel { .. } => Error::new(Kind::Unavailable, message).coded("model_absent"),
        Failure::TooLarge { .. } => Error::new(Kind::TooLarge, message),
        Failure::NoAnswer { reason, .. } => {
            Error::new(Kind::NoAnswer, message).detailing(json!({ "reason": reason.code() }))
        }
        Failure::Refused { .. } => Error::new(Kind::Unavailable, message),
        Failure::Internal { .. } | Failure::Needs { .. } => Error::new(Kind::Internal, message),
    }
}
