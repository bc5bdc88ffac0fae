//! Sessions: located, listed, ended and, once expired, deleted.

use std::sync::Arc;
use std::time::Duration;

use actix::{Context, Handler, MessageResult, ResponseFuture};
use muster_store::{Op, PageRequest, Record, StoreError};
use serde_json::json;

use super::actor::{Change, Registry, Worker};
use super::effects::RegistryEffect;
use super::messages::{EndReason, EndSession, EndSessions, ListSessions, LocateSession, LocatedSession};
use crate::sessions::{SessionActor, SessionActorOptions, SessionRecord};
use crate::users::UserRecord;
use muster_core::audit::AuditEntry;
use muster_core::journal::{Journalled, respond};
use muster_core::supervise::{ChildSpec, Handle};
use muster_core::{Error, Millis};

/// Time without use after which a session actor is stopped.
const IDLE: Duration = Duration::from_secs(300);
/// Records that one tick reads for deletion.
const SWEEP_PAGE: usize = 500;

impl Handler<LocateSession> for Registry {
    type Result = ResponseFuture<Result<Option<LocatedSession>, Error>>;

    fn handle(&mut self, locate: LocateSession, context: &mut Context<Self>) -> Self::Result {
        let located = self.locate(locate);
        respond(self, Ok(located), context)
    }
}

impl Handler<EndSession> for Registry {
    type Result = ResponseFuture<Result<bool, Error>>;

    fn handle(&mut self, end: EndSession, context: &mut Context<Self>) -> Self::Result {
        let ended = self.end_session(&end);
        respond(self, ended, context)
    }
}

impl Handler<EndSessions> for Registry {
    type Result = ResponseFuture<Result<usize, Error>>;

    fn handle(&mut self, end: EndSessions, context: &mut Context<Self>) -> Self::Result {
        let ended = self.end_sessions(&end);
        respond(self, ended, context)
    }
}

impl Handler<ListSessions> for Registry {
    type Result = MessageResult<ListSessions>;

    fn handle(&mut self, ListSessions { user_id }: ListSessions, _: &mut Context<Self>) -> Self::Result {
        let live = self.options.publish.borrow().of(&user_id);
        let read = |sid: &str| self.options.store.record::<SessionRecord>(sid.as_bytes());
        let mut found = Vec::with_capacity(live.len());
        for live in live.iter().rev() {
            match read(&live.sid) {
                Ok(Some(session)) => {
                    let last_used = session.last_used.max(live.used());
                    found.push(SessionRecord { last_used, ..session });
                }
                Ok(None) => {}
                Err(error) => return MessageResult(Err(error.into())),
            }
        }
        MessageResult(Ok(found))
    }
}

impl Registry {
    fn locate(&mut self, LocateSession { sid, registry }: LocateSession) -> Option<LocatedSession> {
        let owner = self.options.publish.borrow().get(&sid).map(|live| Arc::clone(&live.user_id));
        let user = self.users.get(&owner?)?.clone();
        let now = self.now();
        let session = match self.workers.get_mut(&sid) {
            Some(worker) => {
                worker.used = now;
                worker.handle.clone()
            }
            None => {
                let handle = self.start_session(&sid, registry);
                self.workers.insert(sid, Worker { handle: handle.clone(), used: now });
                handle
            }
        };
        Some(LocatedSession { session, user })
    }

    /// Ends a session; returns whether it was live.
    fn end_session(&mut self, end: &EndSession) -> Result<bool, Error> {
        let Some((sid, user_id)) = self.sessions.get(&end.sid) else { return Ok(false) };
        self.admit()?;
        let details = json!({ "reason": end.reason.name(), "user": &*user_id, "generation": end.generation });
        let entry = AuditEntry::new(self.now(), end.by.id(), action(end.reason), &sid, details);
        let change = self.change_ending(&entry, end.reason, &user_id, vec![Arc::clone(&sid)])?;
        self.decide(change);
        Ok(true)
    }

    /// Ends all sessions of a user; returns how many were live.
    fn end_sessions(&mut self, EndSessions { user_id, by }: &EndSessions) -> Result<usize, Error> {
        self.admit()?;
        let now = self.now();
        let user = UserRecord { not_before: now, ..UserRecord::clone(self.users.found(user_id)?) };
        let sids = self.sessions.of(user_id);
        let count = sids.len();
        let details = json!({ "reason": EndReason::Revoked.name(), "sessions": count });
        let entry = AuditEntry::new(now, by.id(), action(EndReason::Revoked), user_id, details);
        let mut change = self.change_ending(&entry, EndReason::Revoked, user_id, sids)?;
        change.ops.push(Op::Put { tree: UserRecord::TREE, key: user_id.as_bytes().to_vec(), rec: user.encode()? });
        self.users.put(Arc::new(user));
        self.decide(change);
        Ok(count)
    }

    fn start_session(&self, sid: &str, registry: Handle<Self>) -> Handle<SessionActor> {
        let options = SessionActorOptions {
            sid: sid.to_owned(),
            store: Arc::clone(&self.options.store),
            clock: self.options.clock.clone(),
            lifetimes: self.options.lifetimes,
            registry,
        };
        self.options.group.start(ChildSpec::new(sid, self.options.arbiter.clone(), move |_| {
            let options = options.clone();
            async move { Ok(SessionActor::new(options)) }
        }))
    }

    /// Prepares the end of sessions, with its audit entry and an event on the user's own channel.
    fn change_ending(
        &self,
        entry: &AuditEntry,
        reason: EndReason,
        user: &str,
        sids: Vec<Arc<str>>,
    ) -> Result<Change, Error> {
        let event = match reason {
            EndReason::RefreshReuse => "session.refresh_reuse_detected",
            _ => "session.ended",
        };
        let mut change = self.change(entry)?;
        self.notify(&mut change, event, user, &json!({ "session_ids": sids, "reason": reason.name() }))?;
        self.end(&mut change, sids, reason)?;
        Ok(change)
    }

    /// Stops idle session actors, removes expired sessions from the directory and deletes expired records.
    pub(super) fn tick(&mut self, now: Millis, context: &mut Context<Self>) {
        self.workers.retain(|_, worker| {
            let in_use = now.since(worker.used) < IDLE;
            if !in_use {
                worker.handle.retire();
            }
            in_use
        });
        let directory = self.directory();
        let expired = directory.all().filter(|live| now >= live.idles_out() && !self.is_live(&live.sid, now));
        let expired: Vec<_> = expired.map(|live| Arc::clone(&live.sid)).collect();
        drop(directory);
        expired.iter().for_each(|sid| self.sessions.end(sid));
        self.remove_sessions(&expired);
        if self.admit().is_ok() {
            match self.sweep(now) {
                Ok(ops) if ops.is_empty() => {}
                Ok(ops) => {
                    self.journal().push(ops, RegistryEffect::Apply(Box::default()));
                }
                Err(error) => tracing::warn!(%error, "expired sessions could not be read"),
            }
        }
        self.flush(context);
    }

    /// Returns whether a session is live by its record, which may contain a refresh that the directory does not.
    fn is_live(&self, sid: &str, now: Millis) -> bool {
        let lifetimes = &self.options.lifetimes;
        let record = self.options.store.get(SessionRecord::TREE, sid.as_bytes());
        let session = record.map(|rec| rec.and_then(|rec| SessionRecord::decode(&rec).ok()));
        // A session is not ended because the store cannot be read.
        session.map_or(true, |session| session.is_some_and(|session| session.is_live(lifetimes, now)))
    }

    /// Returns the writes that delete the expired records of one page; the next call continues after it.
    fn sweep(&mut self, now: Millis) -> Result<Vec<Op>, StoreError> {
        let page = PageRequest::of(SWEEP_PAGE).starting_at(self.swept.take());
        let mut entries = self.options.store.entries(SessionRecord::TREE, [], page);
        let lifetimes = &self.options.lifetimes;
        let mut ops = Vec::new();
        for entry in entries.by_ref().take(SWEEP_PAGE) {
            let (key, rec) = entry?;
            // A record that cannot be decoded stays.
            if SessionRecord::decode(&rec).is_ok_and(|session| now >= session.ends(lifetimes)) {
                ops.push(Op::Delete { tree: SessionRecord::TREE, key });
            }
        }
        self.swept = entries.resume_at();
        Ok(ops)
    }
}

/// Returns the name of the end of a session in the audit log.
fn action(reason: EndReason) -> &'static str {
    match reason {
        EndReason::RefreshReuse => "refresh_reuse_detected",
        EndReason::Logout => "logout",
        _ => "session_revoked",
    }
}
