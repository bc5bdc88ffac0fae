//! Login attempts and new sessions.

use std::sync::Arc;

use actix::{Context, Handler, MessageResult, ResponseFuture};
use muster_store::{Op, Record};
use serde_json::json;

use super::actor::{Change, Registry, person};
use super::login_log::RecentLogin;
use super::messages::{
    AttemptLogin, CheckedCredential, EndReason, ListLogins, LoginAttempt, OpenSession, OpenedSession,
};
use crate::sessions::{Family, Origin, SessionRecord};
use crate::throttle::{AccountKey, Acquaintance};
use crate::users::{SecretHash, UserRecord};
use muster_core::audit::AuditEntry;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::{Journalled, respond};
use muster_core::{Error, Kind, Millis};

/// Largest number of live sessions of a user. A further login ends the oldest one.
const MAX_SESSIONS: usize = 64;

/// The error for every rejected login, whatever the reason, so that it does not reveal which accounts exist.
pub(crate) fn rejected() -> Error {
    Error::new(Kind::Unauthenticated, "e-mail or password is wrong").coded("invalid_credentials")
}

/// The error for every rejected login of a service account, whatever the reason.
pub(crate) fn secret_rejected() -> Error {
    let message = "the service account or its secret is wrong, or it has expired or been disabled";
    Error::new(Kind::Unauthenticated, message).coded("invalid_credentials")
}

/// Returns whether a service account accepts a secret now.
fn accepts(user: &UserRecord, hash: &SecretHash, now: Millis) -> bool {
    user.service.as_ref().is_some_and(|service| service.accepts(hash, now))
}

impl Handler<AttemptLogin> for Registry {
    type Result = ResponseFuture<Result<LoginAttempt, Error>>;

    fn handle(&mut self, attempt: AttemptLogin, context: &mut Context<Self>) -> Self::Result {
        let (now, source) = (self.now(), attempt.source);
        let user = attempt.account.as_deref().and_then(|name| self.users.of_login(name)).cloned();
        let acquaintance = user.as_ref().map(|user| self.known.acquaintance(&user.id, &source, now));
        let account = attempt.account.as_deref().and_then(AccountKey::of);
        let verdict = self.throttle.attempt(account, source, acquaintance.unwrap_or(Acquaintance::None), now);
        if let (Some(user), Some(ip)) = (&user, attempt.ip) {
            self.logins.attempted(&user.id, ip, now);
        }
        respond(self, Ok(LoginAttempt { verdict, user }), context)
    }
}

impl Handler<ListLogins> for Registry {
    type Result = MessageResult<ListLogins>;

    fn handle(&mut self, _: ListLogins, _: &mut Context<Self>) -> Self::Result {
        let recent: Vec<RecentLogin> = self.logins.recent(self.now());
        MessageResult(recent)
    }
}

impl Handler<OpenSession> for Registry {
    type Result = ResponseFuture<Result<OpenedSession, Error>>;

    fn handle(&mut self, open: OpenSession, context: &mut Context<Self>) -> Self::Result {
        let opened = self.open_session(open);
        respond(self, opened, context)
    }
}

impl Registry {
    fn open_session(&mut self, open: OpenSession) -> Result<OpenedSession, Error> {
        self.admit()?;
        let ip = open.origin.ip;
        let (opened, change) = self.prepare_session(open)?;
        self.logins.succeeded(&opened.user.id, ip, opened.session.user_agent.as_deref());
        self.users.put(Arc::clone(&opened.user));
        self.decide(change);
        self.sessions.open(opened.session.clone());
        Ok(opened)
    }

    /// Prepares a new session, and the end of the oldest one if the user has as many as allowed.
    fn prepare_session(&self, open: OpenSession) -> Result<(OpenedSession, Change), Error> {
        let now = self.now();
        let user = self.users.get(&open.user_id).filter(|user| !user.disabled);
        let (user, password) = match (open.credential, user) {
            (CheckedCredential::Password { checked, rehashed }, Some(user)) if user.password == checked => {
                (user, rehashed.unwrap_or(checked))
            }
            (CheckedCredential::Secret(hash), Some(user)) if accepts(user, &hash, now) => (user, user.password.clone()),
            (CheckedCredential::Secret(_), _) => return Err(secret_rejected()),
            (CheckedCredential::Password { .. }, _) => return Err(rejected()),
        };
        // A login does not conflict with other changes of the user, so the version stays.
        let user = Arc::new(UserRecord { last_login: Some(now), password, ..UserRecord::clone(user) });
        let session = session(&user, open.origin, now)?;
        let person = person(&user, &session.id);
        let details = json!({ "session": session.id, "ip": session.ip, "bound": session.jkt.is_some() });
        let mut entry = AuditEntry::new(now, &person.user_id, "login", &user.id, details);
        // A login may store the password under a newer hash.
        if self.users.get(&user.id).is_none_or(|before| before.password != user.password) {
            entry = entry.after(&user.allows());
        }
        let mut change = self.change(&entry)?;
        let put = |tree, key: &str, rec| Op::Put { tree, key: key.as_bytes().to_vec(), rec };
        change.ops.push(put(UserRecord::TREE, &user.id, user.encode()?));
        change.ops.push(put(SessionRecord::TREE, &session.id, session.encode()?));
        let mut present = self.sessions.of(&user.id);
        present.truncate((present.len() + 1).saturating_sub(MAX_SESSIONS));
        self.end(&mut change, present, EndReason::TooMany)?;
        let opened = OpenedSession { attempt: open.attempt, session, user, person };
        change.effects.opened = Some(opened.clone());
        Ok((opened, change))
    }
}

fn session(user: &UserRecord, origin: Origin, now: Millis) -> Result<SessionRecord, Error> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
    let id = new_id(IdKind::Session);
    // A session has one family of refresh tokens, named like the session.
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
        account_expires_at: user.service.as_ref().map(|service| service.expires_at),
        id,
    })
}
