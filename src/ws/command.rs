//! Commands over sockets: each is done once, however often and from wherever it is sent under one `idem`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use muster_core::{Error, Kind, Millis};
use muster_identity::By;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::protocol::{CommandAsk, Fault, FaultKind};

/// How long an `idem` is remembered.
const REMEMBERED: Duration = Duration::from_secs(600);
/// Commands remembered at a time; more are refused until the oldest are forgotten.
const MOST: usize = 65_536;

/// A command with who gives it.
#[derive(Debug, Clone)]
pub struct Command {
    pub by: By,
    pub ask: CommandAsk,
}

/// What a command came to: JSON, or a refusal.
pub type Done = Result<Box<RawValue>, Error>;

/// Whoever carries commands out. It checks for each whether whoever gives it may.
pub trait CommandSink: Send + Sync + std::fmt::Debug {
    /// `None` where no command is named so.
    fn run(&self, command: Command) -> Option<BoxFuture<'static, Done>>;
}

/// What was made of a command, for everybody who sent it.
type Outcome = Shared<BoxFuture<'static, Result<Box<RawValue>, Fault>>>;

#[derive(Debug)]
struct Remembered {
    digest: [u8; 32],
    until: Millis,
    outcome: Outcome,
}

/// The commands of a server, over all threads.
#[derive(Debug, Default)]
pub struct Commands {
    sinks: Mutex<Vec<Arc<dyn CommandSink>>>,
    remembered: Mutex<HashMap<(Arc<str>, String), Remembered>>,
}

impl Commands {
    /// Says who carries commands out. The first of them that knows a name does.
    pub fn register(&self, sink: Arc<dyn CommandSink>) {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).insert(0, sink);
    }

    /// What comes of a command. It is carried out even if nobody waits for it any more.
    pub fn run(&self, command: Command, now: Millis) -> Outcome {
        let Some(idem) = command.ask.idem.clone() else { return self.begin(command) };
        let digest = digest(&command.ask);
        let key = (Arc::from(command.by.id()), idem);
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= MOST {
            remembered.retain(|_, kept| kept.until > now);
        }
        let full = remembered.len() >= MOST;
        match remembered.entry(key) {
            Entry::Occupied(mut known) if known.get().until <= now || failed(&known.get().outcome) => {
                let outcome = self.begin(command);
                known.insert(Remembered { digest, until: now.plus(REMEMBERED), outcome: outcome.clone() });
                outcome
            }
            Entry::Occupied(known) if known.get().digest == digest => known.get().outcome.clone(),
            Entry::Occupied(_) => {
                said(FaultKind::IdempotencyConflict, "this idem was another command's: send a new one")
            }
            Entry::Vacant(_) if full => {
                said(FaultKind::Unavailable, "too many commands are remembered: try again later")
            }
            Entry::Vacant(free) => {
                let outcome = self.begin(command);
                free.insert(Remembered { digest, until: now.plus(REMEMBERED), outcome: outcome.clone() });
                outcome
            }
        }
    }

    fn begin(&self, command: Command) -> Outcome {
        let name = command.ask.name.clone();
        let sinks = self.sinks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(running) = sinks.iter().find_map(|sink| sink.run(command.clone())) else {
            return said(FaultKind::UnknownCommand, format!("there is no command `{name}`"));
        };
        let outcome = running.map(|done| done.map_err(|error| fault_of(&error))).boxed().shared();
        // It goes on where its connection ends.
        drop(actix_rt::spawn(outcome.clone()));
        outcome
    }
}

/// Whether trying again may help: such an outcome is not kept.
fn failed(outcome: &Outcome) -> bool {
    matches!(outcome.peek(), Some(Err(fault)) if fault.kind.retryable())
}

fn said(kind: FaultKind, message: impl Into<String>) -> Outcome {
    futures::future::ready(Err(Fault::new(kind, message))).boxed().shared()
}

fn digest(ask: &CommandAsk) -> [u8; 32] {
    let args = ask.args.as_ref().map_or("null", |args| args.get());
    let parts = [&ask.name, ask.target.as_deref().unwrap_or_default(), args];
    parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part).chain_update([0])).finalize().into()
}

/// A refusal of an actor, as the feed says it.
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
