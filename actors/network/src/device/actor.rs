//! The actor that owns the devices.
//!
//! A change is decided at once, on top of earlier decisions, and applied once it is durable: one sync serves all
//! devices that come online meanwhile. A heartbeat that changes nothing else is applied at once and stored later,
//! together with others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context};
use muster_store::{Batch, Op, Record, StoreError, StoreHandle};
use serde_json::value::to_raw_value;
use tokio::sync::{broadcast, oneshot, watch};

use super::credential_changes::CredentialChanges;
use super::directory::{BadSignatureQueue, Credential, Directory};
use super::entry::DeviceEntry;
use super::heartbeat::health_summary;
use super::messages::DeviceChange;
use super::options::DeviceRules;
use super::pending::PendingChanges;
use super::ports::ReceivedHeartbeat;
use super::queries;
use super::record::{Device, Status};
use super::state::{Fleet, Readings};
use super::telemetry::Telemetry;
use super::transaction::{DeviceTransaction, StagedChanges, no_device};
use crate::geofence::{LocationObserver, Observation, SubjectKind};
use crate::journal::Incarnations;
use muster_core::event::{LatestValue, Publisher};
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled, Reply};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Millis};

const TICK: Duration = Duration::from_secs(1);

/// Dependencies that every incarnation of the actor receives.
#[derive(Clone)]
pub(super) struct DeviceResources {
    pub(super) store: StoreHandle,
    pub(super) clock: Clock,
    pub(super) publisher: Publisher,
    pub(super) rules: DeviceRules,
    pub(super) directory: watch::Sender<Arc<Directory>>,
    pub(super) changes: Arc<CredentialChanges>,
    pub(super) heartbeats: broadcast::Sender<ReceivedHeartbeat>,
    pub(super) bad_signatures: Arc<BadSignatureQueue>,
    pub(super) location_observer: Option<Arc<dyn LocationObserver>>,
    pub(super) incarnations: Incarnations,
}

/// Effect of a durable decision.
#[derive(Debug)]
pub(super) enum DeviceEffect {
    /// A caller receives its response.
    Reply(Reply<()>),
    /// Devices changed: the changes are applied, announced and published.
    Changed(Box<StagedChanges>),
    /// The readings of a device were stored.
    Saved(Arc<str>),
}

impl From<Reply<()>> for DeviceEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Reply(reply)
    }
}

/// Owns the devices.
pub(super) struct DeviceActor {
    pub(super) resources: DeviceResources,
    /// Durable state, and heartbeats that were applied without a durable change.
    pub(super) fleet: Fleet,
    pub(super) pending: PendingChanges,
    pub(super) journal: Journal<DeviceEffect>,
    responses: PendingResponses,
    /// Devices that wait for a command. Of several calls of one device only the last waits.
    pub(super) waiting: HashMap<Arc<str>, oneshot::Sender<()>>,
}

impl std::fmt::Debug for DeviceActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceActor").field("devices", &self.fleet.len()).finish_non_exhaustive()
    }
}

impl Journalled for DeviceActor {
    type Effects = DeviceEffect;

    fn journal(&mut self) -> &mut Journal<DeviceEffect> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.resources.store
    }

    /// Applies what is durable, announces it and sends the responses, all within one message.
    fn on_committed(&mut self, committed: Committed<DeviceEffect>, _: &mut Context<Self>) {
        self.responses.settle(committed.last);
        self.pending.settle(committed.last);
        let (mut staged, mut replies) = (StagedChanges::default(), Vec::new());
        for effect in committed.effects {
            match effect {
                DeviceEffect::Reply(reply) => replies.push(reply),
                DeviceEffect::Changed(next) => staged.append(*next),
                DeviceEffect::Saved(_) => {}
            }
        }
        self.take(staged);
        replies.into_iter().for_each(Reply::send);
    }

    fn on_failed(&mut self, effects: Vec<DeviceEffect>, error: &Error) {
        let now = self.now();
        for effect in effects {
            match effect {
                DeviceEffect::Reply(reply) => reply.fail(error),
                DeviceEffect::Changed(_) => {}
                // They are stored when the actor stops, if the store accepts writes by then.
                DeviceEffect::Saved(device) => {
                    if let Some(readings) = self.fleet.readings.get_mut(&device) {
                        readings.save_at = Some(now);
                    }
                }
            }
        }
    }
}

impl DeviceActor {
    /// Reads all records and builds the actor.
    pub(super) async fn load(resources: DeviceResources) -> Result<Self, BuildError> {
        let journal = resources.incarnations.open(&resources.store).await;
        let (store, up, rules) = (Arc::clone(&resources.store), resources.clock.now(), resources.rules.clone());
        let read = tokio::task::spawn_blocking(move || {
            let all = queries::load_all(&store)?;
            let fleet = Fleet::read_back(all.entries, all.open, up, &rules);
            let credentials =
                fleet.iter().filter_map(|entry| Some((Arc::clone(&entry.device.id), Arc::new(Credential::of(entry)?))));
            let directory: Directory = credentials.collect();
            Ok::<_, StoreError>((fleet, directory))
        });
        let (fleet, directory) = read.await??;
        resources.directory.send_replace(Arc::new(directory));
        resources.changes.notify_all();
        let (pending, responses, waiting) = (PendingChanges::default(), PendingResponses::default(), HashMap::new());
        Ok(Self { resources, fleet, pending, journal, responses, waiting })
    }

    pub(super) fn now(&self) -> Millis {
        self.resources.clock.now()
    }

    /// Decides a change and adds it to the journal, to be flushed.
    ///
    /// # Errors
    /// The change is rejected, or the store accepts no writes.
    pub(super) fn decide<A: DeviceChange>(&mut self, act: A) -> Result<A::Output, Error> {
        let DeviceResources { store, rules, clock, .. } = &self.resources;
        let Self { fleet, pending, responses, .. } = &*self;
        let mut transaction = DeviceTransaction {
            fleet,
            pending,
            responses,
            store,
            rules,
            now: clock.now(),
            staged: StagedChanges::default(),
        };
        let decided = act.apply(&mut transaction);
        let mut staged = transaction.staged;
        if !staged.ops.is_empty() {
            self.admit()?;
        }
        if !staged.is_empty() {
            let decision = self.journal.next_number();
            if let Some((request, answer)) = staged.answer.take() {
                self.responses.insert(&request, answer, decision);
            }
            self.pending.take(decision, &staged, &self.fleet);
            let ops = std::mem::take(&mut staged.ops);
            self.journal.push(ops, DeviceEffect::Changed(Box::new(staged)));
        }
        decided
    }

    /// Applies a durable change and announces it.
    fn take(&mut self, mut staged: StagedChanges) {
        let changed = self.fleet.take(&mut staged);
        if !changed.credentials.is_empty() {
            let fleet = &mut self.fleet;
            self.resources.directory.send_modify(|directory| {
                let directory = Arc::make_mut(directory);
                for id in &changed.credentials {
                    match fleet.entry(id).and_then(Credential::of) {
                        Some(credential) => drop(directory.insert(Arc::clone(id), Arc::new(credential))),
                        None => {
                            directory.remove(id);
                            fleet.readings.remove(id);
                        }
                    }
                }
            });
            changed.credentials.iter().for_each(|id| self.resources.changes.notify(id));
        }
        if !staged.events.is_empty() {
            self.resources.publisher.publish(staged.events);
        }
        for heartbeat in staged.heartbeats {
            if let Some(entry) = self.fleet.entry(&heartbeat.device) {
                self.latest(&heartbeat.device, "health", heartbeat.at, &health_summary(&entry.device));
            }
            self.broadcast_heartbeat(heartbeat);
        }
        for (id, place) in &staged.moved {
            self.observed(id, *place);
        }
        for id in changed.wake {
            if let Some(waiter) = self.waiting.remove(&id) {
                // A caller that no longer waits sends a new request.
                let _ = waiter.send(());
            }
        }
    }

    /// Reports the location of a device to the geofences.
    pub(super) fn observed(&self, id: &Arc<str>, place: Option<muster_geo::Point>) {
        let Some(location_observer) = &self.resources.location_observer else { return };
        let tags = self.fleet.entry(id).map(|entry| entry.device.tags.as_slice());
        let observation = Observation::of(SubjectKind::Device, id, place, self.now());
        location_observer.observe(observation.tagged(tags.unwrap_or_default()));
    }

    pub(super) fn broadcast_heartbeat(&self, heartbeat: ReceivedHeartbeat) {
        if self.resources.heartbeats.receiver_count() > 0 {
            // Sending fails only without a receiver.
            let _ = self.resources.heartbeats.send(heartbeat);
        }
    }

    pub(super) fn latest(&self, device: &str, key: &str, at: Millis, data: &impl serde::Serialize) {
        let Ok(data) = to_raw_value(data) else { return };
        let (channel, name) = (format!("devices:{device}:telemetry"), "device.telemetry".to_owned());
        self.resources.publisher.publish_latest(LatestValue { channel, name, at, key: key.to_owned(), data });
    }

    /// Returns the readings of a device, read from the store if they are not in memory.
    pub(super) fn readings(&mut self, device: &Arc<str>) -> Result<&mut Telemetry, Error> {
        if !self.fleet.readings.contains_key(device) {
            let telemetry = queries::telemetry(&self.resources.store, device)?;
            self.fleet.readings.insert(Arc::clone(device), Readings { telemetry, save_at: None });
        }
        self.fleet.readings.get_mut(device).map(|readings| &mut readings.telemetry).ok_or_else(|| no_device(device))
    }

    /// Queues the writes that heartbeats and readings have deferred. A device with an undurable decision is skipped:
    /// whether the store has that decision is unknown, and it is newer.
    fn queue_unwritten(&self) -> Result<(), StoreError> {
        let unwritten =
            |entry: &&DeviceEntry| entry.runtime.save_at.is_some() && !self.pending.concerns(&entry.device.id);
        let entries = self.fleet.iter().filter(unwritten);
        let entries = entries.map(|entry| (entry.device.id.as_bytes().to_vec(), DeviceEntry::TREE, entry.encode()));
        let readings = self.fleet.readings.iter().filter(|(_, readings)| readings.save_at.is_some());
        let readings =
            readings.map(|(id, readings)| (Telemetry::key(id), Telemetry::TREE, readings.telemetry.encode()));
        let mut ops = Vec::new();
        for (key, tree, rec) in entries.chain(readings) {
            ops.push(Op::Put { tree, key, rec: rec? });
            if ops.len() == 500 {
                // A commit is queued by the call; dropping its future does not undo it.
                drop(self.resources.store.commit(Batch { ops: std::mem::take(&mut ops), ..Batch::default() }));
            }
        }
        if !ops.is_empty() {
            drop(self.resources.store.commit(Batch { ops, ..Batch::default() }));
        }
        Ok(())
    }
}

/// Returns the location of a device at start; a retired device has none.
fn place(device: &Device, now: Millis) -> Observation {
    let point = device.location.filter(|_| device.status != Status::Retired);
    Observation::of(SubjectKind::Device, &device.id, point, now).tagged(&device.tags)
}

impl Actor for DeviceActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.run_interval(TICK, Self::tick);
        context.run_interval(TICK * 60, |actor, _| actor.waiting.retain(|_, waiter| !waiter.is_closed()));
        if let Some(location_observer) = &self.resources.location_observer {
            let now = self.now();
            location_observer.observe_all(self.fleet.newest().map(|entry| place(&entry.device, now)).collect());
        }
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        if let Err(error) = self.queue_unwritten() {
            tracing::warn!(%error, "the last heartbeats were not all written");
        }
    }
}
