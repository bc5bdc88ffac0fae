//! The actor that keeps the keys which sign tokens: it turns them over, and publishes what requests verify with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, AtomicResponse, Context, Handler, Message, WrapFuture};
use muster_auth::{KeyRing, KeySet, RotationPolicy, SigningKeyChange};
use muster_store::{Batch, StoreHandle};
use serde_json::json;
use tokio::sync::watch;

use super::By;
use muster_core::audit::AuditEntry;
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

/// Owns the signing keys.
pub(super) struct Signing {
    options: SigningOptions,
    ring: KeyRing,
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
    Ok(Signing { options, ring })
}

impl Actor for Signing {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(TICK, |signing, context| {
            let now = signing.options.clock.now().seconds();
            let changes = match signing.ring.tick(now) {
                Ok(changes) if changes.is_empty() => return,
                Ok(changes) => changes,
                Err(error) => return tracing::error!(%error, "the signing keys could not be turned over"),
            };
            if let Ok(noted) = signing.took(&changes, &By::System) {
                context.wait(noted.into_actor(signing).map(|noted, _, _| {
                    if let Err(error) = noted {
                        tracing::warn!(%error, "the change of signing keys is not in the audit log");
                    }
                }));
            }
        });
    }
}

impl Signing {
    /// Publishes the keys as they are now, and notes what has changed.
    fn took(
        &self,
        changes: &[SigningKeyChange],
        by: &By,
    ) -> Result<impl Future<Output = Result<(), Error>> + use<>, Error> {
        self.options.publish.send_replace(Some(self.ring.set()));
        let mut batch = Batch::default();
        for change in changes {
            let (action, kid) = match change {
                SigningKeyChange::Published { kid, .. } => ("signing_key_published", kid),
                SigningKeyChange::Promoted { kid, .. } => ("signing_key_promoted", kid),
                SigningKeyChange::Dropped { kid } => ("signing_key_dropped", kid),
                SigningKeyChange::Revoked { kid } => ("signing_key_revoked", kid),
            };
            tracing::info!(action, %kid, "signing keys changed");
            batch.ops.push(AuditEntry::new(self.options.clock.now(), by.id(), action, kid, json!(null)).op()?);
        }
        let store = Arc::clone(&self.options.store);
        Ok(async move { if batch.ops.is_empty() { Ok(()) } else { Ok(store.commit(batch).await?) } })
    }
}

impl Handler<Rotate> for Signing {
    type Result = AtomicResponse<Self, Result<Vec<SigningKeyChange>, Error>>;

    fn handle(&mut self, Rotate { by }: Rotate, _: &mut Context<Self>) -> Self::Result {
        let now = self.options.clock.now().seconds();
        let rotated = self.ring.rotate(now).map_err(|error| Error::new(Kind::Internal, error.to_string()));
        let noted = rotated.and_then(|changes| Ok((self.took(&changes, &by)?, changes)));
        match noted {
            Ok((noted, changes)) => {
                AtomicResponse::new(Box::pin(noted.into_actor(self).map(|noted, _, _| noted.map(|()| changes))))
            }
            Err(error) => AtomicResponse::new(Box::pin(actix::fut::ready(Err(error)))),
        }
    }
}
