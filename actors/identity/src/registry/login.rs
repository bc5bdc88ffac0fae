//! Logging in.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};
use muster_store::{Op, Record};
use serde_json::json;

use super::actor::{Change, Registry, person};
use super::effects::{Answer, Effect};
use super::messages::{Attempt, Attempted, OpenSession, Opened, Reason};
use crate::sessions::{Family, Origin, SessionRecord};
use crate::users::UserRecord;
use muster_core::audit::AuditEntry;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::Journalled;
use muster_core::{Error, Kind, Millis};

/// Sessions of one person that may live; the eldest ends where there would be more.
const MOST_SESSIONS: usize = 64;

/// The one refusal of a login, whatever is wrong with it.
pub(crate) fn refused() -> Error {
    Error::new(Kind::Unauthenticated, "e-mail or password is wrong").coded("invalid_credentials")
}

impl Handler<Attempt> for Registry {
    type Result = ResponseFuture<Result<Attempted, Error>>;

    fn handle(&mut self, attempt: Attempt, context: &mut Context<Self>) -> Self::Result {
        let verdict = self.throttle.attempt(&attempt.account, attempt.ip, self.now());
        let user = self.users.by_email(&attempt.account).cloned();
        self.answer(Ok(Attempted { verdict, user }), Answer::Attempted, context)
    }
}

impl Handler<OpenSession> for Registry {
    type Result = ResponseFuture<Result<Opened, Error>>;

    fn handle(&mut self, open: OpenSession, context: &mut Context<Self>) -> Self::Result {
        let opened = self.open_session(open);
        self.answer(opened, Answer::Opened, context)
    }
}

impl Registry {
    fn open_session(&mut self, open: OpenSession) -> Result<Opened, Error> {
        self.admit()?;
        let account = open.account.clone();
        let (opened, change) = self.opening(open)?;
        self.users.put(Arc::clone(&opened.user));
        let effects = vec![Effect::Open { account, opened: Box::new(opened.clone()) }];
        // Those that it takes the place of are decided with it.
        self.decide(change, effects);
        self.sessions.open(opened.session.clone());
        Ok(opened)
    }

    fn opening(&self, open: OpenSession) -> Result<(Opened, Change), Error> {
        let user = self.users.get(&open.user_id).filter(|user| !user.disabled && user.password == open.checked);
        let user = user.ok_or_else(refused)?;
        let now = self.now();
        let password = open.rehashed.unwrap_or_else(|| user.password.clone());
        // A login is no change that another writer must have read: the version stays.
        let user = Arc::new(UserRecord { last_login: Some(now), password, ..UserRecord::clone(user) });
        let session = session(&user, open.origin, now)?;
        let person = person(&user, &session.id);
        let details = json!({ "session": session.id, "ip": session.ip, "bound": session.jkt.is_some() });
        let mut change = self.change(&AuditEntry::new(now, &person.user_id, "login", &user.id, details))?;
        let put = |tree, key: &str, rec| Op::Put { tree, key: key.as_bytes().to_vec(), rec };
        change.ops.push(put(UserRecord::TREE, &user.id, user.encode()?));
        change.ops.push(put(SessionRecord::TREE, &session.id, session.encode()?));
        let mut present = self.sessions.of(&user.id);
        present.truncate((present.len() + 1).saturating_sub(MOST_SESSIONS));
        self.end(&mut change, present, Reason::TooMany)?;
        Ok((Opened { session, user, person }, change))
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
