//! The actor that owns the geofences.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorContext as _, AsyncContext, Context, Handler, ResponseFuture};
use muster_store::{Op, PageRequest, Record, StoreError, StoreHandle};
use serde_json::{Value, json};

use super::checks::check;
use super::inbox::Inbox;
use super::messages::{Create, Created, Drain, Get, List, Remove, Update, WhoIsInside};
use super::record::{FENCES, Fence, Inside, Member, Observation, Subject};
use super::state::{Crossing, FenceState, Reason, Shaped};
use crate::journal::{Incarnations, answer, decide};
use muster_core::audit::AuditEntry;
use muster_core::event::{Event, Publisher};
use muster_core::idempotency::{Idempotency, PendingAnswers};
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::{Committed, Journal, Journalled, Reply};
use muster_core::page::Page;
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error};
use muster_identity::By;

/// Observations looked at, and subjects and events written, in one turn: requests are handled in between.
const MAX_LOOKED_AT: usize = 2_000;
const MAX_CROSSINGS: usize = 256;
const MAX_EVENTS: usize = 1_000;
/// How often the inbox is looked into without a notification: for what could not be announced, or not be written.
const TICK: Duration = Duration::from_secs(1);

/// What the actor needs.
#[derive(Clone)]
pub struct GeofenceOptions {
    pub store: StoreHandle,
    pub clock: Clock,
    pub publisher: Publisher,
}

impl std::fmt::Debug for GeofenceOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GeofenceOptions")
    }
}

/// What is done once a decision is durable.
#[derive(Debug)]
pub enum GeofenceEffect {
    /// Somebody is answered.
    Answer(Reply<()>),
    /// Subjects entered and left: these events are published. Were they not stored, the observations are judged again.
    Crossed { events: Vec<Event>, seen: Vec<Observation> },
}

impl From<Reply<()>> for GeofenceEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Answer(reply)
    }
}

/// Owns the geofences, and who is inside.
#[derive(Debug)]
pub struct GeofenceActor {
    options: GeofenceOptions,
    state: FenceState,
    journal: Journal<GeofenceEffect>,
    answers: PendingAnswers,
    inbox: Inbox,
    /// Subjects to be judged again because fences changed.
    rechecks: VecDeque<Subject>,
}

/// Reads everything back. All who were inside are checked anew: a fence may have changed just before the end.
pub(super) async fn load(
    options: GeofenceOptions,
    inbox: Inbox,
    incarnations: Incarnations,
) -> Result<GeofenceActor, BuildError> {
    let journal = incarnations.open(&options.store).await;
    let store = Arc::clone(&options.store);
    let (state, rechecks) = tokio::task::spawn_blocking(move || read_all(&store)).await??;
    Ok(GeofenceActor { options, state, journal, answers: PendingAnswers::default(), inbox, rechecks })
}

fn read_all(store: &StoreHandle) -> Result<(FenceState, VecDeque<Subject>), StoreError> {
    let (mut state, mut rechecks) = (FenceState::default(), VecDeque::new());
    for fence in store.records::<Fence>(FENCES, PageRequest::default()).values() {
        let fence = fence?;
        match check(&fence) {
            Ok(shape) => drop(state.put((Arc::new(fence), shape))),
            Err(error) => tracing::error!(geofence = fence.id, %error, "a stored geofence is not valid any more"),
        }
    }
    for member in store.records::<Member>(Member::PREFIX, PageRequest::default()).values() {
        rechecks.push_back(state.restore(member?));
    }
    Ok((state, rechecks))
}

fn put(fence: &Fence) -> Result<Op, StoreError> {
    Ok(Op::Put { tree: Fence::TREE, key: Fence::key(&fence.id), rec: fence.encode()? })
}

/// The writes of a crossing.
fn ops(crossing: &Crossing) -> Result<Vec<Op>, StoreError> {
    let (member, tree) = (&crossing.member, Member::TREE);
    let key = Member::key(&member.seen.subject);
    let member = match member.fences.is_empty() {
        true => Op::Delete { tree, key },
        false => Op::Put { tree, key, rec: member.encode()? },
    };
    std::iter::once(Ok(member)).chain(crossing.events.iter().map(Event::op)).collect()
}

impl Journalled for GeofenceActor {
    type Effects = GeofenceEffect;

    fn journal(&mut self) -> &mut Journal<GeofenceEffect> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<GeofenceEffect>, _: &mut Context<Self>) {
        self.answers.settle(committed.last);
        for effect in committed.effects {
            match effect {
                GeofenceEffect::Answer(reply) => reply.send(),
                GeofenceEffect::Crossed { events, .. } => self.options.publisher.publish(events),
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<GeofenceEffect>, error: &Error) {
        // The next incarnation judges everybody's place anew: in the store stands who was inside before.
        let mut seen: Vec<Observation> = self.state.last_seen().cloned().collect();
        for effect in effects {
            match effect {
                GeofenceEffect::Answer(reply) => reply.fail(error),
                GeofenceEffect::Crossed { seen: undurable, .. } => seen.extend(undurable),
            }
        }
        self.inbox.push_all(seen);
    }
}

impl GeofenceActor {
    fn audited(&self, by: &By, action: &str, id: &str, details: Value) -> Result<Op, StoreError> {
        AuditEntry::new(self.options.clock.now(), by.id(), action, id, details).op()
    }

    fn recheck(&mut self, subjects: BTreeSet<Subject>, context: &mut Context<Self>) {
        self.rechecks.extend(subjects);
        context.notify(Drain);
    }

    fn next(&mut self) -> Option<(Observation, Reason)> {
        while let Some(subject) = self.rechecks.pop_front() {
            if let Some(seen) = self.state.seen(&subject) {
                return Some((seen.clone(), Reason::FenceChanged));
            }
        }
        self.inbox.pop().map(|observation| (observation, Reason::Moved))
    }

    /// Judges waiting observations, within the bounds of one turn, and takes over who enters and leaves.
    fn cross(&mut self) {
        let (mut writes, mut events, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..MAX_LOOKED_AT {
            if seen.len() >= MAX_CROSSINGS || events.len() >= MAX_EVENTS {
                break;
            }
            let Some((observation, reason)) = self.next() else { break };
            if !self.state.see(&observation) {
                continue;
            }
            let Some(crossing) = self.state.judge(&observation, reason, self.options.clock.now()) else { continue };
            match ops(&crossing) {
                Ok(ops) => writes.extend(ops),
                Err(error) => {
                    let subject = &observation.subject.id;
                    tracing::error!(%subject, %error, "who entered and left cannot be stored");
                    continue;
                }
            }
            if crossing.partial {
                self.rechecks.push_back(observation.subject.clone());
            }
            self.state.take(crossing.member);
            events.extend(crossing.events);
            seen.push(observation);
        }
        if !writes.is_empty() {
            self.journal.push(writes, GeofenceEffect::Crossed { events, seen });
        }
    }

    /// Handles what waits. A store that accepts no writes leaves it waiting: the tick tries again.
    fn drain(&mut self, context: &mut Context<Self>) {
        if self.admit().is_err() {
            return;
        }
        self.cross();
        self.flush(context);
        if !self.rechecks.is_empty() || !self.inbox.is_empty() {
            context.notify(Drain);
        }
    }

    /// The first answer to the same request.
    fn replay(&self, request: Option<&Idempotency>) -> Result<Option<Created>, Error> {
        let Some(request) = request else { return Ok(None) };
        let Some(answer) = self.answers.replay(request, &self.options.store, self.options.clock.now())? else {
            return Ok(None);
        };
        let fence = serde_json::from_value(answer).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        Ok(Some(Created { fence: Arc::new(fence), replayed: true }))
    }

    fn create(&self, create: Create) -> Result<(Shaped, Vec<Op>, Option<(Idempotency, Value)>), Error> {
        let Create { new, by, idempotency } = create;
        let now = self.options.clock.now();
        let shaped = self.state.make(new, by.id(), new_id(IdKind::Geofence), now)?;
        let fence = &shaped.0;
        let mut ops = vec![put(fence)?, self.audited(&by, "geofence_created", &fence.id, json!({}))?];
        let first = idempotency.map(|request| (request, json!(**fence)));
        if let Some((request, answer)) = &first {
            ops.push(request.op(now, answer.clone())?);
        }
        Ok((shaped, ops, first))
    }

    fn update(&self, update: Update) -> Result<(Shaped, Vec<Op>), Error> {
        let Update { id, change, if_match, by } = update;
        let shaped = self.state.change(&id, change, if_match, self.options.clock.now())?;
        let details = json!({ "version": shaped.0.version });
        let ops = vec![put(&shaped.0)?, self.audited(&by, "geofence_updated", &id, details)?];
        Ok((shaped, ops))
    }

    fn remove(&self, remove: &Remove) -> Result<Vec<Op>, Error> {
        let Remove { id, if_match, by } = remove;
        let fence = self.state.get(id)?;
        if_match.check(fence.version)?;
        let audit = self.audited(by, "geofence_deleted", id, json!({ "name": fence.name }))?;
        Ok(vec![Op::Delete { tree: Fence::TREE, key: Fence::key(id) }, audit])
    }

    fn accept(&mut self, shaped: Shaped, context: &mut Context<Self>) -> Arc<Fence> {
        let fence = Arc::clone(&shaped.0);
        let concerned = self.state.put(shaped);
        self.recheck(concerned, context);
        fence
    }
}

impl Actor for GeofenceActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.notify(Drain);
        context.run_interval(TICK, |actor, context| {
            if !context.state().stopping() {
                actor.drain(context);
            }
        });
    }
}

impl Handler<Drain> for GeofenceActor {
    type Result = ();

    fn handle(&mut self, _: Drain, context: &mut Context<Self>) {
        self.drain(context);
    }
}

impl Handler<Create> for GeofenceActor {
    type Result = ResponseFuture<Result<Created, Error>>;

    fn handle(&mut self, create: Create, context: &mut Context<Self>) -> Self::Result {
        match self.replay(create.idempotency.as_ref()) {
            Ok(None) => {}
            Ok(Some(again)) => return answer(self, Ok(again), context),
            Err(refused) => return answer(self, Err(refused), context),
        }
        match self.create(create).and_then(|made| self.admit().map(|()| made)) {
            Err(refused) => answer(self, Err(refused), context),
            Ok((shaped, ops, first)) => {
                if let Some((request, first)) = first {
                    self.answers.insert(&request, first, self.journal.next_number());
                }
                let fence = self.accept(shaped, context);
                decide(self, ops, Created { fence, replayed: false }, context)
            }
        }
    }
}

impl Handler<Update> for GeofenceActor {
    type Result = ResponseFuture<Result<Arc<Fence>, Error>>;

    fn handle(&mut self, update: Update, context: &mut Context<Self>) -> Self::Result {
        match self.update(update).and_then(|changed| self.admit().map(|()| changed)) {
            Err(refused) => answer(self, Err(refused), context),
            Ok((shaped, ops)) => {
                let fence = self.accept(shaped, context);
                decide(self, ops, fence, context)
            }
        }
    }
}

impl Handler<Remove> for GeofenceActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, remove: Remove, context: &mut Context<Self>) -> Self::Result {
        match self.remove(&remove).and_then(|ops| self.admit().map(|()| ops)) {
            Err(refused) => answer(self, Err(refused), context),
            Ok(ops) => {
                let concerned = self.state.forget(&remove.id);
                self.recheck(concerned, context);
                decide(self, ops, (), context)
            }
        }
    }
}

impl Handler<Get> for GeofenceActor {
    type Result = ResponseFuture<Result<Arc<Fence>, Error>>;

    fn handle(&mut self, get: Get, context: &mut Context<Self>) -> Self::Result {
        let found = self.state.get(&get.id);
        answer(self, found, context)
    }
}

impl Handler<List> for GeofenceActor {
    type Result = ResponseFuture<Result<Page<Arc<Fence>>, Error>>;

    fn handle(&mut self, list: List, context: &mut Context<Self>) -> Self::Result {
        let page = self.state.list(&list.page);
        answer(self, Ok(page), context)
    }
}

impl Handler<WhoIsInside> for GeofenceActor {
    type Result = ResponseFuture<Result<Page<Inside>, Error>>;

    fn handle(&mut self, request: WhoIsInside, context: &mut Context<Self>) -> Self::Result {
        let page = self.state.inside(&request.id, &request.page);
        answer(self, page, context)
    }
}
