//! People: made, changed, removed.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};
use muster_store::{Op, Record};
use serde_json::{Value, json};

use super::actor::{Change, Registry};
use super::effects::{Answer, Effect};
use super::login;
use super::messages::{CreateUser, Created, DeleteUser, GetUser, ListUsers, PatchUser, Reason, SetPassword};
use crate::By;
use crate::users::{Given, UserRecord};
use muster_core::audit::AuditEntry;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::Journalled;
use muster_core::page::Page;
use muster_core::{Error, Kind};

fn put(user: &UserRecord) -> Result<Op, Error> {
    Ok(Op::Put { tree: UserRecord::TREE, key: user.id.as_bytes().to_vec(), rec: user.encode()? })
}

impl Handler<CreateUser> for Registry {
    type Result = ResponseFuture<Result<Created, Error>>;

    fn handle(&mut self, create: CreateUser, context: &mut Context<Self>) -> Self::Result {
        let created = self.create(create);
        self.answer(created, Answer::Created, context)
    }
}

impl Handler<PatchUser> for Registry {
    type Result = ResponseFuture<Result<Arc<UserRecord>, Error>>;

    fn handle(&mut self, patch: PatchUser, context: &mut Context<Self>) -> Self::Result {
        let patched = self.patch(patch);
        self.answer(patched, Answer::User, context)
    }
}

impl Handler<SetPassword> for Registry {
    type Result = ResponseFuture<Result<Arc<UserRecord>, Error>>;

    fn handle(&mut self, set: SetPassword, context: &mut Context<Self>) -> Self::Result {
        let user = self.set_password(set);
        self.answer(user, Answer::User, context)
    }
}

impl Handler<DeleteUser> for Registry {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, delete: DeleteUser, context: &mut Context<Self>) -> Self::Result {
        let deleted = self.delete(&delete);
        self.answer(deleted, Answer::Deleted, context)
    }
}

impl Handler<GetUser> for Registry {
    type Result = ResponseFuture<Result<Option<Arc<UserRecord>>, Error>>;

    fn handle(&mut self, GetUser { name }: GetUser, context: &mut Context<Self>) -> Self::Result {
        let found = if name.contains('@') { self.users.by_email(&name) } else { self.users.get(&name) };
        let found = found.cloned();
        self.answer(Ok(found), Answer::Found, context)
    }
}

impl Handler<ListUsers> for Registry {
    type Result = ResponseFuture<Result<Page<Arc<UserRecord>>, Error>>;

    fn handle(&mut self, ListUsers(ask): ListUsers, context: &mut Context<Self>) -> Self::Result {
        let page = self.users.list(&ask);
        self.answer(Ok(page), Answer::Listed, context)
    }
}

impl Registry {
    fn create(&mut self, create: CreateUser) -> Result<Created, Error> {
        let now = self.now();
        if let Some(asked) = &create.idempotency
            && let Some(before) = self.answers.replay(asked, &self.options.store, now)?
        {
            let id = before.get("id").and_then(Value::as_str).unwrap_or_default();
            let gone =
                || Error::new(Kind::Conflict, "the person that this Idempotency-Key made is gone: take a new key");
            let user = self.users.get(id).cloned().ok_or_else(gone)?;
            return Ok(Created { user, given: Given::Before });
        }
        self.admit()?;
        let user = self.users.create(create.new, create.password, &create.by, new_id(IdKind::User), now)?;
        let details = json!({ "email": user.email, "role": user.role, "grants": user.grants });
        let mut change = self.change_of(&create.by, "user_created", &user, details, "created")?;
        let answer = json!({ "id": user.id });
        if let Some(request) = &create.idempotency {
            change.ops.push(request.op(now, answer.clone())?);
        }
        let (user, decision) = (Arc::new(user), self.journal().next_number());
        self.put(&user, change, Vec::new())?;
        if let Some(request) = &create.idempotency {
            self.answers.insert(request, answer, decision);
        }
        Ok(Created { user, given: Given::Now })
    }

    fn patch(&mut self, PatchUser { id, patch, if_match, by }: PatchUser) -> Result<Arc<UserRecord>, Error> {
        self.admit()?;
        let user = self.users.patch(&id, patch, if_match, &by, self.now())?;
        let details = json!({ "role": user.role, "grants": user.grants, "disabled": user.disabled });
        let what = if user.disabled { "disabled" } else { "updated" };
        let mut change = self.change_of(&by, "user_updated", &user, details, what)?;
        if user.disabled {
            self.end(&mut change, self.sessions.of(&id), Reason::Disabled)?;
        }
        let user = Arc::new(user);
        self.put(&user, change, Vec::new())?;
        Ok(user)
    }

    fn set_password(&mut self, set: SetPassword) -> Result<Arc<UserRecord>, Error> {
        self.admit()?;
        let stale = |user: &Arc<UserRecord>| set.checked.as_ref().is_some_and(|checked| user.password != *checked);
        if self.users.get(&set.id).is_some_and(stale) {
            return Err(login::refused());
        }
        let user = Arc::new(self.users.password(&set.id, set.password, &set.by, self.now())?);
        let mut change = self.change_of(&set.by, "password_changed", &user, Value::Null, "password_changed")?;
        self.end(&mut change, self.sessions.of(&set.id), Reason::PasswordChanged)?;
        self.put(&user, change, Vec::new())?;
        if set.checked.is_some() {
            self.throttle.succeeded(&user.email);
        }
        Ok(user)
    }

    fn delete(&mut self, DeleteUser { id, if_match, by }: &DeleteUser) -> Result<(), Error> {
        self.admit()?;
        let user = self.users.removable(id, *if_match, by)?;
        let mut change = self.change_of(by, "user_deleted", &user, json!({ "email": user.email }), "deleted")?;
        change.ops.push(Op::Delete { tree: UserRecord::TREE, key: id.as_bytes().to_vec() });
        self.end(&mut change, self.sessions.of(id), Reason::Deleted)?;
        self.users.remove(id);
        self.decide(change, vec![Effect::Count(self.users.len())]);
        Ok(())
    }

    /// A change of a person, which that person's own channel is notified of.
    fn change_of(&self, by: &By, action: &str, user: &UserRecord, details: Value, what: &str) -> Result<Change, Error> {
        let mut change = self.change(&AuditEntry::new(self.now(), by.id(), action, &user.id, details))?;
        let data = json!({ "id": user.id, "version": user.version, "what": what });
        self.notify(&mut change, "user.updated", &user.id, &data)?;
        Ok(change)
    }

    /// Decides a change of a person's record; once it is durable, every open session has what the person may do now.
    fn put(&mut self, user: &Arc<UserRecord>, mut change: Change, mut effects: Vec<Effect>) -> Result<(), Error> {
        change.ops.push(put(user)?);
        self.users.put(Arc::clone(user));
        effects.extend([Effect::Count(self.users.len()), Effect::Grant(Arc::clone(user))]);
        self.decide(change, effects);
        Ok(())
    }
}
