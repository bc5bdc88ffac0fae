//! People: made, changed, removed.

use std::sync::Arc;

use actix::{ActorFutureExt, AtomicResponse, Context, Handler, MessageResult, WrapFuture};
use muster_store::{Op, Record};
use serde_json::{Value, json};

use super::actor::{Act, Registry, person};
use super::login;
use super::messages::{CreateUser, Created, DeleteUser, GetUser, ListUsers, PatchUser, Reason, SetPassword};
use crate::By;
use crate::users::{Given, UserRecord};
use muster_core::audit::AuditEntry;
use muster_core::ids::{IdKind, new_id};
use muster_core::{Error, Kind};

type Answer<T> = AtomicResponse<Registry, Result<T, Error>>;

fn refuse<T: 'static>(error: Error) -> Answer<T> {
    AtomicResponse::new(Box::pin(actix::fut::ready(Err(error))))
}

fn put(user: &UserRecord) -> Result<Op, Error> {
    Ok(Op::Put { tree: UserRecord::TREE, key: user.id.as_bytes().to_vec(), rec: user.encode()? })
}

impl Handler<CreateUser> for Registry {
    type Result = Answer<Created>;

    fn handle(&mut self, create: CreateUser, _: &mut Context<Self>) -> Self::Result {
        match self.create(create) {
            Err(error) => refuse(error),
            Ok((user, None)) => {
                AtomicResponse::new(Box::pin(actix::fut::ready(Ok(Created { user, given: Given::Before }))))
            }
            Ok((user, Some(act))) => {
                self.change(user, act, Reason::Revoked, |user| Created { user, given: Given::Now })
            }
        }
    }
}

impl Handler<PatchUser> for Registry {
    type Result = Answer<Arc<UserRecord>>;

    fn handle(&mut self, PatchUser { id, patch, if_match, by }: PatchUser, _: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        let changed = self.users.patch(&id, patch, if_match, &by, now).and_then(|user| {
            let details = json!({ "role": user.role, "grants": user.grants, "disabled": user.disabled });
            let ending = user.disabled;
            let mut act =
                self.act_on(&by, "user_updated", &user, details, if ending { "disabled" } else { "updated" })?;
            act.ops.push(put(&user)?);
            if ending {
                act.ending = self.sids_of(&id);
            }
            Ok((user, act))
        });
        match changed {
            Ok((user, act)) => self.change(Arc::new(user), act, Reason::Disabled, |user| user),
            Err(error) => refuse(error),
        }
    }
}

impl Handler<SetPassword> for Registry {
    type Result = Answer<Arc<UserRecord>>;

    fn handle(&mut self, set: SetPassword, _: &mut Context<Self>) -> Self::Result {
        let stale = |user: &Arc<UserRecord>| set.checked.as_ref().is_some_and(|checked| user.password != *checked);
        if self.users.get(&set.id).is_some_and(stale) {
            return refuse(login::refused());
        }
        let changed = self.users.password(&set.id, set.password, &set.by, self.now()).and_then(|user| {
            let mut act = self.act_on(&set.by, "password_changed", &user, Value::Null, "password_changed")?;
            act.ops.push(put(&user)?);
            act.ending = self.sids_of(&set.id);
            Ok((user, act))
        });
        match changed {
            Ok((user, act)) => {
                if set.checked.is_some() {
                    self.throttle.succeeded(&user.email);
                }
                self.change(Arc::new(user), act, Reason::PasswordChanged, |user| user)
            }
            Err(error) => refuse(error),
        }
    }
}

impl Handler<DeleteUser> for Registry {
    type Result = Answer<()>;

    fn handle(&mut self, DeleteUser { id, if_match, by }: DeleteUser, _: &mut Context<Self>) -> Self::Result {
        let removed = self.users.removable(&id, if_match, &by).and_then(|user| {
            let mut act = self.act_on(&by, "user_deleted", &user, json!({ "email": user.email }), "deleted")?;
            act.ops.push(Op::Delete { tree: UserRecord::TREE, key: id.as_bytes().to_vec() });
            act.ending = self.sids_of(&id);
            Ok(act)
        });
        let act = match removed {
            Ok(act) => act,
            Err(error) => return refuse(error),
        };
        let write = self.write(act.ops, act.ending.clone(), Reason::Deleted);
        AtomicResponse::new(Box::pin(write.into_actor(self).map(move |written, registry, _| {
            written?;
            registry.users.remove(&id);
            registry.options.count.send_replace(registry.users.len());
            registry.accept(&act.ending, act.events);
            Ok(())
        })))
    }
}

impl Handler<GetUser> for Registry {
    type Result = MessageResult<GetUser>;

    fn handle(&mut self, GetUser { name }: GetUser, _: &mut Context<Self>) -> Self::Result {
        let found = if name.contains('@') { self.users.by_email(&name) } else { self.users.get(&name) };
        MessageResult(found.cloned())
    }
}

impl Handler<ListUsers> for Registry {
    type Result = MessageResult<ListUsers>;

    fn handle(&mut self, ListUsers(ask): ListUsers, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.users.list(&ask))
    }
}

impl Registry {
    /// Without an act, the person was made before for the same request.
    fn create(&self, create: CreateUser) -> Result<(Arc<UserRecord>, Option<Act>), Error> {
        let now = self.now();
        if let Some(asked) = &create.idempotency
            && let Some(before) = asked.replay(&self.options.store, now)?
        {
            let id = before.get("id").and_then(Value::as_str).unwrap_or_default();
            let gone =
                || Error::new(Kind::Conflict, "the person that this Idempotency-Key made is gone: take a new key");
            return Ok((self.users.get(id).cloned().ok_or_else(gone)?, None));
        }
        let user = self.users.create(create.new, create.password, &create.by, new_id(IdKind::User), now)?;
        let details = json!({ "email": user.email, "role": user.role, "grants": user.grants });
        let mut act = self.act_on(&create.by, "user_created", &user, details, "created")?;
        act.ops.push(put(&user)?);
        if let Some(asked) = &create.idempotency {
            act.ops.push(asked.op(now, json!({ "id": user.id }))?);
        }
        Ok((Arc::new(user), Some(act)))
    }

    /// An act on a person, which that person's own channel is told of.
    fn act_on(&self, by: &By, action: &str, user: &UserRecord, details: Value, what: &str) -> Result<Act, Error> {
        let mut act = self.act(&AuditEntry::new(self.now(), by.id(), action, &user.id, details))?;
        let told = json!({ "id": user.id, "version": user.version, "what": what });
        self.telling(&mut act, "user.updated", &user.id, &told)?;
        Ok(act)
    }

    /// Writes a person's record; then every open session has what the person may do now.
    fn change<T: 'static>(
        &self,
        user: Arc<UserRecord>,
        act: Act,
        reason: Reason,
        answer: impl FnOnce(Arc<UserRecord>) -> T + 'static,
    ) -> Answer<T> {
        let write = self.write(act.ops, act.ending.clone(), reason);
        AtomicResponse::new(Box::pin(write.into_actor(self).map(move |written, registry, _| {
            written?;
            registry.users.put(Arc::clone(&user));
            registry.options.count.send_replace(registry.users.len());
            registry.accept(&act.ending, act.events);
            for live in registry.options.publish.borrow().of(&user.id) {
                live.grant.send_replace(person(&user, &live.sid));
            }
            Ok(answer(user))
        })))
    }
}
