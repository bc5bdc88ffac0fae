//! Operations on user accounts.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{FIRST_EMAIL, Identity, LoginExcess, check_length};
use crate::hashing::{PasswordCheck, Priority};
use crate::registry::{
    CreateUser, CreatedUser, DeleteUser, GetUser, ListUsers, PatchUser, SetPassword, login_rejected,
};
use crate::throttle::{LoginSource, Verdict};
use crate::users::{AccountKind, NewUser, UserPatch, UserRecord, check_new_password, normalize_email};
use crate::{By, Person};
use muster_core::guard::Permit;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;
use muster_core::principal::UserRole;
use muster_core::{Error, Kind};

impl Identity {
    /// Changes the caller's own password and ends all sessions.
    ///
    /// # Errors
    /// `Unauthenticated` (`invalid_credentials`) if the present password is wrong, which counts as a failed login;
    /// `Invalid` for the new password; `RateLimited`; `Unavailable`.
    pub async fn change_password(&self, by: &Arc<Person>, present: String, next: String) -> Result<(), Error> {
        check_new_password("new_password", &next)?;
        check_length("current_password", &present)?;
        if by.is_service() {
            let message =
                "a service account has no password: rotate its secret (POST /api/v1/service-accounts/{id}/rotate)";
            return Err(Error::new(Kind::Forbidden, message).coded("permission_denied"));
        }
        // Counted by the session, so that nobody else's failures are in the way.
        let (verdict, user) = self.attempt(&by.email, LoginSource::of_session(&by.session_id), None).await?;
        let attempt = match verdict {
            Verdict::Allowed(attempt) => Some(attempt),
            Verdict::Locked => None,
            Verdict::TooMany(excess) => return Err(LoginExcess::from(excess).into()),
        };
        let user = user.filter(|user| attempt.is_some() && !user.disabled);
        let stored = user.as_ref().map(|user| user.password.clone());
        let checked = self.pool.check(present, stored, Priority::Known).await?;
        let (Some(attempt), Some(user), PasswordCheck::Correct(_)) = (attempt, user, checked) else {
            return Err(login_rejected());
        };
        let (password, checked) = (self.pool.hash(next).await?, Some((user.password.clone(), attempt)));
        let set = SetPassword { id: user.id.clone(), password, checked, by: By::Person(Arc::clone(by)) };
        self.registry.ask(set).await?.map(drop)
    }

    /// Sets a user's password and ends all sessions of that user.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`, `Forbidden`, `Unavailable`.
    pub async fn reset_password(&self, by: By, id: String, password: String) -> Result<Arc<UserRecord>, Error> {
        check_new_password("password", &password)?;
        let password = self.pool.hash(password).await?;
        self.registry.ask(SetPassword { id, password, checked: None, by }).await?
    }

    /// Creates a user.
    ///
    /// # Errors
    /// `Invalid`, by field; `Forbidden` if `by` may not assign the role or a grant; `Conflict` (`email_taken`);
    /// `IdempotencyConflict`; `Unavailable`.
    pub async fn create_user(
        &self,
        by: By,
        new: NewUser,
        password: String,
        idempotency: Option<Idempotency>,
    ) -> Result<CreatedUser, Error> {
        self.create_user_permitted(by, new, password, idempotency, None).await
    }

    /// Creates a user with the permit of an approval.
    ///
    /// # Errors
    /// Those of [`Self::create_user`]; `Forbidden` (`approval_required`); `Conflict` (`approval_mismatch`).
    pub async fn create_user_permitted(
        &self,
        by: By,
        new: NewUser,
        password: String,
        idempotency: Option<Idempotency>,
        permit: Option<Permit>,
    ) -> Result<CreatedUser, Error> {
        check_new_password("password", &password)?;
        let password = self.pool.hash(password).await?;
        self.registry.ask(CreateUser { new, password, by, idempotency, permit }).await?
    }

    /// Changes a user. Disabling a user ends their sessions; new permissions apply to open sessions at once.
    ///
    /// # Errors
    /// `NotFound`, `PreconditionFailed`, `Invalid`, `Forbidden`, `Conflict` (`last_super_admin`), `Unavailable`.
    pub async fn patch_user(
        &self,
        by: By,
        id: String,
        patch: UserPatch,
        if_match: IfMatch,
    ) -> Result<Arc<UserRecord>, Error> {
        self.patch_user_permitted(by, id, patch, if_match, None).await
    }

    /// Changes a user with the permit of an approval.
    ///
    /// # Errors
    /// Those of [`Self::patch_user`]; `Forbidden` (`approval_required`); `Conflict` (`approval_mismatch`).
    pub async fn patch_user_permitted(
        &self,
        by: By,
        id: String,
        patch: UserPatch,
        if_match: IfMatch,
        permit: Option<Permit>,
    ) -> Result<Arc<UserRecord>, Error> {
        self.registry.ask(PatchUser { id, patch, if_match, by, permit }).await?
    }

    /// Deletes a user and ends their sessions.
    ///
    /// # Errors
    /// `NotFound`, `PreconditionFailed`, `Forbidden`, `Conflict` (`last_super_admin`), `Unavailable`.
    pub async fn delete_user(&self, by: By, id: String, if_match: IfMatch) -> Result<(), Error> {
        self.registry.ask(DeleteUser { kind: AccountKind::Person, id, if_match, by }).await?
    }

    /// Returns a user by identifier or e-mail.
    ///
    /// # Errors
    /// `Unavailable` if the actor does not respond.
    pub async fn user(&self, name: &str) -> Result<Option<Arc<UserRecord>>, Error> {
        let name = if name.contains('@') { normalize_email(name) } else { name.to_owned() };
        self.registry.ask(GetUser { name }).await?
    }

    /// Returns a page of users, newest first.
    ///
    /// # Errors
    /// `Unavailable` if the actor does not respond.
    pub async fn users(&self, page: PageParams) -> Result<Page<Arc<UserRecord>>, Error> {
        self.registry.ask(ListUsers(AccountKind::Person, page)).await?
    }

    /// Creates the first administrator of an empty store. If the operator has chosen no password, a random one is
    /// generated and returned, to be printed once. Does nothing if there are users.
    ///
    /// # Errors
    /// `Invalid` for the chosen password; `Unavailable`.
    pub async fn create_first(&self, chosen: Option<String>) -> Result<Option<String>, Error> {
        if self.user_count() > 0 {
            return Ok(None);
        }
        let mut random = [0; 18];
        getrandom::fill(&mut random).map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        let generated = chosen.is_none().then(|| URL_SAFE_NO_PAD.encode(random));
        let password = chosen.or_else(|| generated.clone()).unwrap_or_default();
        let (email, name) = (FIRST_EMAIL.to_owned(), "Administrator".to_owned());
        let new = NewUser { email, name, role: UserRole::SuperAdmin, grants: Vec::new() };
        self.create_user(By::System, new, password, None).await?;
        Ok(generated)
    }
}
