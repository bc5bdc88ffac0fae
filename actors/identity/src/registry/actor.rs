//! The actor: what it holds, how it comes back, and how it writes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context};
use actix_rt::ArbiterHandle;
use muster_store::{Batch, Expect, Op, Order, Record, Scan, StoreError, StoreHandle};
use tokio::sync::watch;

use super::messages::{Reason, Tick};
use crate::Person;
use crate::sessions::{Directory, Lifetimes, LiveSession, SessionActor, SessionRecord};
use crate::throttle::{Rates, Throttle};
use crate::users::{UserRecord, UserState};
use muster_core::audit::AuditEntry;
use muster_core::event::{Event, Publisher};
use muster_core::supervise::{BuildError, Group, Handle};
use muster_core::{Clock, Error, Millis};

/// From one look at what is over to the next.
const TICK: Duration = Duration::from_secs(60);
/// Tries of a write that others came before.
const TRIES: usize = 8;

/// What the registry needs.
#[derive(Clone)]
pub(crate) struct RegistryOptions {
    pub store: StoreHandle,
    pub clock: Clock,
    pub lifetimes: Lifetimes,
    pub rates: Rates,
    /// `None`: nobody is told of what happens to sessions.
    pub publisher: Option<Publisher>,
    /// Where the actors of sessions live.
    pub group: Group,
    pub arbiter: ArbiterHandle,
    pub publish: watch::Sender<Arc<Directory>>,
    /// How many people there are.
    pub count: watch::Sender<usize>,
}

/// A session's own actor, and when it was last asked for.
pub(super) struct Worker {
    pub(super) handle: Handle<SessionActor>,
    pub(super) asked: Millis,
}

/// Owns people and sessions.
pub(crate) struct Registry {
    pub(super) options: RegistryOptions,
    pub(super) users: UserState,
    pub(super) throttle: Throttle,
    pub(super) workers: HashMap<String, Worker>,
    /// Where the sweep of old records goes on.
    pub(super) swept: Option<Vec<u8>>,
}

/// Reads people and sessions back from the store. Sessions that somebody watches stay what is watched.
pub(crate) async fn load(options: RegistryOptions) -> Result<Registry, BuildError> {
    let store = Arc::clone(&options.store);
    let read = move || Ok::<_, StoreError>((read_all::<UserRecord>(&store)?, read_all::<SessionRecord>(&store)?));
    let (users, sessions) = tokio::task::spawn_blocking(read).await??;
    let users = UserState::from_records(users);
    let before = Arc::clone(&options.publish.borrow());
    let now = options.clock.now();
    let mut directory = Directory::default();
    let mut living = BTreeSet::new();
    for session in sessions.iter().filter(|session| session.is_live(&options.lifetimes, now)) {
        let Some(user) =
            users.get(&session.user).filter(|user| !user.disabled && session.created_at >= user.not_before)
        else {
            continue;
        };
        let person = person(user, &session.id);
        let live = match before.get(&session.id) {
            Some(live) => {
                live.grant.send_replace(person);
                Arc::clone(live)
            }
            None => Arc::new(LiveSession::new(person, session, &options.lifetimes)),
        };
        living.insert(Arc::clone(&live.sid));
        directory.insert(live);
    }
    for gone in before.all().filter(|live| !living.contains(&live.sid)) {
        gone.revoked.cancel();
    }
    options.publish.send_replace(Arc::new(directory));
    options.count.send_replace(users.len());
    let throttle = Throttle::new(options.rates);
    Ok(Registry { options, users, throttle, workers: HashMap::new(), swept: None })
}

fn read_all<R: Record>(store: &StoreHandle) -> Result<Vec<R>, StoreError> {
    let (mut records, mut from) = (Vec::new(), None);
    loop {
        let scan = Scan { prefix: Vec::new(), from, limit: 1000, order: Order::Ascending };
        let page = store.scan(R::TREE, &scan)?;
        for (_, rec) in &page.items {
            records.push(R::decode(rec)?);
        }
        from = page.next;
        if from.is_none() {
            return Ok(records);
        }
    }
}

pub(super) fn person(user: &UserRecord, sid: &str) -> Arc<Person> {
    Arc::new(Person {
        user_id: user.id.as_str().into(),
        email: user.email.as_str().into(),
        role: user.role,
        session_id: sid.into(),
        permissions: user.permissions(),
    })
}

impl Actor for Registry {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(TICK, |registry, context| {
            let now = registry.now();
            registry.tick(Tick(now), context);
        });
    }
}

/// What is to be written with an act: its record's writes, its audit entry, its event.
#[derive(Debug, Default)]
pub(super) struct Act {
    pub(super) ops: Vec<Op>,
    pub(super) events: Vec<Event>,
    /// Sessions that end with it.
    pub(super) ending: Vec<Arc<str>>,
}

impl Registry {
    pub(super) fn now(&self) -> Millis {
        self.options.clock.now()
    }

    pub(super) fn directory(&self) -> Arc<Directory> {
        Arc::clone(&self.options.publish.borrow())
    }

    pub(super) fn sids_of(&self, user_id: &str) -> Vec<Arc<str>> {
        self.options.publish.borrow().of(user_id).iter().map(|live| Arc::clone(&live.sid)).collect()
    }

    /// An act with its entry in the audit log.
    pub(super) fn act(&self, entry: &AuditEntry) -> Result<Act, Error> {
        Ok(Act { ops: vec![entry.op()?], ..Act::default() })
    }

    /// Tells a person's own channel, where somebody listens.
    pub(super) fn telling(
        &self,
        act: &mut Act,
        name: &str,
        user_id: &str,
        data: &serde_json::Value,
    ) -> Result<(), Error> {
        if self.options.publisher.is_some() {
            let event = Event::new(name, self.now(), vec![format!("user:{user_id}")], data);
            act.ops.push(event.op()?);
            act.events.push(event);
        }
        Ok(())
    }

    /// Writes an act; resolves when all of it is durable.
    pub(super) fn write(
        &self,
        ops: Vec<Op>,
        ending: Vec<Arc<str>>,
        reason: Reason,
    ) -> impl Future<Output = Result<(), Error>> + use<> {
        let (store, now) = (Arc::clone(&self.options.store), self.now());
        async move {
            for _ in 0..TRIES {
                let mut batch = Batch { ops: ops.clone(), ..Batch::default() };
                for sid in &ending {
                    batch = and_end(&store, batch, sid, reason, now)?;
                }
                match store.commit(batch).await {
                    // A session moved on meanwhile: it ends as it is now.
                    Err(StoreError::Conflict) => {}
                    other => return Ok(other?),
                }
            }
            Err(Error::from(StoreError::Busy))
        }
    }

    /// After the act is durable: nobody is let in by the sessions that ended, and who watches them is told.
    pub(super) fn accept(&mut self, ending: &[Arc<str>], events: Vec<Event>) {
        if !ending.is_empty() {
            self.options.publish.send_modify(|directory| {
                let directory = Arc::make_mut(directory);
                ending.iter().for_each(|sid| directory.end(sid));
            });
        }
        for sid in ending {
            if let Some(worker) = self.workers.remove(&**sid) {
                worker.handle.retire();
            }
        }
        if let Some(publisher) = &self.options.publisher
            && !events.is_empty()
        {
            publisher.publish(events);
        }
    }
}

/// Adds a session's end to a batch, on condition that it is still as it was read.
fn and_end(store: &StoreHandle, batch: Batch, sid: &str, reason: Reason, now: Millis) -> Result<Batch, Error> {
    let Some(rec) = store.get(SessionRecord::TREE, sid.as_bytes())? else { return Ok(batch) };
    let session = SessionRecord::decode(&rec)?;
    if session.revoked_at.is_some() {
        return Ok(batch);
    }
    let ended = SessionRecord { revoked_at: Some(now), revoke_reason: Some(reason.name().to_owned()), ..session };
    let batch = batch.when(SessionRecord::TREE, sid.as_bytes(), Expect::Is(rec));
    Ok(batch.and_put(SessionRecord::TREE, sid.as_bytes(), ended.encode()?))
}
