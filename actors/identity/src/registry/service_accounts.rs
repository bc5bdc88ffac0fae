//! Service accounts: created, changed, rotated.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};
use serde_json::json;

use super::actor::Registry;
use super::messages::{CreateServiceAccount, EndReason, IssuedSecret, PatchServiceAccount, RotateSecret};
use crate::users::{ServiceSecret, UserRecord};
use muster_core::Error;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::{Journalled, respond};

impl Handler<CreateServiceAccount> for Registry {
    type Result = ResponseFuture<Result<IssuedSecret, Error>>;

    fn handle(&mut self, create: CreateServiceAccount, context: &mut Context<Self>) -> Self::Result {
        let created = self.create_service_account(create);
        respond(self, created, context)
    }
}

impl Handler<PatchServiceAccount> for Registry {
    type Result = ResponseFuture<Result<Arc<UserRecord>, Error>>;

    fn handle(&mut self, patch: PatchServiceAccount, context: &mut Context<Self>) -> Self::Result {
        let patched = self.patch_service_account(&patch);
        respond(self, patched, context)
    }
}

impl Handler<RotateSecret> for Registry {
    type Result = ResponseFuture<Result<IssuedSecret, Error>>;

    fn handle(&mut self, rotate: RotateSecret, context: &mut Context<Self>) -> Self::Result {
        let rotated = self.rotate_secret(&rotate);
        respond(self, rotated, context)
    }
}

impl Registry {
    fn create_service_account(&mut self, create: CreateServiceAccount) -> Result<IssuedSecret, Error> {
        let CreateServiceAccount { new, by, idempotency } = create;
        let now = self.now();
        if let Some(request) = &idempotency
            && let Some(first) = self.secrets.replay(request, now)?
        {
            return Ok(IssuedSecret { replayed: true, ..first });
        }
        self.admit()?;
        let secret = ServiceSecret::generate()?;
        let account = self.users.create_service(new, secret.hash(), &by, new_id(IdKind::ServiceAccount), now)?;
        let expires_at = account.service.as_ref().map(|service| service.expires_at);
        let details = json!({ "name": account.name, "role": account.role, "expires_at": expires_at });
        let change = self.change_of(&by, "service_account_created", &account, details, "created")?;
        let account = Arc::new(account);
        self.put(&account, change)?;
        let issued = IssuedSecret { account, secret: secret.reveal(), replayed: false };
        if let Some(request) = &idempotency {
            self.secrets.insert(request, issued.clone(), now);
        }
        Ok(issued)
    }

    /// A change of expiry ends the sessions, which would end with the former one; so does disabling. A new role applies
    /// to open sessions at once.
    fn patch_service_account(&mut self, request: &PatchServiceAccount) -> Result<Arc<UserRecord>, Error> {
        let PatchServiceAccount { id, patch, if_match, by } = request;
        self.admit()?;
        let account = self.users.patch_service(id, patch, *if_match, by, self.now())?;
        let expires_at = account.service.as_ref().map(|service| service.expires_at);
        let details = json!({ "role": account.role, "disabled": account.disabled, "expires_at": expires_at });
        let kind = if account.disabled { "disabled" } else { "updated" };
        let mut change = self.change_of(by, "service_account_updated", &account, details, kind)?;
        if account.disabled || patch.expires_at.is_some() {
            let reason = if account.disabled { EndReason::Disabled } else { EndReason::Revoked };
            self.end(&mut change, self.sessions.of(id), reason)?;
        }
        let account = Arc::new(account);
        self.put(&account, change)?;
        Ok(account)
    }

    fn rotate_secret(&mut self, request: &RotateSecret) -> Result<IssuedSecret, Error> {
        let RotateSecret { id, grace, by } = request;
        self.admit()?;
        let secret = ServiceSecret::generate()?;
        let account = Arc::new(self.users.rotate_service(id, secret.hash(), *grace, by, self.now())?);
        let details = json!({ "grace_seconds": grace.as_secs() });
        let mut change = self.change_of(by, "service_account_rotated", &account, details, "secret_rotated")?;
        if grace.is_zero() {
            self.end(&mut change, self.sessions.of(id), EndReason::SecretRotated)?;
        }
        self.put(&account, change)?;
        Ok(IssuedSecret { account, secret: secret.reveal(), replayed: false })
    }
}
