//! Sessions: found, listed, ended, swept.

use std::sync::Arc;
use std::time::Duration;

use actix::{Context, Handler, MessageResult, ResponseFuture};
use muster_store::{Op, PageRequest, Record, StoreError};
use serde_json::json;

use super::actor::{Change, Registry, Worker};
use super::effects::Answer;
use super::messages::{EndAll, EndSession, ListSessions, Locate, Located, Reason, Tick};
use crate::sessions::{SessionActor, SessionActorOptions, SessionRecord};
use crate::users::UserRecord;
use muster_core::audit::AuditEntry;
use muster_core::journal::Journalled;
use muster_core::supervise::{ChildSpec, Handle};
use muster_core::{Error, Millis};

/// A session's actor that was not asked for so long is retired.
const IDLE: Duration = Duration::from_secs(300);
/// Records that one tick looks at.
const SWEPT: usize = 500;

impl Handler<Locate> for Registry {
    type Result = ResponseFuture<Result<Option<Located>, Error>>;

    fn handle(&mut self, locate: Locate, context: &mut Context<Self>) -> Self::Result {
        let located = self.locate(locate);
        self.answer(Ok(located), Answer::Located, context)
    }
}

impl Handler<EndSession> for Registry {
    type Result = ResponseFuture<Result<bool, Error>>;

    fn handle(&mut self, end: EndSession, context: &mut Context<Self>) -> Self::Result {
        let ended = self.end_session(&end);
        self.answer(ended, Answer::Ended, context)
    }
}

impl Handler<EndAll> for Registry {
    type Result = ResponseFuture<Result<usize, Error>>;

    fn handle(&mut self, end: EndAll, context: &mut Context<Self>) -> Self::Result {
        let ended = self.end_all(&end);
        self.answer(ended, Answer::EndedAll, context)
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
    fn locate(&mut self, Locate { sid, registry }: Locate) -> Option<Located> {
        let owner = self.options.publish.borrow().get(&sid).map(|live| Arc::clone(&live.user_id));
        let user = self.users.get(&owner?)?.clone();
        let now = self.now();
        let session = match self.workers.get_mut(&sid) {
            Some(worker) => {
                worker.asked = now;
                worker.handle.clone()
            }
            None => {
                let handle = self.start_session(&sid, registry);
                self.workers.insert(sid, Worker { handle: handle.clone(), asked: now });
                handle
            }
        };
        Some(Located { session, user })
    }

    /// Whether it lived.
    fn end_session(&mut self, end: &EndSession) -> Result<bool, Error> {
        let Some((sid, user_id)) = self.sessions.get(&end.sid) else { return Ok(false) };
        self.admit()?;
        let details = json!({ "reason": end.reason.name(), "user": &*user_id, "generation": end.generation });
        let entry = AuditEntry::new(self.now(), end.by.id(), action(end.reason), &sid, details);
        let change = self.ending(&entry, end.reason, &user_id, vec![Arc::clone(&sid)])?;
        self.decide(change, Vec::new());
        Ok(true)
    }

    /// How many lived.
    fn end_all(&mut self, EndAll { user_id, by }: &EndAll) -> Result<usize, Error> {
        self.admit()?;
        let now = self.now();
        let user = UserRecord { not_before: now, ..UserRecord::clone(self.users.found(user_id)?) };
        let sids = self.sessions.of(user_id);
        let count = sids.len();
        let details = json!({ "reason": Reason::Revoked.name(), "sessions": count });
        let entry = AuditEntry::new(now, by.id(), action(Reason::Revoked), user_id, details);
        let mut change = self.ending(&entry, Reason::Revoked, user_id, sids)?;
        change.ops.push(Op::Put { tree: UserRecord::TREE, key: user_id.as_bytes().to_vec(), rec: user.encode()? });
        self.users.put(Arc::new(user));
        self.decide(change, Vec::new());
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

    /// The end of sessions, with its entry in the audit log and its event on the person's channel.
    fn ending(&self, entry: &AuditEntry, reason: Reason, user: &str, sids: Vec<Arc<str>>) -> Result<Change, Error> {
        let event = match reason {
            Reason::RefreshReuse => "session.refresh_reuse_detected",
            _ => "session.ended",
        };
        let mut change = self.change(entry)?;
        self.notify(&mut change, event, user, &json!({ "session_ids": sids, "reason": reason.name() }))?;
        self.end(&mut change, sids, reason)?;
        Ok(change)
    }

    /// Retires what idles, ends what is over, deletes what nobody asks for any more.
    pub(super) fn tick(&mut self, Tick(now): Tick, context: &mut Context<Self>) {
        self.workers.retain(|_, worker| {
            let stays = now.since(worker.asked) < IDLE;
            if !stays {
                worker.handle.retire();
            }
            stays
        });
        let directory = self.directory();
        let over: Vec<_> =
            directory.all().filter(|live| now >= live.idles_out()).map(|live| live.sid.clone()).collect();
        drop(directory);
        let over: Vec<_> = over.into_iter().filter(|sid| !self.still_lives(sid, now)).collect();
        over.iter().for_each(|sid| self.sessions.end(sid));
        self.ended(&over);
        if self.admit().is_ok() {
            match self.sweep(now) {
                Ok(ops) if ops.is_empty() => {}
                Ok(ops) => {
                    self.journal().push(ops, Vec::new());
                }
                Err(error) => tracing::warn!(%error, "old sessions could not be read"),
            }
        }
        self.flush(context);
    }

    /// The record knows of a refresh that the directory was not told of.
    fn still_lives(&self, sid: &str, now: Millis) -> bool {
        let lifetimes = &self.options.lifetimes;
        let record = self.options.store.get(SessionRecord::TREE, sid.as_bytes());
        let session = record.map(|rec| rec.and_then(|rec| SessionRecord::decode(&rec).ok()));
        // A store that does not answer ends nobody's session.
        session.map_or(true, |session| session.is_some_and(|session| session.is_live(lifetimes, now)))
    }

    /// Deletes a page of records past their time; the next tick goes on behind it.
    fn sweep(&mut self, now: Millis) -> Result<Vec<Op>, StoreError> {
        let page = PageRequest::of(SWEPT).starting_at(self.swept.take());
        let mut entries = self.options.store.entries(SessionRecord::TREE, [], page);
        let lifetimes = &self.options.lifetimes;
        let mut ops = Vec::new();
        for entry in entries.by_ref().take(SWEPT) {
            let (key, rec) = entry?;
            // One that cannot be decoded stays.
            if SessionRecord::decode(&rec).is_ok_and(|session| now >= session.ends(lifetimes)) {
                ops.push(Op::Delete { tree: SessionRecord::TREE, key });
            }
        }
        self.swept = entries.resume_at();
        Ok(ops)
    }
}

/// What the audit log calls the end of a session.
fn action(reason: Reason) -> &'static str {
    match reason {
        Reason::RefreshReuse => "refresh_reuse_detected",
        Reason::Logout => "logout",
        _ => "session_revoked",
    }
}
