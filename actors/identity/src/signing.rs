//! The actor that owns the keys which sign tokens: it rotates them and publishes the set that requests verify with.

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

/// Interval at which the age of the keys is checked.
const TICK: Duration = Duration::from_secs(60);

/// Options of the signing key actor.
#[derive(Clone)]
pub(super) struct SigningOptions {
    /// Folder of the key files.
    pub folder: PathBuf,
    pub policy: RotationPolicy,
    pub store: StoreHandle,
    pub clock: Clock,
    /// Keys that are used now; `None` until they have been read.
    pub publish: watch::Sender<Option<Arc<KeySet>>>,
}

type Rotated = Result<Vec<SigningKeyChange>, Error>;

/// Owns the signing keys.
pub(super) struct SigningActor {
    options: SigningOptions,
    journal: Journal<Option<RotationReply>>,
    /// `None` while the key files are being written.
    ring: Option<KeyRing>,
    /// Requests that wait until the files of the rotation before are written.
    waiting: VecDeque<RotationRequest>,
}

/// A rotation, either requested by a caller or due by the age of the keys.
struct RotationRequest {
    by: By,
    /// Channel to the caller; `None` if the keys are checked for their age.
    reply: Option<oneshot::Sender<Rotated>>,
}

/// The response to a requested rotation, sent once its entries in the audit log are durable.
pub(super) struct RotationReply {
    changes: Vec<SigningKeyChange>,
    reply: oneshot::Sender<Rotated>,
}

/// Publishes the next signing key, which signs tokens once every verifier had time to fetch it.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<SigningKeyChange>, Error>")]
pub(super) struct Rotate {
    pub by: By,
}

/// Reads the signing keys from their folder, creates the first one if there is none, and publishes them.
pub(super) async fn load(options: SigningOptions) -> Result<SigningActor, BuildError> {
    let (folder, policy, now) = (options.folder.clone(), options.policy, options.clock.now().seconds());
    let ring = tokio::task::spawn_blocking(move || KeyRing::open(folder, policy, now)).await??;
    options.publish.send_replace(Some(ring.set()));
    Ok(SigningActor { options, journal: Journal::default(), ring: Some(ring), waiting: VecDeque::new() })
}

impl Actor for SigningActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(TICK, |signing, context| {
            signing.rotate(RotationRequest { by: By::System, reply: None }, context);
        });
    }
}

impl Journalled for SigningActor {
    type Effects = Option<RotationReply>;

    fn journal(&mut self) -> &mut Journal<Option<RotationReply>> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<Option<RotationReply>>, _: &mut Context<Self>) {
        for RotationReply { changes, reply } in committed.effects.into_iter().flatten() {
            // The caller may no longer wait.
            let _ = reply.send(Ok(changes));
        }
    }

    fn on_failed(&mut self, effects: Vec<Option<RotationReply>>, error: &Error) {
        for RotationReply { reply, .. } in effects.into_iter().flatten() {
            let _ = reply.send(Err(error.clone()));
        }
    }
}

impl SigningActor {
    /// Writes the key files on a blocking thread, one rotation after the other.
    fn rotate(&mut self, request: RotationRequest, context: &mut Context<Self>) {
        let Some(mut ring) = self.ring.take() else {
            if request.reply.is_some() {
                self.waiting.push_back(request);
            }
            return;
        };
        let (now, requested) = (self.options.clock.now().seconds(), request.reply.is_some());
        let written = tokio::task::spawn_blocking(move || {
            let changes = if requested { ring.rotate(now) } else { ring.tick(now) };
            (ring, changes)
        });
        context.spawn(written.into_actor(self).map(move |written, signing, context: &mut Context<Self>| {
            let Ok((ring, changes)) = written else {
                // The restarted actor reads the files as they are.
                return context.stop();
            };
            signing.options.publish.send_replace(Some(ring.set()));
            signing.ring = Some(ring);
            match (changes.map_err(|error| Error::new(Kind::Internal, error.to_string())), request.reply) {
                (Ok(changes), reply) => signing.audit(changes, &request.by, reply, context),
                (Err(error), Some(reply)) => drop(reply.send(Err(error))),
                (Err(error), None) => tracing::error!(%error, "the signing keys could not be rotated"),
            }
            if let Some(next) = signing.waiting.pop_front() {
                signing.rotate(next, context);
            }
        }));
    }

    /// Writes changes to the audit log, and responds once they are durable. Keys that are due by their age are rotated
    /// even if the store is read-only.
    fn audit(
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
                self.journal.push(ops, reply.map(|reply| RotationReply { changes, reply }));
                self.flush(context);
            }
            (Err(error), Some(reply)) => drop(reply.send(Err(error))),
            (Err(error), None) => {
                tracing::warn!(%error, "a change of the signing keys could not be written to the audit log")
            }
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

impl Handler<Rotate> for SigningActor {
    type Result = ResponseFuture<Rotated>;

    fn handle(&mut self, Rotate { by }: Rotate, context: &mut Context<Self>) -> Self::Result {
        if let Err(error) = self.admit() {
            return Box::pin(std::future::ready(Err(error)));
        }
        let (reply, rotated) = oneshot::channel();
        self.rotate(RotationRequest { by, reply: Some(reply) }, context);
        let lost = || Error::new(Kind::Unavailable, "the signing keys are restarting: try again");
        Box::pin(async move { rotated.await.unwrap_or_else(|_| Err(lost().retry_in(Duration::from_secs(1)))) })
    }
}
