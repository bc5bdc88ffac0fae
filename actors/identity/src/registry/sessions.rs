//! Sessions: found, listed, ended, swept.

use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, AtomicResponse, Context, Handler, MessageResult, WrapFuture};
use muster_store::{Batch, Op, Order, Record, Scan, StoreError};
use serde_json::json;

use super::actor::{Registry, Worker};
use super::messages::{EndAll, EndSession, ListSessions, Locate, Located, Reason, Tick};
use crate::By;
use crate::sessions::{SessionActor, SessionActorOptions, SessionRecord};
use crate::users::UserRecord;
use muster_core::audit::AuditEntry;
use muster_core::supervise::{ChildSpec, Handle};
use muster_core::{Error, Millis};

/// A session's actor that was not asked for so long is retired.
const IDLE: Duration = Duration::from_secs(300);
/// Records that one tick looks at.
const SWEPT: usize = 500;

impl Handler<Locate> for Registry {
    type Result = MessageResult<Locate>;

    fn handle(&mut self, Locate { sid, registry }: Locate, _: &mut Context<Self>) -> Self::Result {
        let owner = self.options.publish.borrow().get(&sid).map(|live| Arc::clone(&live.user_id));
        let Some(user) = owner.and_then(|id| self.users.get(&id).cloned()) else { return MessageResult(None) };
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
        MessageResult(Some(Located { session, user }))
    }
}

impl Handler<EndSession> for Registry {
    type Result = AtomicResponse<Self, Result<bool, Error>>;

    fn handle(&mut self, end: EndSession, _: &mut Context<Self>) -> Self::Result {
        let (user_id, sid) = match self.options.publish.borrow().get(&end.sid) {
            Some(live) => (Arc::clone(&live.user_id), Arc::clone(&live.sid)),
            None => return AtomicResponse::new(Box::pin(actix::fut::ready(Ok(false)))),
        };
        let details = json!({ "reason": end.reason.name(), "user": &*user_id, "generation": end.generation });
        self.ending(&end.by, end.reason, &user_id, &sid, vec![sid.clone()], Vec::new(), details, |_| true)
    }
}

impl Handler<EndAll> for Registry {
    type Result = AtomicResponse<Self, Result<usize, Error>>;

    fn handle(&mut self, EndAll { user_id, by }: EndAll, _: &mut Context<Self>) -> Self::Result {
        let ended = self.users.found(&user_id).and_then(|user| {
            let user = UserRecord { not_before: self.now(), ..UserRecord::clone(user) };
            let rec = user.encode()?;
            Ok((user, Op::Put { tree: UserRecord::TREE, key: user_id.as_bytes().to_vec(), rec }))
        });
        let (user, put) = match ended {
            Ok(ended) => ended,
            Err(error) => return AtomicResponse::new(Box::pin(actix::fut::ready(Err(error)))),
        };
        let sids = self.sids_of(&user_id);
        let (count, user) = (sids.len(), Arc::new(user));
        let details = json!({ "reason": Reason::Revoked.name(), "sessions": count });
        self.ending(&by, Reason::Revoked, &user_id, &user_id, sids, vec![put], details, move |registry: &mut Self| {
            registry.users.put(user);
            count
        })
    }
}

impl Handler<ListSessions> for Registry {
    type Result = MessageResult<ListSessions>;

    fn handle(&mut self, ListSessions { user_id }: ListSessions, _: &mut Context<Self>) -> Self::Result {
        let live = self.options.publish.borrow().of(&user_id);
        let read = |sid: &str| match self.options.store.get(SessionRecord::TREE, sid.as_bytes())? {
            Some(rec) => SessionRecord::decode(&rec).map(Some),
            None => Ok(None),
        };
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

    /// Ends sessions with their entry in the audit log and word to the person's channel.
    #[allow(clippy::too_many_arguments)]
    fn ending<T: Send + 'static>(
        &self,
        by: &By,
        reason: Reason,
        user_id: &str,
        resource: &str,
        sids: Vec<Arc<str>>,
        ops: Vec<Op>,
        details: serde_json::Value,
        done: impl FnOnce(&mut Self) -> T + 'static,
    ) -> AtomicResponse<Self, Result<T, Error>> {
        let (action, event) = match reason {
            Reason::RefreshReuse => ("refresh_reuse_detected", "session.refresh_reuse_detected"),
            Reason::Logout => ("logout", "session.ended"),
            _ => ("session_revoked", "session.ended"),
        };
        let told = json!({ "session_ids": sids, "reason": reason.name() });
        let act = self.act(&AuditEntry::new(self.now(), by.id(), action, resource, details)).and_then(|mut act| {
            act.ops.extend(ops);
            self.telling(&mut act, event, user_id, &told)?;
            Ok(act)
        });
        let act = match act {
            Ok(act) => act,
            Err(error) => return AtomicResponse::new(Box::pin(actix::fut::ready(Err(error)))),
        };
        let write = self.write(act.ops, sids.clone(), reason);
        AtomicResponse::new(Box::pin(write.into_actor(self).map(move |written, registry, _| {
            written?;
            registry.accept(&sids, act.events);
            Ok(done(registry))
        })))
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
        self.accept(&over, Vec::new());
        match self.sweep(now) {
            Ok(batch) if !batch.ops.is_empty() => {
                let write = self.options.store.commit(batch);
                context.wait(write.into_actor(self).map(|written, _, _| {
                    if let Err(error) = written {
                        tracing::warn!(%error, "old sessions were not deleted");
                    }
                }));
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "old sessions could not be read"),
        }
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
    fn sweep(&mut self, now: Millis) -> Result<Batch, StoreError> {
        let scan = Scan { prefix: Vec::new(), from: self.swept.take(), limit: SWEPT, order: Order::Ascending };
        let page = self.options.store.scan(SessionRecord::TREE, &scan)?;
        self.swept = page.next;
        let lifetimes = &self.options.lifetimes;
        let old = |rec| SessionRecord::decode(rec).is_ok_and(|session| now >= session.ends(lifetimes));
        let old = page.items.iter().filter(|(_, rec)| old(rec));
        Ok(old.fold(Batch::default(), |batch, (key, _)| batch.and_delete(SessionRecord::TREE, key.clone())))
    }
}
