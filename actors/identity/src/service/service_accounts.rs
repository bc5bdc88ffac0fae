//! Operations on service accounts.

use std::sync::Arc;
use std::time::Duration;

use super::{Identity, LoginAdmission, PendingLogin};
use crate::By;
use crate::registry::{
    CheckedCredential, CreateServiceAccount, DeleteUser, IssuedSecret, ListUsers, OpenSession, PatchServiceAccount,
    RotateSecret, secret_rejected,
};
use crate::sessions::Origin;
use crate::throttle::{LoginSource, Verdict};
use crate::tokens::IssuedTokens;
use crate::users::{AccountKind, MAX_EMAIL, NewServiceAccount, SecretHash, ServiceAccountPatch, UserRecord};
use muster_core::Error;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;

impl Identity {
    /// Counts the login attempt of a service account, before its secret is looked at. An identifier that no account can
    /// have is counted by its address only.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn begin_service_login(&self, account: &str, origin: Origin) -> Result<LoginAdmission, Error> {
        let source = LoginSource::new(origin.ip, origin.jkt.as_deref());
        // An e-mail would be counted against a person, who has nothing to do with this.
        let account = (account.len() <= MAX_EMAIL && !account.contains('@')).then(|| account.to_owned());
        let (verdict, user) = self.attempt_by(account, source, origin.ip).await?;
        let attempt = match verdict {
            Verdict::Allowed(attempt) => Some(attempt),
            Verdict::Locked => None,
            Verdict::TooMany(excess) => return Ok(LoginAdmission::Refused(excess.into())),
        };
        let user = user.filter(|_| attempt.is_some());
        Ok(LoginAdmission::Admitted(Box::new(PendingLogin { attempt, user, origin })))
    }

    /// Exchanges the secret of a service account for the tokens of a new session.
    ///
    /// # Errors
    /// `Unauthenticated` (`invalid_credentials`) for an unknown, locked, disabled or expired account and for a wrong
    /// secret; `Unavailable`.
    pub async fn finish_service_login(&self, login: PendingLogin, secret: &str) -> Result<IssuedTokens, Error> {
        let hash = SecretHash::of(secret);
        let PendingLogin { attempt, user, origin } = login;
        let (Some(attempt), Some(user)) = (attempt, user) else { return Err(secret_rejected()) };
        let credential = CheckedCredential::Secret(hash);
        let opened = self.registry.ask(OpenSession { attempt, user_id: user.id.clone(), credential, origin }).await??;
        self.tokens.of(&opened.session, opened.user)
    }

    /// Creates a service account.
    ///
    /// # Errors
    /// `Invalid`, by field; `Forbidden` if `by` may not assign the role; `Conflict` (`name_taken`);
    /// `IdempotencyConflict`; `Unavailable`.
    pub async fn create_service_account(
        &self,
        by: By,
        new: NewServiceAccount,
        idempotency: Option<Idempotency>,
    ) -> Result<IssuedSecret, Error> {
        self.registry.ask(CreateServiceAccount { new, by, idempotency }).await?
    }

    /// Gives a service account a new secret. The present one is accepted for the time of grace; without grace the
    /// sessions end too.
    ///
    /// # Errors
    /// `NotFound`, `Forbidden`, `Unavailable`.
    pub async fn rotate_service_account(&self, by: By, id: String, grace: Duration) -> Result<IssuedSecret, Error> {
        self.registry.ask(RotateSecret { id, grace, by }).await?
    }

    /// Changes a service account. Disabling it, and changing its expiry, ends its sessions.
    ///
    /// # Errors
    /// `NotFound`, `PreconditionFailed`, `Invalid`, `Forbidden`, `Unavailable`.
    pub async fn patch_service_account(
        &self,
        by: By,
        id: String,
        patch: ServiceAccountPatch,
        if_match: IfMatch,
    ) -> Result<Arc<UserRecord>, Error> {
        self.registry.ask(PatchServiceAccount { id, patch, if_match, by }).await?
    }

    /// Deletes a service account and ends its sessions.
    ///
    /// # Errors
    /// `NotFound`, `Forbidden`, `Unavailable`.
    pub async fn delete_service_account(&self, by: By, id: String) -> Result<(), Error> {
        let delete = DeleteUser { kind: AccountKind::Service, id, if_match: IfMatch::Any, by };
        self.registry.ask(delete).await?
    }

    /// Returns a service account.
    ///
    /// # Errors
    /// `Unavailable` if the actor does not respond.
    pub async fn service_account(&self, id: &str) -> Result<Option<Arc<UserRecord>>, Error> {
        Ok(self.user(id).await?.filter(|account| account.service.is_some()))
    }

    /// Returns a page of service accounts, newest first.
    ///
    /// # Errors
    /// `Unavailable` if the actor does not respond.
    pub async fn service_accounts(&self, page: PageParams) -> Result<Page<Arc<UserRecord>>, Error> {
        self.registry.ask(ListUsers(AccountKind::Service, page)).await?
    }
}
