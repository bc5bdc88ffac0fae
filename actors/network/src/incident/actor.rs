//! The actor that owns incidents and alerts: their state in memory and the journal of decisions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context};
use muster_store::{Op, PageRequest, StoreError, StoreHandle};

use super::act::Changed;
use super::messages::Snapshot;
use super::places;
use super::plan::Plan;
use super::record::Incident;
use super::settings::Settings;
use super::sight;
use super::state::Network;
use super::write::{events, ops};
use crate::alert::AlertRecord;
use crate::geofence::{Observation, Watcher};
use crate::journal::Incarnations;
use muster_core::event::{ChannelRestriction, Event, Publisher};
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled, Reply};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Millis};
use muster_feed::{Denied, StateItem};

/// How often changes that are due by time are looked for.
const TICK: Duration = Duration::from_secs(1);

/// What the actor needs.
#[derive(Clone)]
pub struct Options {
    pub store: StoreHandle,
    pub clock: Clock,
    pub publisher: Publisher,
    /// Receives where incidents are.
    pub watcher: Option<Arc<dyn Watcher>>,
    pub settings: Settings,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What is done once a decision is durable.
#[derive(Debug)]
pub enum IncidentEffect {
    /// Somebody is answered.
    Answer(Reply<()>),
    /// A change is announced.
    Changed(Announcement),
    /// The state of a channel is sent, as it was when it was asked for. Dropped, it is answered as unavailable.
    State(Snapshot, Result<Vec<StateItem>, Denied>),
}

impl From<Reply<()>> for IncidentEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Answer(reply)
    }
}

/// What a change means for others.
#[derive(Debug)]
pub struct Announcement {
    reviews: Vec<ChannelRestriction>,
    moved: Vec<Observation>,
    events: Vec<Event>,
}

/// Owns incidents and alerts together: an alert and its incident change in one decision.
#[derive(Debug)]
pub struct IncidentActor {
    pub(super) options: Options,
    /// Everything that was decided, durable or not.
    pub(super) network: Network,
    pub(super) journal: Journal<IncidentEffect>,
    pub(super) answers: PendingResponses,
    /// The last undurable decision of an incident: what the store has of it is older.
    undurable: HashMap<String, u64>,
}

/// Reads everything back.
pub(super) async fn load(options: Options, incarnations: Incarnations) -> Result<IncidentActor, BuildError> {
    let journal = incarnations.open(&options.store).await;
    let (store, settings, now) = (Arc::clone(&options.store), options.settings.clone(), options.clock.now());
    let network = tokio::task::spawn_blocking(move || {
        let incidents = store.records::<Incident>("inc_", PageRequest::default()).values();
        let incidents = incidents.collect::<Result<Vec<_>, StoreError>>()?;
        let alerts = store.records::<AlertRecord>("alr_", PageRequest::default()).values();
        let mut network = Network::new(settings, incidents, alerts.collect::<Result<_, StoreError>>()?);
        network.archive(now, |_| false);
        Ok::<_, StoreError>(network)
    });
    let network = network.await??;
    Ok(IncidentActor { options, network, journal, answers: PendingResponses::default(), undurable: HashMap::new() })
}

impl Journalled for IncidentActor {
    type Effects = IncidentEffect;

    fn journal(&mut self) -> &mut Journal<IncidentEffect> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<IncidentEffect>, _: &mut Context<Self>) {
        self.answers.settle(committed.last);
        self.undurable.retain(|_, decision| *decision > committed.last);
        for effect in committed.effects {
            match effect {
                IncidentEffect::Answer(reply) => reply.send(),
                IncidentEffect::Changed(change) => self.announce(change),
                IncidentEffect::State(snapshot, state) => snapshot.answer(state),
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<IncidentEffect>, error: &Error) {
        for effect in effects {
            if let IncidentEffect::Answer(reply) = effect {
                reply.fail(error);
            }
        }
    }
}

impl IncidentActor {
    pub(super) fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Takes a change over and records it in the journal.
    pub(super) fn take(&mut self, plan: &Plan, ops: Vec<Op>, events: Vec<Event>) {
        self.network.take(plan);
        let reviews = plan.incidents.iter().filter_map(sight::review).collect();
        let moved = plan.incidents.iter().filter_map(places::moved).collect();
        let decision = self.journal.push(ops, IncidentEffect::Changed(Announcement { reviews, moved, events }));
        let id = |changed: &Changed| (changed.after.id.clone(), decision);
        self.undurable.extend(plan.incidents.iter().map(id));
    }

    fn announce(&self, Announcement { reviews, moved, events }: Announcement) {
        // Before the events: who may no longer see the incident does not get what comes then.
        reviews.into_iter().for_each(|review| self.options.publisher.restrict(review));
        if let Some(watcher) = &self.options.watcher {
            moved.into_iter().for_each(|place| watcher.observe(place));
        }
        if !events.is_empty() {
            self.options.publisher.publish(events);
        }
    }

    /// Makes the changes that are due by time.
    fn tick(&mut self, context: &mut Context<Self>) {
        let (now, undurable) = (self.now(), &self.undurable);
        self.network.archive(now, |id| undurable.contains_key(id));
        let plan = self.network.tick(now);
        // While the store accepts no writes they stay due.
        if plan.is_empty() || self.admit().is_err() {
            return;
        }
        let events = events(&plan);
        match ops(&plan, &events) {
            Ok(ops) => self.take(&plan, ops, events),
            Err(error) => tracing::error!(%error, "changes of incidents by time cannot be stored"),
        }
        self.flush(context);
    }
}

impl Actor for IncidentActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.run_interval(TICK, |actor, context| actor.tick(context));
        if let Some(watcher) = &self.options.watcher {
            watcher.observe_all(self.network.all().map(|incident| places::of(incident)).collect());
        }
    }
}
