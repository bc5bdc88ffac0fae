//! The interface through which engines are run.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_engines::context::ProblemKind;
use muster_engines::{Context, Engine, Failure};
use serde_json::Value;

use muster_core::{Error, FieldError, Kind};
use muster_identity::By;

/// A call of an engine.
#[derive(Debug, Clone)]
pub struct EngineCall {
    pub engine: &'static Engine,
    pub input: Value,
    /// Principal and task on whose behalf the call is made, for audit entries.
    pub behalf: Behalf,
}

/// The principal and task on whose behalf something is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behalf {
    /// `usr_…`, `key_…` or `system`.
    pub actor: String,
    /// The task, if there is one.
    pub task: Option<String>,
}

impl Behalf {
    pub fn of(by: &By) -> Self {
        Self { actor: by.id().to_owned(), task: None }
    }
}

/// Result of an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineAnswer {
    pub output: Value,
    pub warnings: Vec<String>,
    /// Duration of the engine itself, without waiting.
    pub took: Duration,
}

/// Runs engines. Dropping the future stops the call.
pub trait EngineRunner: Send + Sync + std::fmt::Debug {
    /// Runs a call.
    ///
    /// # Errors
    ///
    /// `Invalid` with paths inside the input, `Forbidden` for a path outside of the workspace, `NotFound`, `TimedOut`
    /// and `TooLarge` beyond its bounds, `Unavailable` if the queue is full.
    fn run(&self, call: EngineCall) -> BoxFuture<'static, Result<EngineAnswer, Error>>;
}

/// Runs engines in the calling process without bounds, for tests.
#[derive(Debug, Clone, Default)]
pub struct InProcess {
    pub workspace: Option<PathBuf>,
}

impl EngineRunner for InProcess {
    fn run(&self, call: EngineCall) -> BoxFuture<'static, Result<EngineAnswer, Error>> {
        let context = self.workspace.clone().map_or_else(Context::default, Context::with_workspace);
        async move {
            let begun = Instant::now();
            let output = call.engine.run(call.input, &context).map_err(refusal)?;
            Ok(EngineAnswer { output, warnings: context.into_warnings(), took: begun.elapsed() })
        }
        .boxed()
    }
}

/// Converts an engine's failure into an error.
pub fn refusal(failure: Failure) -> Error {
    let said = failure.to_string();
    match failure {
        Failure::Invalid { problems } => {
            let message = problems.first().map_or(said, |first| format!("{}: {}", first.loc.join("."), first.message));
            let fields = problems.into_iter().map(|problem| FieldError {
                kind: match problem.kind {
                    ProblemKind::Missing => "missing",
                    ProblemKind::TypeError => "type_error",
                    ProblemKind::ValueError => "value_error",
                },
                loc: std::iter::once("body".to_owned()).chain(problem.loc).collect(),
                msg: problem.message,
                input: problem.input,
            });
            Error { fields: fields.collect(), ..Error::new(Kind::Invalid, message) }
        }
        Failure::Outside { .. } => Error::new(Kind::Forbidden, said).coded("path_outside_workspace"),
        Failure::NotFound { .. } => Error::new(Kind::NotFound, said),
        Failure::NoWorkspace => Error::new(Kind::Forbidden, said).coded("no_workspace"),
        Failure::TooLarge { .. } => Error::new(Kind::TooLarge, said),
        Failure::Internal { .. } => Error::new(Kind::Internal, said),
    }
}
