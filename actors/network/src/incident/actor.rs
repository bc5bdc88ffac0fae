//! The actor that owns incidents and alerts: their state in memory and the journal of decisions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context};
use muster_store::{Op, PageRequest, StoreError, StoreHandle};

use super::critical::{CriticalIncidents, is_critical};
use super::locations;
use super::messages::TakeSnapshot;
use super::plan::Plan;
use super::record::Incident;
use super::restrictions;
use super::settings::IncidentSettings;
use super::state::IncidentRegistry;
use super::transition::IncidentChange;
use super::write_handlers::{events, ops};
use crate::alert::AlertRecord;
use crate::geofence::{LocationObserver, Observation};
use crate::journal::Incarnations;
use muster_core::event::{ChannelRestriction, Event, Publisher};
use muster_core::guard::StandingReader;
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled, Precondition, Reply};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Millis};
use muster_feed::{Denied, StateItem};
use muster_identity::Independence;

/// Interval of the check for changes that are due by time.
const TICK: Duration = Duration::from_secs(1);

/// Dependencies and settings of [`super::Incidents`].
#[derive(Clone)]
pub struct IncidentOptions {
    /// Store of the records.
    pub store: StoreHandle,
    /// Clock of the server.
    pub clock: Clock,
    /// Publisher of the events.
    pub publisher: Publisher,
    /// Notified of the locations of incidents.
    pub location_observer: Option<Arc<dyn LocationObserver>>,
    /// Whether a second person is independent of the first.
    pub independence: Independence,
    /// Whether an extreme alert needs an approval.
    pub standing: StandingReader,
    /// What critical incidents are about, which this actor publishes.
    pub critical: CriticalIncidents,
    /// Settings.
    pub settings: IncidentSettings,
}

impl std::fmt::Debug for IncidentOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Effect of a durable decision.
#[derive(Debug)]
pub enum IncidentEffect {
    /// A caller receives its response.
    Reply(Reply<()>),
    /// A change is announced.
    IncidentChange(Announcement),
    /// A snapshot, taken at its request, is sent. If it is dropped, the caller gets `Unavailable`.
    TakeSnapshot(TakeSnapshot, Result<Vec<StateItem>, Denied>),
}

impl From<Reply<()>> for IncidentEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Reply(reply)
    }
}

/// What a change means for subscribers and geofences.
#[derive(Debug)]
pub struct Announcement {
    restrictions: Vec<ChannelRestriction>,
    moved: Vec<Observation>,
    events: Vec<Event>,
}

/// Owns incidents and alerts together: an alert and its incident change in one decision.
#[derive(Debug)]
pub struct IncidentActor {
    pub(super) options: IncidentOptions,
    /// State including undurable decisions.
    pub(super) registry: IncidentRegistry,
    pub(super) journal: Journal<IncidentEffect>,
    pub(super) responses: PendingResponses,
    /// Last undurable decision of each incident, whose stored record is older.
    undurable: HashMap<String, u64>,
}

/// Reads all records and builds the actor.
pub(super) async fn load(options: IncidentOptions, incarnations: Incarnations) -> Result<IncidentActor, BuildError> {
    let journal = incarnations.open(&options.store).await;
    let (store, settings, now) = (Arc::clone(&options.store), options.settings.clone(), options.clock.now());
    let critical = options.critical.clone();
    let registry = tokio::task::spawn_blocking(move || {
        let incidents = store.records::<Incident>("inc_", PageRequest::default()).values();
        let incidents = incidents.collect::<Result<Vec<_>, StoreError>>()?;
        let alerts = store.records::<AlertRecord>("alr_", PageRequest::default()).values();
        let mut registry = IncidentRegistry::new(settings, incidents, alerts.collect::<Result<_, StoreError>>()?);
        critical.publish(registry.all().map(|incident| &**incident));
        registry.archive(now, |_| false);
        Ok::<_, StoreError>(registry)
    });
    let registry = registry.await??;
    Ok(IncidentActor { options, registry, journal, responses: PendingResponses::default(), undurable: HashMap::new() })
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
        self.responses.settle(committed.last);
        self.undurable.retain(|_, decision| *decision > committed.last);
        for effect in committed.effects {
            match effect {
                IncidentEffect::Reply(reply) => reply.send(),
                IncidentEffect::IncidentChange(change) => self.announce(change),
                IncidentEffect::TakeSnapshot(snapshot, state) => snapshot.answer(state),
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<IncidentEffect>, error: &Error) {
        for effect in effects {
            if let IncidentEffect::Reply(reply) = effect {
                reply.fail(error);
            }
        }
    }
}

impl IncidentActor {
    pub(super) fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Applies a change and records it in the journal, provided that what it expects is stored.
    pub(super) fn record(&mut self, plan: &Plan, expect: Vec<Precondition>, ops: Vec<Op>, events: Vec<Event>) {
        let critical = plan
            .incidents
            .iter()
            .any(|changed| is_critical(&changed.after) || changed.before.as_deref().is_some_and(is_critical));
        self.registry.apply(plan);
        if critical {
            self.options.critical.publish(self.registry.all().map(|incident| &**incident));
        }
        let restrictions = plan.incidents.iter().filter_map(restrictions::restriction).collect();
        let moved = plan.incidents.iter().filter_map(locations::moved).collect();
        let effect = IncidentEffect::IncidentChange(Announcement { restrictions, moved, events });
        let decision = self.journal.push_if(expect, ops, effect);
        let id = |changed: &IncidentChange| (changed.after.id.clone(), decision);
        self.undurable.extend(plan.incidents.iter().map(id));
    }

    fn announce(&self, Announcement { restrictions, moved, events }: Announcement) {
        // Before the events, so that subscribers that may no longer see the incident do not get them.
        restrictions.into_iter().for_each(|restriction| self.options.publisher.restrict(restriction));
        if let Some(location_observer) = &self.options.location_observer {
            moved.into_iter().for_each(|place| location_observer.observe(place));
        }
        if !events.is_empty() {
            self.options.publisher.publish(events);
        }
    }

    /// Applies the changes that are due by time.
    fn tick(&mut self, context: &mut Context<Self>) {
        let (now, undurable) = (self.now(), &self.undurable);
        self.registry.archive(now, |id| undurable.contains_key(id));
        let plan = self.registry.tick(now);
        // They stay due while the store accepts no writes.
        if plan.is_empty() || self.admit().is_err() {
            return;
        }
        let events = events(&plan);
        match ops(&plan, &events) {
            Ok(ops) => self.record(&plan, Vec::new(), ops, events),
            Err(error) => tracing::error!(%error, "changes of incidents by time cannot be stored"),
        }
        self.flush(context);
    }
}

impl Actor for IncidentActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.run_interval(TICK, |actor, context| actor.tick(context));
        if let Some(location_observer) = &self.options.location_observer {
            location_observer.observe_all(self.registry.all().map(|incident| locations::of(incident)).collect());
        }
    }
}
