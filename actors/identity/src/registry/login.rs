//! Logging in.

use std::sync::Arc;

use actix::{ActorFutureExt, AtomicResponse, Context, Handler, MessageResult, WrapFuture};
use muster_store::{Op, Record};
use serde_json::json;

use super::actor::{Registry, person};
use super::messages::{Attempt, Attempted, OpenSession, Opened, Reason};
use crate::sessions::{Family, LiveSession, Origin, SessionRecord};
use crate::users::UserRecord;
use muster_core::audit::AuditEntry;
use muster_core::ids::{IdKind, new_id};
use muster_core::{Error, Kind, Millis};

/// Sessions of one person that may live; the eldest ends where there would be more.
const MOST_SESSIONS: usize = 64;

/// The one refusal of a login, whatever is wrong with it.
pub(crate) fn refused() -> Error {
    Error::new(Kind::Unauthenticated, "e-mail or password is wrong").coded("invalid_credentials")
}

impl Handler<Attempt> for Registry {
    type Result = MessageResult<Attempt>;

    fn handle(&mut self, attempt: Attempt, _: &mut Context<Self>) -> Self::Result {
        let verdict = self.throttle.attempt(&attempt.account, attempt.ip, self.now());
        let user = self.users.by_email(&attempt.account).cloned();
        MessageResult(Attempted { verdict, user })
    }
}

impl Handler<OpenSession> for Registry {
    type Result = AtomicResponse<Self, Result<Opened, Error>>;

    fn handle(&mut self, open: OpenSession, _: &mut Context<Self>) -> Self::Result {
        let account = open.account.clone();
        let opened = match self.open(open) {
            Ok(opened) => opened,
            Err(error) => return AtomicResponse::new(Box::pin(actix::fut::ready(Err(error)))),
        };
        let (opened, act) = opened;
        let write = self.write(act.ops, act.ending.clone(), Reason::TooMany);
        AtomicResponse::new(Box::pin(write.into_actor(self).map(move |written, registry, _| {
            written?;
            registry.throttle.succeeded(&account);
            registry.users.put(Arc::clone(&opened.user));
            registry.accept(&act.ending, act.events);
            let live = LiveSession::new(Arc::clone(&opened.person), &opened.session, &registry.options.lifetimes);
            registry.options.publish.send_modify(|directory| Arc::make_mut(directory).insert(Arc::new(live)));
            Ok(opened)
        })))
    }
}

impl Registry {
    fn open(&self, open: OpenSession) -> Result<(Opened, super::actor::Act), Error> {
        let user = self.users.get(&open.user_id).filter(|user| !user.disabled && user.password == open.checked);
        let user = user.ok_or_else(refused)?;
        let now = self.now();
        let password = open.rehashed.unwrap_or_else(|| user.password.clone());
        // A login is no change that another writer must have read: the version stays.
        let user = Arc::new(UserRecord { last_login: Some(now), password, ..UserRecord::clone(user) });
        let session = session(&user, open.origin, now)?;
        let person = person(&user, &session.id);
        let details = json!({ "session": session.id, "ip": session.ip, "bound": session.jkt.is_some() });
        let mut act = self.act(&AuditEntry::new(now, &person.user_id, "login", &user.id, details))?;
        let put = |tree, key: &str, rec| Op::Put { tree, key: key.as_bytes().to_vec(), rec };
        act.ops.push(put(UserRecord::TREE, &user.id, user.encode()?));
        act.ops.push(put(SessionRecord::TREE, &session.id, session.encode()?));
        let present = self.sids_of(&user.id);
        let over = (present.len() + 1).saturating_sub(MOST_SESSIONS);
        act.ending = present.into_iter().take(over).collect();
        Ok((Opened { session, user, person }, act))
    }
}

fn session(user: &UserRecord, origin: Origin, now: Millis) -> Result<SessionRecord, Error> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
    let id = new_id(IdKind::Session);
    // A session has one family: its name is the session's, without the prefix.
    let fam = id.trim_start_matches("ses_").to_owned();
    Ok(SessionRecord {
        user: user.id.clone(),
        created_at: now,
        last_used: now,
        ip: origin.ip.map(|ip| ip.to_string()),
        user_agent: origin.user_agent,
        claimed: origin.claimed,
        jkt: origin.jkt,
        refresh: Family::new(fam, seed, now),
        revoked_at: None,
        revoke_reason: None,
        id,
    })
}
