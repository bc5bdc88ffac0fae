//! The actor that keeps the keys which sign tokens: it turns them over, and publishes what requests verify with.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseFuture, WrapFuture};
use muster_auth::{KeyRing, KeySet, RotationPolicy, SigningKeyChange};
use muster_store::{Op, StoreHandle};
use serde_json::json;
use tokio::sync::{oneshot, watch};

use super::By;
use muster_core::audit::AuditEntry;
use muster_core::journal::{Committed, Journal, Journalled};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Kind};

/// From one look at the keys' age to the next.
const TICK: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(super) struct SigningOptions {
    pub folder: PathBuf,
    pub policy: RotationPolicy,
    pub store: StoreHandle,
    pub clock: Clock,
    pub publish: watch::Sender<Option<Arc<KeySet>>>,
}

type Rotated = Result<Vec<SigningKeyChange>, Error>;

/// Owns the signing keys.
pub(super) struct Signing {
    options: SigningOptions,
    journal: Journal<Option<Noted>>,
    /// `None` while its files are being written.
    ring: Option<KeyRing>,
    /// Turns that wait for the files of the one before.
    waiting: VecDeque<Turn>,
}

/// What the keys are turned over for: their age, or somebody who asked.
struct Turn {
    by: By,
    reply: Option<oneshot::Sender<Rotated>>,
}

/// Changes that somebody asked for, whose entries in the audit log are not durable yet.
pub(super) struct Noted {
    changes: Vec<SigningKeyChange>,
    reply: oneshot::Sender<Rotated>,
}

/// Makes the next key, which signs once every verifier had time to learn of it.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<SigningKeyChange>, Error>")]
pub(super) struct Rotate {
    pub by: By,
}

pub(super) async fn load(options: SigningOptions) -> Result<Signing, BuildError> {
    let (folder, policy, now) = (options.folder.clone(), options.policy, options.clock.now().seconds());
    let ring = tokio::task::spawn_blocking(move || KeyRing::open(folder, policy, now)).await??;
    options.publish.send_replace(Some(ring.set()));
    Ok(Signing { options, journal: Journal::default(), ring: Some(ring), waiting: VecDeque::new() })
}

impl Actor for Signing {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(TICK, |signing, context| {
            signing.turn_over(Turn { by: By::System, reply: None }, context);
        });
    }
}

impl Journalled for Signing {
    type Effects = Option<Noted>;

    fn journal(&mut self) -> &mut Journal<Option<Noted>> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<Option<Noted>>, _: &mut Context<Self>) {
        for Noted { changes, reply } in committed.effects.into_iter().flatten() {
            // Whoever asked may wait no more.
            let _ = reply.send(Ok(changes));
        }
    }

    fn on_failed(&mut self, effects: Vec<Option<Noted>>, error: &Error) {
        for Noted { reply, .. } in effects.into_iter().flatten() {
            let _ = reply.send(Err(error.clone()));
        }
    }
}

impl Signing {
    /// Writes the keys' files beside the actor, one turn after the other.
    fn turn_over(&mut self, turn: Turn, context: &mut Context<Self>) {
        let Some(mut ring) = self.ring.take() else {
            if turn.reply.is_some() {
                self.waiting.push_back(turn);
            }
            return;
        };
        let (now, asked) = (self.options.clock.now().seconds(), turn.reply.is_some());
        let written = tokio::task::spawn_blocking(move || {
            let changes = if asked { ring.rotate(now) } else { ring.tick(now) };
            (ring, changes)
        });
        context.spawn(written.into_actor(self).map(move |written, signing, context: &mut Context<Self>| {
            let Ok((ring, changes)) = written else {
                // Started again, it reads the files as they are.
                return context.stop();
            };
            signing.options.publish.send_replace(Some(ring.set()));
            signing.ring = Some(ring);
            match (changes.map_err(|error| Error::new(Kind::Internal, error.to_string())), turn.reply) {
                (Ok(changes), reply) => signing.note(changes, &turn.by, reply, context),
                (Err(error), Some(reply)) => drop(reply.send(Err(error))),
                (Err(error), None) => tracing::error!(%error, "the signing keys could not be turned over"),
            }
            if let Some(next) = signing.waiting.pop_front() {
                signing.turn_over(next, context);
            }
        }));
    }

    /// Writes changes to the audit log; they are answered once they are there. Keys that grow old are turned over even
    /// where the store is read-only.
    fn note(
        &mut self,
        changes: Vec<SigningKeyChange>,
        by: &By,
        reply: Option<oneshot::Sender<Rotated>>,
        context: &mut Context<Self>,
    ) {
        let entries = changes.iter().map(|change| self.entry(change, by)).collect::<Result<Vec<_>, _>>();
        match (self.admit().and(entries), reply) {
            (Ok(ops), None) if ops.is_empty() => {}
            (Ok(ops), reply) => {
                self.journal.push(ops, reply.map(|reply| Noted { changes, reply }));
                self.flush(context);
            }
            (Err(error), Some(reply)) => drop(reply.send(Err(error))),
            (Err(error), None) => tracing::warn!(%error, "the change of signing keys is not in the audit log"),
        }
    }

    fn entry(&self, change: &SigningKeyChange, by: &By) -> Result<Op, Error> {
        let (action, kid) = match change {
            SigningKeyChange::Published { kid, .. } => ("signing_key_published", kid),
            SigningKeyChange::Promoted { kid, .. } => ("signing_key_promoted", kid),
            SigningKeyChange::Dropped { kid } => ("signing_key_dropped", kid),
            SigningKeyChange::Revoked { kid } => ("signing_key_revoked", kid),
        };
        tracing::info!(action, %kid, "signing keys changed");
        Ok(AuditEntry::new(self.options.clock.now(), by.id(), action, kid, json!(null)).op()?)
    }
}

impl Handler<Rotate> for Signing {
    type Result = ResponseFuture<Rotated>;

    fn handle(&mut self, Rotate { by }: Rotate, context: &mut Context<Self>) -> Self::Result {
        if let Err(refused) = self.admit() {
            return Box::pin(std::future::ready(Err(refused)));
        }
        let (reply, rotated) = oneshot::channel();
        self.turn_over(Turn { by, reply: Some(reply) }, context);
        let lost = || Error::new(Kind::Unavailable, "the signing keys are restarting: try again");
        Box::pin(async move { rotated.await.unwrap_or_else(|_| Err(lost().retry_in(Duration::from_secs(1)))) })
    }
}
