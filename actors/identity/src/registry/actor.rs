//! The registry actor: its state, how it is restored, and how it decides.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context};
use actix_rt::ArbiterHandle;
use muster_store::{Op, PageRequest, Record, StoreError, StoreHandle};
use tokio::sync::watch;

use super::effects::{ChangeEffects, RegistryEffect};
use super::login_log::LoginLog;
use super::messages::{EndReason, IssuedSecret};
use super::open_sessions::OpenSessions;
use crate::Person;
use crate::sessions::{Directory, Lifetimes, LiveSession, SessionActor, SessionRecord};
use crate::throttle::{KnownSources, LoginRates, LoginSource, Throttle};
use crate::users::{Accounts, UserRecord, UserState};
use muster_core::audit::AuditEntry;
use muster_core::event::{Event, Publisher};
use muster_core::guard::{Cleared, StandingReader};
use muster_core::idempotency::{PendingResponses, RecentResponses};
use muster_core::journal::{Committed, Journal, Journalled, Precondition};
use muster_core::supervise::{BuildError, Group, Handle};
use muster_core::{Clock, Error, Millis};

/// Interval of [`Registry::tick`].
const TICK: Duration = Duration::from_secs(60);

/// Options of the registry.
#[derive(Clone)]
pub(crate) struct RegistryOptions {
    pub store: StoreHandle,
    pub clock: Clock,
    pub lifetimes: Lifetimes,
    pub rates: LoginRates,
    /// Publishes events of users and sessions; `None` publishes nothing.
    pub publisher: Option<Publisher>,
    /// Group of the session actors.
    pub group: Group,
    /// Arbiter of the session actors.
    pub arbiter: ArbiterHandle,
    /// Live sessions after the durable decisions.
    pub publish: watch::Sender<Arc<Directory>>,
    /// Number of users after the durable decisions.
    pub user_count: watch::Sender<usize>,
    /// Accounts after the durable decisions.
    pub people: watch::Sender<Arc<Accounts>>,
    /// By which guarded commands are decided.
    pub standing: StandingReader,
}

/// The actor of a session.
pub(super) struct Worker {
    pub(super) handle: Handle<SessionActor>,
    /// Time of the last request for this actor.
    pub(super) used: Millis,
}

/// Owns users and sessions.
pub(crate) struct Registry {
    pub(super) options: RegistryOptions,
    journal: Journal<RegistryEffect>,
    /// Users after every decision so far, durable or not.
    pub(super) users: UserState,
    /// Live sessions after every decision so far, durable or not.
    pub(super) sessions: OpenSessions,
    /// First responses to the creation of users.
    pub(super) responses: PendingResponses,
    /// First responses to the creation of service accounts.
    pub(super) secrets: RecentResponses<IssuedSecret>,
    pub(super) throttle: Throttle,
    /// The latest login attempts.
    pub(super) logins: LoginLog,
    /// Where users have logged in from, by their sessions.
    pub(super) known: KnownSources,
    /// Running session actors, by session.
    pub(super) workers: HashMap<String, Worker>,
    /// Start of the next page of the sweep of expired records.
    pub(super) swept: Option<Vec<u8>>,
}

/// Reads users and sessions from the store. A session that is live in the published directory keeps its entry there, so
/// that its watchers continue to be notified.
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
    let mut known = KnownSources::default();
    for session in &sessions {
        let source = LoginSource::new(session.ip.as_deref().and_then(|ip| ip.parse().ok()), session.jkt.as_deref());
        known.insert(&session.user, source, session.ends(&options.lifetimes));
    }
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
    for ended in before.all().filter(|live| open.get(&live.sid).is_none()) {
        ended.revoked.cancel();
    }
    options.publish.send_replace(Arc::new(directory));
    options.user_count.send_replace(users.len());
    let mut accounts = Accounts::default();
    users.all().for_each(|user| accounts.put(Arc::clone(user)));
    options.people.send_replace(Arc::new(accounts));
    let throttle = Throttle::new(options.rates);
    Ok(Registry {
        options,
        journal,
        users,
        sessions: open,
        responses: PendingResponses::default(),
        secrets: RecentResponses::default(),
        throttle,
        logins: LoginLog::default(),
        known,
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
        context.run_interval(TICK, |registry, context| registry.tick(registry.now(), context));
    }
}

impl Journalled for Registry {
    type Effects = RegistryEffect;

    fn journal(&mut self) -> &mut Journal<RegistryEffect> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<RegistryEffect>, _: &mut Context<Self>) {
        self.responses.settle(committed.last);
        for effect in committed.effects {
            match effect {
                RegistryEffect::Apply(effects) => self.apply(*effects),
                RegistryEffect::Reply(reply) => reply.send(),
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<RegistryEffect>, error: &Error) {
        for effect in effects {
            if let RegistryEffect::Reply(reply) = effect {
                reply.fail(error);
            }
        }
    }
}

/// A decision that is being prepared: its writes and its effects.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// What must still be stored: the approval that is executed with it.
    pub(super) expect: Vec<Precondition>,
    pub(super) ops: Vec<Op>,
    pub(super) effects: ChangeEffects,
}

impl Change {
    /// Adds the execution of an approval.
    pub(super) fn permit(&mut self, cleared: Cleared) {
        let (expect, ops) = cleared.into_parts();
        self.expect.extend(expect);
        self.ops.extend(ops);
    }
}

impl Registry {
    pub(super) fn now(&self) -> Millis {
        self.options.clock.now()
    }

    pub(super) fn directory(&self) -> Arc<Directory> {
        Arc::clone(&self.options.publish.borrow())
    }

    /// Begins a change with its entry in the audit log.
    pub(super) fn change(&self, entry: &AuditEntry) -> Result<Change, Error> {
        Ok(Change { ops: vec![entry.op()?], ..Change::default() })
    }

    /// Adds an event on the user's own channel, if there is a publisher.
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
            change.effects.events.push(event);
        }
        Ok(())
    }

    /// Adds the end of sessions to a change.
    pub(super) fn end(&self, change: &mut Change, sids: Vec<Arc<str>>, reason: EndReason) -> Result<(), Error> {
        let now = self.now();
        for sid in &sids {
            let session = match self.sessions.undurable(sid) {
                Some(session) => Some(session.clone()),
                None => self.options.store.record::<SessionRecord>(sid.as_bytes())?,
            };
            // A concurrent refresh is written either before this, in which case its successor ends too, or after it and
            // then fails, as the record is not the one it expects.
            if let Some(session) = session.filter(|session| session.revoked_at.is_none()) {
                let revoke_reason = Some(reason.name().to_owned());
                let ended = SessionRecord { revoked_at: Some(now), revoke_reason, ..session };
                let key = sid.as_bytes().to_vec();
                change.ops.push(Op::Put { tree: SessionRecord::TREE, key, rec: ended.encode()? });
            }
        }
        change.effects.ended.extend(sids);
        Ok(())
    }

    /// Takes a decision: the next request depends on it. It is not handed to the store yet.
    pub(super) fn decide(&mut self, Change { expect, ops, effects }: Change) {
        effects.ended.iter().for_each(|sid| self.sessions.end(sid));
        self.journal.push_if(expect, ops, RegistryEffect::Apply(Box::new(effects)));
    }
}
