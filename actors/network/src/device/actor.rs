//! The actor that owns the devices.
//!
//! A change is decided at once, on what was decided before it, and taken over once it is durable: so one sync serves as
//! many devices as come online meanwhile. A heartbeat that changes nothing else is taken over at once and written later,
//! with others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context};
use muster_store::{Batch, Op, Record, StoreError, StoreHandle};
use serde_json::value::to_raw_value;
use tokio::sync::{broadcast, oneshot, watch};

use super::beat::vitals;
use super::changes::Changes;
use super::directory::{Credential, Directory, Noted};
use super::entry::Entry;
use super::messages::Act;
use super::options::DeviceRules;
use super::pending::Pending;
use super::ports::Beat;
use super::read;
use super::record::{Device, Status};
use super::state::{Fleet, Readings};
use super::telemetry::Telemetry;
use super::turn::{Staged, Turn, no_device};
use crate::geofence::{Observation, SubjectKind, Watcher};
use crate::journal::Incarnations;
use muster_core::event::{LatestValue, Publisher};
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled, Reply};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Millis};

const TICK: Duration = Duration::from_secs(1);

/// What every incarnation gets.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) store: StoreHandle,
    pub(super) clock: Clock,
    pub(super) publisher: Publisher,
    pub(super) rules: DeviceRules,
    pub(super) directory: watch::Sender<Arc<Directory>>,
    pub(super) changes: Arc<Changes>,
    pub(super) beats: broadcast::Sender<Beat>,
    pub(super) noted: Arc<Noted>,
    pub(super) watcher: Option<Arc<dyn Watcher>>,
    pub(super) incarnations: Incarnations,
}

/// What is done once a decision is durable.
#[derive(Debug)]
pub enum DeviceEffect {
    /// Somebody is answered.
    Answer(Reply<()>),
    /// Devices changed: taken over, announced and published.
    Changed(Box<Staged>),
    /// Nothing: a device's readings were written.
    Saved(Arc<str>),
}

impl From<Reply<()>> for DeviceEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Answer(reply)
    }
}

/// Owns the devices.
pub struct DeviceActor {
    pub(super) parts: Parts,
    /// What is durable, heartbeats that change nothing apart.
    pub(super) fleet: Fleet,
    pub(super) pending: Pending,
    pub(super) journal: Journal<DeviceEffect>,
    answers: PendingResponses,
    /// Devices that wait for a command. Of several calls of one device the last waits on.
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
        &self.parts.store
    }

    /// Takes over what is durable, announces it, and answers: all in one turn of the actor.
    fn on_committed(&mut self, committed: Committed<DeviceEffect>, _: &mut Context<Self>) {
        self.answers.settle(committed.last);
        self.pending.settle(committed.last);
        let (mut staged, mut replies) = (Staged::default(), Vec::new());
        for effect in committed.effects {
            match effect {
                DeviceEffect::Answer(reply) => replies.push(reply),
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
                DeviceEffect::Answer(reply) => reply.fail(error),
                DeviceEffect::Changed(_) => {}
                // Written as the actor stops, where the store takes it by then.
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
    /// Reads everything back.
    pub(super) async fn load(parts: Parts) -> Result<Self, BuildError> {
        let journal = parts.incarnations.open(&parts.store).await;
        let (store, up, rules) = (Arc::clone(&parts.store), parts.clock.now(), parts.rules.clone());
        let read = tokio::task::spawn_blocking(move || {
            let all = read::everything(&store)?;
            let fleet = Fleet::read_back(all.entries, all.open, up, &rules);
            let credentials =
                fleet.iter().filter_map(|entry| Some((Arc::clone(&entry.device.id), Arc::new(Credential::of(entry)?))));
            let directory: Directory = credentials.collect();
            Ok::<_, StoreError>((fleet, directory))
        });
        let (fleet, directory) = read.await??;
        parts.directory.send_replace(Arc::new(directory));
        parts.changes.tell_all();
        let (pending, answers, waiting) = (Pending::default(), PendingResponses::default(), HashMap::new());
        Ok(Self { parts, fleet, pending, journal, answers, waiting })
    }

    pub(super) fn now(&self) -> Millis {
        self.parts.clock.now()
    }

    /// Decides a change and records it in the journal, to be flushed.
    ///
    /// # Errors
    /// The change is refused; the store accepts no writes.
    pub(super) fn decide<A: Act>(&mut self, act: A) -> Result<A::Answer, Error> {
        let Parts { store, rules, clock, .. } = &self.parts;
        let Self { fleet, pending, answers, .. } = &*self;
        let mut turn = Turn { fleet, pending, answers, store, rules, now: clock.now(), staged: Staged::default() };
        let decided = act.act(&mut turn);
        let mut staged = turn.staged;
        if !staged.ops.is_empty() {
            self.admit()?;
        }
        if !staged.is_empty() {
            let decision = self.journal.next_number();
            if let Some((request, answer)) = staged.answer.take() {
                self.answers.insert(&request, answer, decision);
            }
            self.pending.take(decision, &staged, &self.fleet);
            let ops = std::mem::take(&mut staged.ops);
            self.journal.push(ops, DeviceEffect::Changed(Box::new(staged)));
        }
        decided
    }

    /// Takes over what is durable, and announces it.
    fn take(&mut self, mut staged: Staged) {
        let changed = self.fleet.take(&mut staged);
        if !changed.credentials.is_empty() {
            let fleet = &mut self.fleet;
            self.parts.directory.send_modify(|directory| {
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
            changed.credentials.iter().for_each(|id| self.parts.changes.tell(id));
        }
        if !staged.events.is_empty() {
            self.parts.publisher.publish(staged.events);
        }
        for beat in staged.beats {
            if let Some(entry) = self.fleet.entry(&beat.device) {
                self.latest(&beat.device, "health", beat.at, &vitals(&entry.device));
            }
            self.tell_beat(beat);
        }
        for (id, place) in &staged.moved {
            self.observed(id, *place);
        }
        for id in changed.wake {
            if let Some(waiter) = self.waiting.remove(&id) {
                // One that no longer waits asks again.
                let _ = waiter.send(());
            }
        }
    }

    /// Reports where a device is to whoever draws fences.
    pub(super) fn observed(&self, id: &Arc<str>, place: Option<muster_geo::Point>) {
        let Some(watcher) = &self.parts.watcher else { return };
        let tags = self.fleet.entry(id).map(|entry| entry.device.tags.as_slice());
        let observation = Observation::of(SubjectKind::Device, id, place, self.now());
        watcher.observe(observation.tagged(tags.unwrap_or_default()));
    }

    pub(super) fn tell_beat(&self, beat: Beat) {
        if self.parts.beats.receiver_count() > 0 {
            // Only without a receiver could it fail.
            let _ = self.parts.beats.send(beat);
        }
    }

    pub(super) fn latest(&self, device: &str, key: &str, at: Millis, data: &impl serde::Serialize) {
        let Ok(data) = to_raw_value(data) else { return };
        let (channel, name) = (format!("devices:{device}:telemetry"), "device.telemetry".to_owned());
        self.parts.publisher.publish_latest(LatestValue { channel, name, at, key: key.to_owned(), data });
    }

    /// A device's readings, read back where they are not in memory.
    pub(super) fn readings(&mut self, device: &Arc<str>) -> Result<&mut Telemetry, Error> {
        if !self.fleet.readings.contains_key(device) {
            let telemetry = read::telemetry(&self.parts.store, device)?;
            self.fleet.readings.insert(Arc::clone(device), Readings { telemetry, save_at: None });
        }
        self.fleet.readings.get_mut(device).map(|readings| &mut readings.telemetry).ok_or_else(|| no_device(device))
    }

    /// Queues what heartbeats and readings have left unwritten. Of a device with an undurable decision nothing is: whether
    /// the store has that is not known, and it is newer.
    fn last_words(&self) -> Result<(), StoreError> {
        let unwritten = |entry: &&Entry| entry.live.save_at.is_some() && !self.pending.concerns(&entry.device.id);
        let entries = self.fleet.iter().filter(unwritten);
        let entries = entries.map(|entry| (entry.device.id.as_bytes().to_vec(), Entry::TREE, entry.encode()));
        let readings = self.fleet.readings.iter().filter(|(_, readings)| readings.save_at.is_some());
        let readings =
            readings.map(|(id, readings)| (Telemetry::key(id), Telemetry::TREE, readings.telemetry.encode()));
        let mut ops = Vec::new();
        for (key, tree, rec) in entries.chain(readings) {
            ops.push(Op::Put { tree, key, rec: rec? });
            if ops.len() == 500 {
                // A commit is queued by the call; dropping its future does not undo it.
                drop(self.parts.store.commit(Batch { ops: std::mem::take(&mut ops), ..Batch::default() }));
            }
        }
        if !ops.is_empty() {
            drop(self.parts.store.commit(Batch { ops, ..Batch::default() }));
        }
        Ok(())
    }
}

/// Where a device is at the start; one that is retired is nowhere.
fn place(device: &Device, now: Millis) -> Observation {
    let point = device.location.filter(|_| device.status != Status::Retired);
    Observation::of(SubjectKind::Device, &device.id, point, now).tagged(&device.tags)
}

impl Actor for DeviceActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.run_interval(TICK, Self::tick);
        context.run_interval(TICK * 60, |actor, _| actor.waiting.retain(|_, waiter| !waiter.is_closed()));
        if let Some(watcher) = &self.parts.watcher {
            let now = self.now();
            watcher.observe_all(self.fleet.newest().map(|entry| place(&entry.device, now)).collect());
        }
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        if let Err(error) = self.last_words() {
            tracing::warn!(%error, "the last heartbeats were not all written");
        }
    }
}
