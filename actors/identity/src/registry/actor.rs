//! The actor: what it holds, how it comes back, and how it writes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, ResponseFuture};
use actix_rt::ArbiterHandle;
use futures::future::ready;
use muster_store::{Op, PageRequest, Record, StoreError, StoreHandle};
use tokio::sync::watch;

use super::effects::{Answer, Effect};
use super::messages::{Reason, Tick};
use super::open::OpenSessions;
use crate::Person;
use crate::sessions::{Directory, Lifetimes, LiveSession, SessionActor, SessionRecord};
use crate::throttle::{Rates, Throttle};
use crate::users::{UserRecord, UserState};
use muster_core::audit::AuditEntry;
use muster_core::event::{Event, Publisher};
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled, Reply};
use muster_core::supervise::{BuildError, Group, Handle};
use muster_core::{Clock, Error, Kind, Millis};

/// From one look at what is over to the next.
const TICK: Duration = Duration::from_secs(60);

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
    journal: Journal<Vec<Effect>>,
    /// People as they are decided.
    pub(super) users: UserState,
    /// Sessions as they are decided. The directory has them as they are durable.
    pub(super) sessions: OpenSessions,
    /// First answers that are not durable yet.
    pub(super) answers: PendingResponses,
    pub(super) throttle: Throttle,
    pub(super) workers: HashMap<String, Worker>,
    /// Where the sweep of old records goes on.
    pub(super) swept: Option<Vec<u8>>,
}

/// Reads people and sessions back from the store. Sessions that somebody watches stay what is watched.
pub(crate) async fn load(options: RegistryOptions) -> Result<Registry, BuildError> {
    let journal = Journal::open(&options.store).await?;
    let store = Arc::clone(&options.store);
    let read = move || Ok::<_, StoreError>((read_all::<UserRecord>(&store)?, read_all::<SessionRecord>(&store)?));
    let (users, sessions) = tokio::task::spawn_blocking(read).await??;
    let users = UserState::from_records(users);
    let before = Arc::clone(&options.publish.borrow());
    let now = options.clock.now();
    let mut directory = Directory::default();
    let mut open = OpenSessions::default();
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
        open.insert(Arc::clone(&live.sid), Arc::clone(&live.user_id));
        directory.insert(live);
    }
    for gone in before.all().filter(|live| open.get(&live.sid).is_none()) {
        gone.revoked.cancel();
    }
    options.publish.send_replace(Arc::new(directory));
    options.count.send_replace(users.len());
    let throttle = Throttle::new(options.rates);
    Ok(Registry {
        options,
        journal,
        users,
        sessions: open,
        answers: PendingResponses::default(),
        throttle,
        workers: HashMap::new(),
        swept: None,
    })
}

fn read_all<R: Record>(store: &StoreHandle) -> Result<Vec<R>, StoreError> {
    store.records::<R>([], PageRequest::default()).values().collect()
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

impl Journalled for Registry {
    type Effects = Vec<Effect>;

    fn journal(&mut self) -> &mut Journal<Vec<Effect>> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<Vec<Effect>>, _: &mut Context<Self>) {
        self.answers.settle(committed.last);
        committed.effects.into_iter().flatten().for_each(|effect| self.carry_out(effect));
    }

    fn on_failed(&mut self, effects: Vec<Vec<Effect>>, error: &Error) {
        for effect in effects.into_iter().flatten() {
            if let Effect::Answer(answer) = effect {
                answer.fail(error);
            }
        }
    }
}

/// A decision in the making: its writes, the events that it publishes, the sessions that it ends.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) ops: Vec<Op>,
    pub(super) events: Vec<Event>,
    pub(super) ending: Vec<Arc<str>>,
}

impl Registry {
    pub(super) fn now(&self) -> Millis {
        self.options.clock.now()
    }

    pub(super) fn directory(&self) -> Arc<Directory> {
        Arc::clone(&self.options.publish.borrow())
    }

    /// A change with its entry in the audit log.
    pub(super) fn change(&self, entry: &AuditEntry) -> Result<Change, Error> {
        Ok(Change { ops: vec![entry.op()?], ..Change::default() })
    }

    /// Adds an event on a person's own channel, where somebody listens.
    pub(super) fn notify(
        &self,
        change: &mut Change,
        name: &str,
        user_id: &str,
        data: &serde_json::Value,
    ) -> Result<(), Error> {
        if self.options.publisher.is_some() {
            let event = Event::new(name, self.now(), vec![format!("user:{user_id}")], data);
            change.ops.push(event.op()?);
            change.events.push(event);
        }
        Ok(())
    }

    /// Adds the end of sessions to a change.
    pub(super) fn end(&self, change: &mut Change, sids: Vec<Arc<str>>, reason: Reason) -> Result<(), Error> {
        let now = self.now();
        for sid in &sids {
            let session = match self.sessions.undurable(sid) {
                Some(session) => Some(session.clone()),
                None => self.options.store.record::<SessionRecord>(sid.as_bytes())?,
            };
            // A refresh that is being written is either before this, and then its successor ends too, or finds another
            // record than it expects.
            if let Some(session) = session.filter(|session| session.revoked_at.is_none()) {
                let revoke_reason = Some(reason.name().to_owned());
                let ended = SessionRecord { revoked_at: Some(now), revoke_reason, ..session };
                let key = sid.as_bytes().to_vec();
                change.ops.push(Op::Put { tree: SessionRecord::TREE, key, rec: ended.encode()? });
            }
        }
        change.ending.extend(sids);
        Ok(())
    }

    /// Decides: from now on this is what the next request finds.
    pub(super) fn decide(&mut self, change: Change, effects: Vec<Effect>) {
        let Change { ops, events, ending } = change;
        ending.iter().for_each(|sid| self.sessions.end(sid));
        let first = [Effect::End(ending), Effect::Publish(events)];
        self.journal.push(ops, first.into_iter().chain(effects).collect());
    }

    /// Answers once everything that was decided so far is durable.
    pub(super) fn answer<T: 'static>(
        &mut self,
        value: Result<T, Error>,
        answer: fn(Reply<T>) -> Answer,
        context: &mut Context<Self>,
    ) -> ResponseFuture<Result<T, Error>> {
        // What cannot be stored is refused at once; any other refusal may rest on what is not durable yet.
        if value.as_ref().is_err_and(|refused| refused.kind == Kind::Unavailable) {
            return Box::pin(ready(value));
        }
        let (reply, answered) = Reply::of(value);
        self.journal.push(Vec::new(), vec![Effect::Answer(answer(reply))]);
        self.flush(context);
        Box::pin(answered)
    }
}
