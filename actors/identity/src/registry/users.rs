//! Users: created, changed, deleted, listed.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};
use muster_store::{Op, Record};
use serde_json::{Value, json};

use super::actor::{Change, Registry};
use super::login;
use super::messages::{CreateUser, CreatedUser, DeleteUser, EndReason, GetUser, ListUsers, PatchUser, SetPassword};
use crate::By;
use crate::users::{AccountKind, UserRecord};
use muster_core::audit::AuditEntry;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::{Journalled, respond};
use muster_core::page::Page;
use muster_core::{Error, Kind};

fn put_op(user: &UserRecord) -> Result<Op, Error> {
    Ok(Op::Put { tree: UserRecord::TREE, key: user.id.as_bytes().to_vec(), rec: user.encode()? })
}

impl Handler<CreateUser> for Registry {
    type Result = ResponseFuture<Result<CreatedUser, Error>>;

    fn handle(&mut self, create: CreateUser, context: &mut Context<Self>) -> Self::Result {
        let created = self.create(create);
        respond(self, created, context)
    }
}

impl Handler<PatchUser> for Registry {
    type Result = ResponseFuture<Result<Arc<UserRecord>, Error>>;

    fn handle(&mut self, patch: PatchUser, context: &mut Context<Self>) -> Self::Result {
        let patched = self.patch(patch);
        respond(self, patched, context)
    }
}

impl Handler<SetPassword> for Registry {
    type Result = ResponseFuture<Result<Arc<UserRecord>, Error>>;

    fn handle(&mut self, set: SetPassword, context: &mut Context<Self>) -> Self::Result {
        let user = self.set_password(set);
        respond(self, user, context)
    }
}

impl Handler<DeleteUser> for Registry {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, delete: DeleteUser, context: &mut Context<Self>) -> Self::Result {
        let deleted = self.delete(&delete);
        respond(self, deleted, context)
    }
}

impl Handler<GetUser> for Registry {
    type Result = ResponseFuture<Result<Option<Arc<UserRecord>>, Error>>;

    fn handle(&mut self, GetUser { name }: GetUser, context: &mut Context<Self>) -> Self::Result {
        let found = if name.contains('@') { self.users.by_email(&name) } else { self.users.get(&name) };
        let found = found.cloned();
        respond(self, Ok(found), context)
    }
}

impl Handler<ListUsers> for Registry {
    type Result = ResponseFuture<Result<Page<Arc<UserRecord>>, Error>>;

    fn handle(&mut self, ListUsers(kind, page): ListUsers, context: &mut Context<Self>) -> Self::Result {
        let page = self.users.list(kind, &page);
        respond(self, Ok(page), context)
    }
}

impl Registry {
    fn create(&mut self, create: CreateUser) -> Result<CreatedUser, Error> {
        let now = self.now();
        if let Some(request) = &create.idempotency
            && let Some(first) = self.responses.replay(request, &self.options.store, now)?
        {
            let id = first.get("id").and_then(Value::as_str).unwrap_or_default();
            let deleted = || {
                let message = "the user that was created with this Idempotency-Key was deleted: use a new key";
                Error::new(Kind::Conflict, message)
            };
            let user = self.users.get(id).cloned().ok_or_else(deleted)?;
            return Ok(CreatedUser { user, replayed: true });
        }
        self.admit()?;
        let user = self.users.create(create.new, create.password, &create.by, new_id(IdKind::User), now)?;
        let details = json!({ "email": user.email, "role": user.role, "grants": user.grants });
        let mut change = self.change_of(&create.by, "user_created", &user, details, "created")?;
        let response = json!({ "id": user.id });
        if let Some(request) = &create.idempotency {
            change.ops.push(request.op(now, response.clone())?);
        }
        let (user, decision) = (Arc::new(user), self.journal().next_number());
        self.put(&user, change)?;
        if let Some(request) = &create.idempotency {
            self.responses.insert(request, response, decision);
        }
        Ok(CreatedUser { user, replayed: false })
    }

    fn patch(&mut self, PatchUser { id, patch, if_match, by }: PatchUser) -> Result<Arc<UserRecord>, Error> {
        self.admit()?;
        let user = self.users.patch(&id, patch, if_match, &by, self.now())?;
        let details = json!({ "role": user.role, "grants": user.grants, "disabled": user.disabled });
        let kind = if user.disabled { "disabled" } else { "updated" };
        let mut change = self.change_of(&by, "user_updated", &user, details, kind)?;
        if user.disabled {
            self.end(&mut change, self.sessions.of(&id), EndReason::Disabled)?;
        }
        let user = Arc::new(user);
        self.put(&user, change)?;
        Ok(user)
    }

    fn set_password(&mut self, set: SetPassword) -> Result<Arc<UserRecord>, Error> {
        self.admit()?;
        let stale = |user: &Arc<UserRecord>| set.checked.as_ref().is_some_and(|(checked, _)| user.password != *checked);
        if self.users.get(&set.id).is_some_and(stale) {
            return Err(login::rejected());
        }
        let user = Arc::new(self.users.password(&set.id, set.password, &set.by, self.now())?);
        let mut change = self.change_of(&set.by, "password_changed", &user, Value::Null, "password_changed")?;
        self.end(&mut change, self.sessions.of(&set.id), EndReason::PasswordChanged)?;
        self.put(&user, change)?;
        if let Some((_, attempt)) = &set.checked {
            self.throttle.succeeded(attempt);
        }
        Ok(user)
    }

    fn delete(&mut self, DeleteUser { kind, id, if_match, by }: &DeleteUser) -> Result<(), Error> {
        self.admit()?;
        let user = self.users.deletable(*kind, id, *if_match, by)?;
        let action = match kind {
            AccountKind::Person => "user_deleted",
            AccountKind::Service => "service_account_deleted",
        };
        let mut change = self.change_of(by, action, &user, json!({ "email": user.email }), "deleted")?;
        change.ops.push(Op::Delete { tree: UserRecord::TREE, key: id.as_bytes().to_vec() });
        self.end(&mut change, self.sessions.of(id), EndReason::Deleted)?;
        self.users.remove(id);
        self.known.remove(id);
        change.effects.user_count = Some(self.users.len());
        self.decide(change);
        Ok(())
    }

    /// Begins a change of a user, with its audit entry and an event on the user's own channel.
    pub(super) fn change_of(
        &self,
        by: &By,
        action: &str,
        user: &UserRecord,
        details: Value,
        kind: &str,
    ) -> Result<Change, Error> {
        let deleted = kind == "deleted";
        let allows = if deleted { Value::Null } else { user.allows() };
        let entry = AuditEntry::new(self.now(), by.id(), action, &user.id, details).after(&allows);
        let mut change = self.change(&entry)?;
        let data = json!({ "id": user.id, "version": user.version, "what": kind });
        self.notify(&mut change, "user.updated", &user.id, &data)?;
        Ok(change)
    }

    /// Stores a user's record. Once it is durable, every open session has the user's present permissions.
    pub(super) fn put(&mut self, user: &Arc<UserRecord>, mut change: Change) -> Result<(), Error> {
        change.ops.push(put_op(user)?);
        self.users.put(Arc::clone(user));
        change.effects.user_count = Some(self.users.len());
        change.effects.updated = Some(Arc::clone(user));
        self.decide(change);
        Ok(())
    }
}
