//! The actor that owns the geofences.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorContext as _, AsyncContext, Context, Handler};
use muster_store::{Op, PageRequest, Record, StoreError, StoreHandle};

use super::checks::check;
use super::inbox::Inbox;
use super::messages::Drain;
use super::record::{FENCES, Fence, Member, Observation, Subject};
use super::state::{Crossing, CrossingReason, FenceState};
use crate::journal::Incarnations;
use muster_core::event::{Event, Publisher};
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled, Reply};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error};

/// Bounds of one message: observations processed, subjects and events written. Requests are handled in between.
const MAX_OBSERVATIONS: usize = 2_000;
const MAX_CROSSINGS: usize = 256;
const MAX_EVENTS: usize = 1_000;
/// Interval at which the inbox is read without a notification, for observations that could not be announced or stored.
const TICK: Duration = Duration::from_secs(1);

/// Dependencies of [`super::Geofences`].
#[derive(Clone)]
pub struct GeofenceOptions {
    /// Store of the records.
    pub store: StoreHandle,
    /// Clock of the server.
    pub clock: Clock,
    /// Publisher of the geofence events.
    pub publisher: Publisher,
}

impl std::fmt::Debug for GeofenceOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GeofenceOptions")
    }
}

/// Effect of a durable decision.
#[derive(Debug)]
pub(super) enum GeofenceEffect {
    /// A caller receives its response.
    Reply(Reply<()>),
    /// Subjects entered and left: the events are published. If they could not be stored, the observations are evaluated
    /// again.
    Crossed { events: Vec<Event>, seen: Vec<Observation> },
}

impl From<Reply<()>> for GeofenceEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Reply(reply)
    }
}

/// Owns the geofences and memberships.
#[derive(Debug)]
pub(super) struct GeofenceActor {
    pub(super) options: GeofenceOptions,
    pub(super) state: FenceState,
    pub(super) journal: Journal<GeofenceEffect>,
    pub(super) responses: PendingResponses,
    inbox: Inbox,
    /// Subjects to be evaluated again because fences changed.
    rechecks: VecDeque<Subject>,
}

/// Reads all records. All subjects inside a fence are evaluated again: a fence may have changed just before the
/// shutdown.
pub(super) async fn load(
    options: GeofenceOptions,
    inbox: Inbox,
    incarnations: Incarnations,
) -> Result<GeofenceActor, BuildError> {
    let journal = incarnations.open(&options.store).await;
    let store = Arc::clone(&options.store);
    let (state, rechecks) = tokio::task::spawn_blocking(move || read_all(&store)).await??;
    Ok(GeofenceActor { options, state, journal, responses: PendingResponses::default(), inbox, rechecks })
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

/// Returns the writes of a crossing.
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
        self.responses.settle(committed.last);
        for effect in committed.effects {
            match effect {
                GeofenceEffect::Reply(reply) => reply.send(),
                GeofenceEffect::Crossed { events, .. } => self.options.publisher.publish(events),
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<GeofenceEffect>, error: &Error) {
        // The next incarnation evaluates all locations again; the store holds the memberships from before.
        let mut seen: Vec<Observation> = self.state.last_seen().cloned().collect();
        for effect in effects {
            match effect {
                GeofenceEffect::Reply(reply) => reply.fail(error),
                GeofenceEffect::Crossed { seen: undurable, .. } => seen.extend(undurable),
            }
        }
        self.inbox.push_all(seen);
    }
}

impl GeofenceActor {
    pub(super) fn recheck(&mut self, subjects: BTreeSet<Subject>, context: &mut Context<Self>) {
        self.rechecks.extend(subjects);
        context.notify(Drain);
    }

    fn next(&mut self) -> Option<(Observation, CrossingReason)> {
        while let Some(subject) = self.rechecks.pop_front() {
            if let Some(seen) = self.state.seen(&subject) {
                return Some((seen.clone(), CrossingReason::FenceChanged));
            }
        }
        self.inbox.pop().map(|observation| (observation, CrossingReason::Moved))
    }

    /// Evaluates waiting observations within the bounds of one message and applies the crossings.
    fn cross(&mut self) {
        let (mut writes, mut events, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..MAX_OBSERVATIONS {
            if seen.len() >= MAX_CROSSINGS || events.len() >= MAX_EVENTS {
                break;
            }
            let Some((observation, reason)) = self.next() else { break };
            if !self.state.record(&observation) {
                continue;
            }
            let Some(crossing) = self.state.evaluate(&observation, reason, self.options.clock.now()) else { continue };
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
            self.state.apply(crossing.member);
            events.extend(crossing.events);
            seen.push(observation);
        }
        if !writes.is_empty() {
            self.journal.push(writes, GeofenceEffect::Crossed { events, seen });
        }
    }

    /// Processes waiting observations. If the store accepts no writes they stay queued and the tick tries again.
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
