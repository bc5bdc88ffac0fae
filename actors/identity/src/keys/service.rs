//! The service for API keys.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use tokio::sync::watch;

use super::actor::{KeyActor, KeyActorOptions, TOUCH_INTERVAL, load};
use super::messages::{Create, CreatedKey, Get, KeyIssuer, KeyPage, List, NewKey, Revoke, Rotate, Touch};
use super::record::KeyRecord;
use super::state::first_key;
use super::token::{PREFIX, Token};
use super::{Directory, KeyRejection};
use muster_core::idempotency::Idempotency;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error};

/// Longest timer of [`Keys::ended`], after which the key is checked again.
const RECHECK: Duration = Duration::from_secs(24 * 3600);

/// The service for API keys: the directory that requests are checked against, and the handle of the actor that owns them.
#[derive(Debug, Clone)]
pub struct Keys {
    handle: Handle<KeyActor>,
    directory: watch::Receiver<Arc<Directory>>,
    clock: Clock,
}

impl Keys {
    /// Starts the actor. The directory is empty until it runs: await [`Keys::up`] before serving.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: KeyActorOptions) -> Self {
        let (publish, directory) = watch::channel(Arc::new(Directory::default()));
        let clock = options.clock.clone();
        let handle = group.start(ChildSpec::new("keys", arbiter, move |_| {
            let (options, publish) = (options.clone(), publish.clone());
            async move { load(options, publish).await }
        }));
        Self { handle, directory, clock }
    }

    /// Waits until the records were read from the store.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Authenticates a request by the key that it contains. Costs a hash and a look-up; no actor is involved. The time of
    /// use is recorded at most once a minute.
    ///
    /// # Errors
    /// The reason why the key is rejected.
    pub fn authenticate(&self, key: &str) -> Result<Arc<KeyRecord>, KeyRejection> {
        let now = self.clock.now();
        let record = self.directory.borrow().authenticate(key, now)?;
        if record.last_used_at.is_none_or(|at| now.since(at) >= TOUCH_INTERVAL) {
            // If the actor cannot take the message now, the next request sends it again.
            let _ = self.handle.try_send(Touch { lookup: record.lookup.clone(), at: now });
        }
        Ok(record)
    }

    /// Returns whether a credential has the prefix of API keys, which no token of a session or a device has.
    pub fn is_key(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Resolves once an authenticated key is no longer accepted: it was revoked, has expired, or its secret was replaced
    /// and the grace period has ended. The future contains no secret.
    pub fn ended(&self, key: &str) -> impl Future<Output = ()> + Send + 'static {
        let parsed = Token::parse(key).ok().map(|token| (token.lookup.clone(), token.secret.hash()));
        let (mut directory, clock) = (self.directory.clone(), self.clock.clone());
        async move {
            let Some((lookup, hash)) = parsed else { return };
            loop {
                let now = clock.now();
                let until = directory.borrow_and_update().valid_until(&lookup, &hash, now);
                let Some(until) = until else { return };
                let left = Duration::from_millis(until.0.saturating_sub(now.0)).min(RECHECK);
                tokio::select! {
                    changed = directory.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(left) => {}
                }
            }
        }
    }

    /// Returns the number of keys, including those that were revoked or have expired.
    pub fn count(&self) -> usize {
        self.directory.borrow().len()
    }

    /// Creates a key, which is durable once this resolves. A repeated request returns the first response as long as the
    /// actor runs, for 24 h at most.
    ///
    /// # Errors
    /// `Invalid`, by field; `Forbidden` if the issuer lacks what the key would grant; `IdempotencyConflict`;
    /// `Unavailable` if the store accepts no writes.
    pub async fn create(
        &self,
        new: NewKey,
        issuer: KeyIssuer,
        idempotency: Option<Idempotency>,
    ) -> Result<CreatedKey, Error> {
        self.handle.ask(Create { new, issuer, token: None, idempotency }).await?
    }

    /// Creates the first key of an empty store, with every scope and role. It is `chosen`, if the operator has chosen
    /// one, and a random one otherwise.
    ///
    /// # Errors
    /// `Conflict` if a key with this identifier exists; `Unavailable` if the store accepts no writes.
    pub async fn create_first(&self, chosen: Option<Token>) -> Result<CreatedKey, Error> {
        self.handle
            .ask(Create { new: first_key(), issuer: KeyIssuer::Operator, token: chosen, idempotency: None })
            .await?
    }

    /// Revokes a key, which is rejected once this resolves. Revoking it again changes nothing.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` if the key has rights that the issuer lacks; `Unavailable` if the store accepts no writes.
    pub async fn revoke(&self, id: String, issuer: KeyIssuer) -> Result<Arc<KeyRecord>, Error> {
        self.handle.ask(Revoke { id, issuer }).await?
    }

    /// Replaces the secret of a key, durably once this resolves. The old secret is accepted for `grace` more.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if the key was revoked or has expired; `Forbidden` if the issuer lacks what the key grants;
    /// `Unavailable` if the store accepts no writes.
    pub async fn rotate(&self, id: String, issuer: KeyIssuer, grace: Duration) -> Result<CreatedKey, Error> {
        self.handle.ask(Rotate { id, issuer, grace }).await?
    }

    /// Returns a key by its identifier.
    ///
    /// # Errors
    /// `Unavailable` if the actor does not respond.
    pub async fn get(&self, id: String) -> Result<Option<Arc<KeyRecord>>, Error> {
        self.handle.ask(Get { id }).await?
    }

    /// Returns up to `limit` keys, newest first; `after` is the cursor of the previous page.
    ///
    /// # Errors
    /// `Unavailable` if the actor does not respond.
    pub async fn list(&self, limit: usize, after: Option<String>) -> Result<KeyPage, Error> {
        self.handle.ask(List { limit, after }).await?
    }
}
