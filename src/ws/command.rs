//! Commands over the feed. A command is executed once per `idem`, however often and over whichever connection it is
//! sent.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use muster_core::{Error, Kind, Millis};
use muster_identity::By;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::protocol::{CommandRequest, Fault, FaultKind};
use super::remembered::{Full, Remembered};

/// A command with its caller.
#[derive(Debug, Clone)]
pub struct Command {
    pub by: By,
    pub request: CommandRequest,
}

/// The result of a command: JSON, or an error.
pub type Done = Result<Box<RawValue>, Error>;

/// Executes commands, after checking whether the caller is permitted to.
pub trait CommandSink: Send + Sync + std::fmt::Debug {
    /// Executes a command, or returns `None` for an unknown name.
    fn run(&self, command: Command) -> Option<BoxFuture<'static, Done>>;
}

/// The result of a command, shared by all connections that sent it.
type Outcome = Shared<BoxFuture<'static, Result<Box<RawValue>, Fault>>>;

/// A command that was executed or is being executed.
#[derive(Debug)]
struct Executed {
    digest: [u8; 32],
    outcome: Outcome,
}

/// The commands of a server, shared by all threads.
#[derive(Debug, Default)]
pub struct Commands {
    sinks: Mutex<Vec<Arc<dyn CommandSink>>>,
    remembered: Mutex<Remembered<Executed>>,
}

impl Commands {
    /// Adds an executor of commands. The first one that accepts a name executes it.
    pub fn register(&self, sink: Arc<dyn CommandSink>) {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).insert(0, sink);
    }

    /// Executes a command and returns its result. It completes even if its caller stops waiting.
    pub fn run(&self, command: Command, now: Millis) -> Outcome {
        let Some(idem) = command.request.idem.clone() else {
            return self.begin(&command).unwrap_or_else(|| unknown(&command));
        };
        let (digest, subject) = (digest(&command.request), command.by.id().to_owned());
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        match remembered.get(&subject, &idem, now) {
            Some(earlier) if failed(&earlier.outcome) => remembered.forget(&subject, &idem),
            Some(earlier) if earlier.digest == digest => return earlier.outcome.clone(),
            Some(_) => {
                let message = "this idem was used for another command: use a new one";
                return fault(FaultKind::IdempotencyConflict, message);
            }
            None => {}
        }
        match remembered.room(&subject, now) {
            Ok(()) => {}
            Err(Full::Own) => {
                let message = "too many of your commands of the last ten minutes are remembered by their idem: try \
                               again later, or send commands that may be repeated without one";
                return fault(FaultKind::Unavailable, message);
            }
            Err(Full::All) => {
                return fault(FaultKind::Unavailable, "too many commands are remembered: try again later");
            }
        }
        // What is not executed is not remembered.
        let Some(outcome) = self.begin(&command) else { return unknown(&command) };
        remembered.insert(&subject, &idem, Executed { digest, outcome: outcome.clone() }, now);
        outcome
    }

    /// Begins a command; `None` if nothing executes a command of this name.
    fn begin(&self, command: &Command) -> Option<Outcome> {
        let sinks = self.sinks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let running = sinks.iter().find_map(|sink| sink.run(command.clone()))?;
        let outcome = running.map(|done| done.map_err(|error| fault_of(&error))).boxed().shared();
        // The command continues if its connection ends.
        drop(actix_rt::spawn(outcome.clone()));
        Some(outcome)
    }
}

fn unknown(command: &Command) -> Outcome {
    fault(FaultKind::UnknownCommand, format!("there is no command `{}`", command.request.name))
}

/// Returns whether another attempt may succeed; such a result is not remembered.
fn failed(outcome: &Outcome) -> bool {
    matches!(outcome.peek(), Some(Err(fault)) if fault.kind.retryable())
}

fn fault(kind: FaultKind, message: impl Into<String>) -> Outcome {
    futures::future::ready(Err(Fault::new(kind, message))).boxed().shared()
}

fn digest(request: &CommandRequest) -> [u8; 32] {
    let args = request.args.as_ref().map_or("null", |args| args.get());
    let parts = [&request.name, request.target.as_deref().unwrap_or_default(), args];
    parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part).chain_update([0])).finalize().into()
}

/// Converts an error of an actor to one of the feed.
pub(crate) fn fault_of(error: &Error) -> Fault {
    let kind = match error.kind {
        Kind::Unauthenticated | Kind::Forbidden => FaultKind::PermissionDenied,
        Kind::NotFound => FaultKind::NotFound,
        Kind::Conflict | Kind::PreconditionFailed | Kind::PreconditionRequired => FaultKind::Conflict,
        Kind::IdempotencyConflict => FaultKind::IdempotencyConflict,
        Kind::Unavailable | Kind::RateLimited | Kind::ProviderFailed => FaultKind::Unavailable,
        Kind::Internal => FaultKind::Internal,
        _ => FaultKind::BadRequest,
    };
    Fault { details: error.details.as_deref().cloned(), ..Fault::new(kind, error.message.clone()) }
}
