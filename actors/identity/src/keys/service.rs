//! The service for API keys.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use tokio::sync::watch;

use super::actor::{KeyActor, KeyActorOptions, TOUCH_INTERVAL, load};
use super::messages::{
    Create, CreateTeam, CreatedKey, DeleteTeam, Edit, EditTeam, Get, KeyIssuer, KeyPage, KeyPatch, List, NewKey,
    NewTeam, Revoke, Rotate, SetOwner, TeamPatch, Touch,
};
use super::record::KeyRecord;
use super::state::first_key;
use super::team::{OwnerRecord, TeamRecord};
use super::token::{PREFIX, Token};
use super::{Directory, KeyRejection};
use muster_core::guard::Permit;
use muster_core::idempotency::Idempotency;
use muster_core::precondition::IfMatch;
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

    /// Resolves once an authenticated key is no longer accepted as it was: it was revoked, has expired, its secret was
    /// replaced and the grace period has ended, or it lost a scope or a role. The future contains no secret.
    pub fn ended(&self, key: &str) -> impl Future<Output = ()> + Send + 'static {
        let parsed = Token::parse(key).ok().map(|token| (token.lookup.clone(), token.secret.hash()));
        let (mut directory, clock) = (self.directory.clone(), self.clock.clone());
        async move {
            let Some((lookup, hash)) = parsed else { return };
            let Some(first) = directory.borrow().by_lookup(&lookup) else { return };
            loop {
                let now = clock.now();
                let (until, present) = {
                    let directory = directory.borrow_and_update();
                    (directory.valid_until(&lookup, &hash, now), directory.by_lookup(&lookup))
                };
                let (Some(until), Some(present)) = (until, present) else { return };
                let has = |scope| present.scopes.contains(scope);
                if !first.scopes.iter().all(has) || !first.roles.iter().all(|role| present.roles.contains(role)) {
                    return;
                }
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
        self.create_permitted(new, issuer, idempotency, None).await
    }

    /// Creates a key with the permit of an approval.
    ///
    /// # Errors
    /// Those of [`Self::create`]; `Forbidden` (`approval_required`); `Conflict` (`approval_mismatch`).
    pub async fn create_permitted(
        &self,
        new: NewKey,
        issuer: KeyIssuer,
        idempotency: Option<Idempotency>,
        permit: Option<Permit>,
    ) -> Result<CreatedKey, Error> {
        self.handle.ask(Create { new, issuer, token: None, idempotency, permit }).await?
    }

    /// Creates the first key of an empty store, with every scope and role. It is `chosen`, if the operator has chosen
    /// one, and a random one otherwise.
    ///
    /// # Errors
    /// `Conflict` if a key with this identifier exists; `Unavailable` if the store accepts no writes.
    pub async fn create_first(&self, chosen: Option<Token>) -> Result<CreatedKey, Error> {
        self.handle
            .ask(Create {
                new: first_key(),
                issuer: KeyIssuer::Operator,
                token: chosen,
                idempotency: None,
                permit: None,
            })
            .await?
    }

    /// Revokes a key, which is rejected once this resolves. Revoking it again changes nothing.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` if the key has rights that the issuer lacks; `Unavailable` if the store accepts no writes.
    pub async fn revoke(&self, id: String, issuer: KeyIssuer) -> Result<Arc<KeyRecord>, Error> {
        self.handle.ask(Revoke { id, issuer }).await?
    }

    /// Changes a key, durably once this resolves: every later request is checked against the new record.
    ///
    /// # Errors
    /// `NotFound`; `PreconditionFailed`; `Conflict` if the key was revoked; `Invalid`, by field; `Forbidden` if the issuer
    /// lacks what the key grants, or would; `Unavailable` if the store accepts no writes.
    pub async fn edit(
        &self,
        id: String,
        patch: KeyPatch,
        issuer: KeyIssuer,
        if_match: IfMatch,
    ) -> Result<Arc<KeyRecord>, Error> {
        self.edit_permitted(id, patch, issuer, if_match, None).await
    }

    /// Changes a key with the permit of an approval.
    ///
    /// # Errors
    /// Those of [`Self::edit`]; `Forbidden` (`approval_required`); `Conflict` (`approval_mismatch`).
    pub async fn edit_permitted(
        &self,
        id: String,
        patch: KeyPatch,
        issuer: KeyIssuer,
        if_match: IfMatch,
        permit: Option<Permit>,
    ) -> Result<Arc<KeyRecord>, Error> {
        self.handle.ask(Edit { id, patch, issuer, if_match, permit }).await?
    }

    /// Returns the published record of a key by its identifier. Involves no actor.
    pub fn present(&self, id: &str) -> Option<Arc<KeyRecord>> {
        self.directory.borrow().by_id(id)
    }

    /// Returns a team. Involves no actor.
    pub fn team(&self, id: &str) -> Option<Arc<TeamRecord>> {
        self.directory.borrow().teams.get(id).cloned()
    }

    /// Returns up to `limit` teams, newest first; `after` is the identifier of the last one of the previous page.
    pub fn teams(&self, limit: usize, after: Option<&str>) -> Vec<Arc<TeamRecord>> {
        let directory = self.directory.borrow();
        let newest = directory.teams.iter().rev().filter(|(id, _)| after.is_none_or(|after| id.as_str() < after));
        newest.map(|(_, team)| Arc::clone(team)).take(limit).collect()
    }

    /// Returns the budget of an owner that was set at run time, in USD; `None` if the settings apply.
    pub fn owner_budget(&self, owner: &str) -> Option<f64> {
        self.directory.borrow().owners.get(owner).copied()
    }

    /// Returns the owners whose budgets were set at run time, with these, in USD.
    pub fn owner_budgets(&self) -> BTreeMap<String, f64> {
        self.directory.borrow().owners.clone()
    }

    /// Creates a team, which is durable once this resolves; returns also whether it is the first response to a repeated
    /// request.
    ///
    /// # Errors
    /// `Invalid`, by field; `Conflict` if a team has this name; `Forbidden` if it would grant what the issuer lacks;
    /// `IdempotencyConflict`; `Unavailable` if the store accepts no writes.
    pub async fn create_team(
        &self,
        new: NewTeam,
        issuer: KeyIssuer,
        idempotency: Option<Idempotency>,
    ) -> Result<(Arc<TeamRecord>, bool), Error> {
        self.handle.ask(CreateTeam { new, issuer, idempotency }).await?
    }

    /// Changes a team, for all of its keys once this resolves.
    ///
    /// # Errors
    /// `NotFound`, `PreconditionFailed`, and those of [`Self::create_team`].
    pub async fn edit_team(
        &self,
        id: String,
        patch: TeamPatch,
        issuer: KeyIssuer,
        if_match: IfMatch,
    ) -> Result<Arc<TeamRecord>, Error> {
        self.handle.ask(EditTeam { id, patch, issuer, if_match }).await?
    }

    /// Deletes a team to which no key belongs, except revoked ones.
    ///
    /// # Errors
    /// `NotFound`, `PreconditionFailed`, `Forbidden`; `Conflict` if it has keys; `Unavailable`.
    pub async fn delete_team(
        &self,
        id: String,
        issuer: KeyIssuer,
        if_match: IfMatch,
    ) -> Result<Arc<TeamRecord>, Error> {
        self.handle.ask(DeleteTeam { id, issuer, if_match }).await?
    }

    /// Sets the budget of an owner in USD; `None` returns to that of the settings.
    ///
    /// # Errors
    /// `Invalid`; `Forbidden` unless the issuer is a `super_admin`; `Unavailable` if the store accepts no writes.
    pub async fn set_owner_budget(
        &self,
        owner: String,
        budget_usd: Option<f64>,
        issuer: KeyIssuer,
    ) -> Result<OwnerRecord, Error> {
        self.handle.ask(SetOwner { owner, budget_usd, issuer }).await?
    }

    /// Replaces the secret of a key, durably once this resolves. The old secret is accepted for `grace` more.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if the key was revoked or has expired; `Forbidden` if the issuer lacks what the key grants;
    /// `Unavailable` if the store accepts no writes.
    pub async fn rotate(&self, id: String, issuer: KeyIssuer, grace: Duration) -> Result<CreatedKey, Error> {
        self.rotate_permitted(id, issuer, grace, None).await
    }

    /// Replaces the secret of a key with the permit of an approval.
    ///
    /// # Errors
    /// Those of [`Self::rotate`]; `Forbidden` (`approval_required`); `Conflict` (`approval_mismatch`).
    pub async fn rotate_permitted(
        &self,
        id: String,
        issuer: KeyIssuer,
        grace: Duration,
        permit: Option<Permit>,
    ) -> Result<CreatedKey, Error> {
        self.handle.ask(Rotate { id, issuer, grace, permit }).await?
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
