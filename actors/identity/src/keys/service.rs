//! The public face of API keys.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use tokio::sync::watch;

use super::actor::{KeyActor, KeyActorOptions, TOUCH_EVERY, load};
use super::messages::{Create, Created, Get, KeyPage, List, MadeBy, NewKey, Revoke, Rotate, Touch};
use super::record::KeyRecord;
use super::state::first_key;
use super::token::{PREFIX, Token};
use super::{Directory, Refusal};
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error};

/// How long a key that nothing happens to is not looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(24 * 3600);

/// API keys: the directory that requests are checked against, and the way to the actor that changes it.
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

    /// Waits until the records were read and the actor answers.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// The record of a key as a request carries it. Costs a hash and a look-up, no hop.
    pub fn authenticate(&self, key: &str) -> Result<Arc<KeyRecord>, Refusal> {
        let now = self.clock.now();
        let record = self.directory.borrow().authenticate(key, now)?;
        if record.last_used_at.is_none_or(|at| now.since(at) >= TOUCH_EVERY) {
            // Nothing is lost when it cannot be told now: the next request tells it.
            let _ = self.handle.try_send(Touch { lookup: record.lookup.clone(), at: now });
        }
        Ok(record)
    }

    /// Whether a text is meant as a key: no token of a session or a device begins so.
    pub fn is_key(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Resolves once a key that was let in is not any more: revoked, expired, or with a secret that was replaced and whose
    /// grace is over. The future holds no secret.
    pub fn ended(&self, key: &str) -> impl Future<Output = ()> + Send + 'static {
        let seen = Token::parse(key).ok().map(|token| (token.lookup.clone(), token.secret.hash()));
        let (mut directory, clock) = (self.directory.clone(), self.clock.clone());
        async move {
            let Some((lookup, hash)) = seen else { return };
            loop {
                let now = clock.now();
                let until = directory.borrow_and_update().lives_until(&lookup, &hash, now);
                let Some(until) = until else { return };
                // A timer's bound; looked at again then.
                let left = Duration::from_millis(until.0.saturating_sub(now.0)).min(LOOK_AGAIN);
                tokio::select! {
                    changed = directory.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(left) => {}
                }
            }
        }
    }

    /// How many keys there are.
    pub fn count(&self) -> usize {
        self.directory.borrow().len()
    }

    /// Makes a key; durable when this resolves.
    pub async fn create(
        &self,
        new: NewKey,
        by: MadeBy,
        idempotency: Option<(String, [u8; 32])>,
    ) -> Result<Created, Error> {
        self.handle.ask(Create { new, by, token: None, idempotency }).await?
    }

    /// Makes the first key of an empty store, with every scope and role; `given` is used where the operator brings one.
    pub async fn create_first(&self, given: Option<Token>) -> Result<Created, Error> {
        self.handle.ask(Create { new: first_key(), by: MadeBy::Operator, token: given, idempotency: None }).await?
    }

    /// Ends a key; no request is let in with it once this resolves.
    pub async fn revoke(&self, id: String) -> Result<Arc<KeyRecord>, Error> {
        self.handle.ask(Revoke { id }).await?
    }

    /// Gives a key a new secret, durable when this resolves; the old one is taken for `grace` yet.
    pub async fn rotate(&self, id: String, by: MadeBy, grace: Duration) -> Result<Created, Error> {
        self.handle.ask(Rotate { id, by, grace }).await?
    }

    pub async fn get(&self, id: String) -> Result<Option<Arc<KeyRecord>>, Error> {
        self.handle.ask(Get { id }).await?
    }

    pub async fn list(&self, limit: usize, after: Option<String>) -> Result<KeyPage, Error> {
        self.handle.ask(List { limit, after }).await?
    }
}
