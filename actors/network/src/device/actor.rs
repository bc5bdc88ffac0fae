//! The actor that owns the devices.
//!
//! Changes are decided in turns: while the batch of one is written, those that come meanwhile wait and share the next.
//! So one sync serves as many devices as come online at once. A heartbeat that changes nothing else is taken at once and
//! written later, with others.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, Context, Handler, MessageResult, ResponseFuture, WrapFuture};
use muster_store::{Batch, Op, Record, StoreError, StoreHandle};
use serde_json::value::to_raw_value;
use tokio::sync::{broadcast, oneshot, watch};

use super::beat::{Look, heard_of, quietly, vitals};
use super::changes::Changes;
use super::deadline::Due;
use super::directory::{Credential, Directory, Noted};
use super::messages::{Act, Do, Handed, Heartbeat, Measured, Next, Readings, See, Snapshot};
use super::options::DeviceRules;
use super::orders::HandOut;
use super::ports::Beat;
use super::read;
use super::record::{Device, Status};
use super::shift::CountBad;
use super::snapshot;
use super::state::Fleet;
use super::telemetry::Telemetry;
use super::turn::{Staged, Turn, no_device};
use crate::geofence::{Observation, SubjectKind, Watcher};
use muster_core::event::{LatestValue, Publisher};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Millis};

const TICK: Duration = Duration::from_secs(1);
/// Looked at in one tick at most; the rest waits for the next.
const DUE_IN_A_TICK: usize = 20_000;
/// Looked at in one change.
const DUE_AT_ONCE: usize = 200;
/// What could not be written is tried again after so long.
const AGAIN: Duration = Duration::from_secs(5);

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
}

type Job = Box<dyn FnOnce(&mut Turn<'_>) -> Finish + Send>;
/// Told once what a turn did is durable, or is not.
type Finish = Box<dyn FnOnce(&mut DeviceActor, &Result<(), Error>) + Send>;

/// Owns the devices.
pub struct DeviceActor {
    parts: Parts,
    pub(super) fleet: Fleet,
    jobs: VecDeque<Job>,
    /// The devices whose change is being written.
    writing: Option<HashSet<Arc<str>>>,
    /// Devices that wait for a command. Of several calls of one device the last waits on.
    waiting: HashMap<Arc<str>, oneshot::Sender<()>>,
}

impl std::fmt::Debug for DeviceActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceActor").field("devices", &self.fleet.len()).finish_non_exhaustive()
    }
}

impl DeviceActor {
    /// Reads everything back.
    pub(super) async fn load(parts: Parts) -> Result<Self, BuildError> {
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
        Ok(Self { parts, fleet, jobs: VecDeque::new(), writing: None, waiting: HashMap::new() })
    }

    fn now(&self) -> Millis {
        self.parts.clock.now()
    }

    /// Whether a change of the device is being written: what is decided now must know of it.
    fn busy(&self, device: &str) -> bool {
        self.writing.as_ref().is_some_and(|writing| writing.contains(device))
    }

    fn enqueue<A: Act>(
        &mut self,
        act: A,
        context: &mut Context<Self>,
        then: impl FnOnce(&mut Self, Result<A::Answer, Error>) + Send + 'static,
    ) {
        self.jobs.push_back(Box::new(move |turn| {
            let decided = act.act(turn);
            Box::new(move |actor, written| then(actor, decided.and_then(|answer| written.clone().map(|()| answer))))
        }));
        self.pump(context);
    }

    fn change<A: Act>(&mut self, act: A, context: &mut Context<Self>) -> ResponseFuture<Result<A::Answer, Error>> {
        let (to, from) = oneshot::channel();
        // A caller that no longer waits is no error.
        self.enqueue(act, context, move |_, answer| drop(to.send(answer)));
        Box::pin(async move { from.await.unwrap_or_else(|_| Err(ended())) })
    }

    /// Decides what waits, and has it written.
    fn pump(&mut self, context: &mut Context<Self>) {
        while self.writing.is_none() && !self.jobs.is_empty() {
            let (staged, finish) = self.turn();
            if staged.ops.is_empty() {
                self.finish(staged, finish, &Ok(()));
                continue;
            }
            self.write(staged, finish, context);
        }
    }

    fn turn(&mut self) -> (Staged, Vec<Finish>) {
        let Parts { store, rules, clock, .. } = &self.parts;
        let mut turn = Turn { fleet: &self.fleet, store, rules, now: clock.now(), staged: Staged::default() };
        let mut finish = Vec::new();
        while !turn.is_full() {
            let Some(job) = self.jobs.pop_front() else { break };
            finish.push(job(&mut turn));
        }
        (turn.staged, finish)
    }

    fn write(&mut self, mut staged: Staged, finish: Vec<Finish>, context: &mut Context<Self>) {
        self.writing = Some(staged.entries.keys().cloned().collect());
        let batch = Batch { ops: std::mem::take(&mut staged.ops), ..Batch::default() };
        let write = self.parts.store.commit(batch).into_actor(self);
        context.spawn(write.map(move |written, actor, context| {
            actor.writing = None;
            actor.finish(staged, finish, &written.map_err(Error::from));
            actor.pump(context);
        }));
    }

    /// Takes over what is durable, tells it, and answers: all in one turn of the actor.
    fn finish(&mut self, mut staged: Staged, finish: Vec<Finish>, written: &Result<(), Error>) {
        if written.is_ok() {
            self.take(&mut staged);
        }
        for finish in finish {
            finish(self, written);
        }
    }

    fn take(&mut self, staged: &mut Staged) {
        let changed = self.fleet.take(staged);
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
            self.parts.publisher.publish(std::mem::take(&mut staged.events));
        }
        for beat in staged.beats.drain(..) {
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

    /// Tells whoever draws fences where a device is.
    fn observed(&self, id: &Arc<str>, place: Option<muster_geo::Point>) {
        let Some(watcher) = &self.parts.watcher else { return };
        let tags = self.fleet.entry(id).map(|entry| entry.device.tags.as_slice());
        let observation = Observation::of(SubjectKind::Device, id, place, self.now());
        watcher.observe(observation.tagged(tags.unwrap_or_default()));
    }

    fn tell_beat(&self, beat: Beat) {
        if self.parts.beats.receiver_count() > 0 {
            // Only without a receiver could it fail.
            let _ = self.parts.beats.send(beat);
        }
    }

    fn latest(&self, device: &str, key: &str, at: Millis, data: &impl serde::Serialize) {
        let Ok(data) = to_raw_value(data) else { return };
        let (channel, name) = (format!("devices:{device}:telemetry"), "device.telemetry".to_owned());
        self.parts.publisher.publish_latest(LatestValue { channel, name, at, key: key.to_owned(), data });
    }

    fn tick(&mut self, context: &mut Context<Self>) {
        let now = self.now();
        let mut due = Vec::new();
        for _ in 0..DUE_IN_A_TICK {
            let Some(next) = self.fleet.deadlines.pop(now) else { break };
            match &next {
                Due::Readings(id) => self.save_readings(&Arc::clone(id), now, context),
                Due::Silent(id) if !self.busy(id) && self.heard_since(&Arc::clone(id), now) => {}
                _ => due.push(next),
            }
        }
        while !due.is_empty() {
            let rest = due.split_off(due.len().min(DUE_AT_ONCE));
            let these = std::mem::replace(&mut due, rest);
            let again = these.clone();
            self.enqueue(Look(these), context, move |actor, looked| {
                if looked.is_err() {
                    let at = actor.now().plus(AGAIN);
                    again.into_iter().for_each(|due| actor.fleet.deadlines.push(at, due));
                }
            });
        }
        for (device, more) in self.parts.noted.take() {
            self.enqueue(CountBad { device, more }, context, |_, counted| {
                if let Err(error) = counted {
                    tracing::warn!(%error, "bad signatures of a device were not counted");
                }
            });
        }
    }

    /// Whether a device was heard of since its silence was to be looked at: then that is put off.
    fn heard_since(&mut self, device: &Arc<str>, now: Millis) -> bool {
        let (up, rules) = (self.fleet.up, &self.parts.rules);
        let Some(entry) = self.fleet.entry_mut(device) else { return true };
        match entry.silent_at(up, rules) {
            Some(at) if at <= now => return false,
            Some(at) => self.fleet.deadlines.push(at, Due::Silent(Arc::clone(device))),
            None => entry.live.watched = false,
        }
        true
    }

    fn save_readings(&mut self, device: &Arc<str>, now: Millis, context: &mut Context<Self>) {
        let Some(readings) = self.fleet.readings.get_mut(device) else { return };
        if readings.save_at.is_none_or(|at| at > now) {
            return;
        }
        readings.save_at = None;
        let save = SaveReadings { device: Arc::clone(device), telemetry: readings.telemetry.clone() };
        let device = Arc::clone(device);
        self.enqueue(save, context, move |actor, saved| {
            if saved.is_err() {
                actor.unsaved(&device, AGAIN);
            }
        });
    }

    /// Has a device's readings written after a while, with whatever comes until then.
    fn unsaved(&mut self, device: &Arc<str>, after: Duration) {
        let at = self.now().plus(after);
        if let Some(readings) = self.fleet.readings.get_mut(device).filter(|readings| readings.save_at.is_none()) {
            readings.save_at = Some(at);
            self.fleet.deadlines.push(at, Due::Readings(Arc::clone(device)));
        }
    }

    /// A device's readings, read back where they are not in memory.
    pub(super) fn readings(&mut self, device: &Arc<str>) -> Result<&mut Telemetry, Error> {
        if !self.fleet.readings.contains_key(device) {
            let telemetry = read::telemetry(&self.parts.store, device)?;
            self.fleet.readings.insert(Arc::clone(device), super::state::Readings { telemetry, save_at: None });
        }
        self.fleet.readings.get_mut(device).map(|readings| &mut readings.telemetry).ok_or_else(|| no_device(device))
    }

    /// Queues what heartbeats and readings have left unwritten. What is being written is newer.
    fn last_words(&self) -> Result<(), StoreError> {
        let entries = self.fleet.iter().filter(|entry| entry.live.save_at.is_some() && !self.busy(&entry.device.id));
        let entries =
            entries.map(|entry| (entry.device.id.as_bytes().to_vec(), super::entry::Entry::TREE, entry.encode()));
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

fn ended() -> Error {
    Error::new(muster_core::Kind::Unavailable, "devices are restarting").retry_in(Duration::from_secs(1))
}

/// Writes a device's readings.
struct SaveReadings {
    device: Arc<str>,
    telemetry: Telemetry,
}

impl Act for SaveReadings {
    type Answer = ();

    fn act(self, turn: &mut Turn<'_>) -> Result<(), Error> {
        let (key, rec) = (Telemetry::key(&self.device), self.telemetry.encode()?);
        turn.staged.ops.push(Op::Put { tree: Telemetry::TREE, key, rec });
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

impl<A: Act> Handler<Do<A>> for DeviceActor {
    type Result = ResponseFuture<Result<A::Answer, Error>>;

    fn handle(&mut self, act: Do<A>, context: &mut Context<Self>) -> Self::Result {
        self.change(act.0, context)
    }
}

impl<R: 'static, F: FnOnce(&Fleet) -> R + 'static> Handler<See<R, F>> for DeviceActor {
    type Result = MessageResult<See<R, F>>;

    fn handle(&mut self, see: See<R, F>, _: &mut Context<Self>) -> Self::Result {
        MessageResult(see.0(&self.fleet))
    }
}

impl Handler<Heartbeat> for DeviceActor {
    type Result = ResponseFuture<<Heartbeat as actix::Message>::Result>;

    fn handle(&mut self, Heartbeat(hear): Heartbeat, context: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        if !self.busy(&hear.id)
            && let Some(quiet) = quietly(&mut self.fleet, &hear, now, &self.parts.rules)
        {
            self.latest(&hear.id, "health", now, &quiet.vitals);
            self.tell_beat(quiet.beat);
            if quiet.moved.is_some() {
                self.observed(&hear.id, quiet.moved);
            }
            return Box::pin(std::future::ready(Ok(quiet.answer)));
        }
        self.change(hear, context)
    }
}

impl Handler<Measured> for DeviceActor {
    type Result = MessageResult<Measured>;

    fn handle(&mut self, measured: Measured, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.measured(measured))
    }
}

impl DeviceActor {
    fn measured(&mut self, measured: Measured) -> Result<Telemetry, Error> {
        let Measured { device, values, by } = measured;
        let present = self.fleet.entry(&device).ok_or_else(|| no_device(&device))?;
        heard_of(present.device.status)?;
        let (now, device) = (self.now(), Arc::clone(&present.device.id));
        let readings = self.readings(&device)?;
        readings.merge(&values, now)?;
        let readings = readings.clone();
        self.unsaved(&device, self.parts.rules.save_every);
        let data = serde_json::json!({ "id": device, "by": by.id(), "readings": readings.readings });
        self.latest(&device, "readings", now, &data);
        Ok(readings)
    }
}

impl Handler<Readings> for DeviceActor {
    type Result = MessageResult<Readings>;

    fn handle(&mut self, asked: Readings, _: &mut Context<Self>) -> Self::Result {
        let present = self.fleet.entry(&asked.device).map(|entry| (Arc::clone(&entry.device.id), entry.device.status));
        MessageResult(match present {
            None => Err(no_device(&asked.device)),
            // What is asked of a retired device is not kept in memory.
            Some((id, Status::Retired)) => read::telemetry(&self.parts.store, &id).map_err(Error::from),
            Some((id, _)) => self.readings(&id).map(|readings| readings.clone()),
        })
    }
}

impl Handler<Next> for DeviceActor {
    type Result = ResponseFuture<Result<Handed, Error>>;

    fn handle(&mut self, next: Next, context: &mut Context<Self>) -> Self::Result {
        let (to, from) = oneshot::channel();
        let device = Arc::clone(&next.device);
        self.enqueue(HandOut { device: next.device }, context, move |actor, handed| {
            let handed = handed.map(|command| match command {
                Some(command) => Handed::Command(Box::new(command)),
                // Asked and waited for in one turn: what is queued from now on wakes it.
                None => {
                    let (wake, woken) = oneshot::channel();
                    actor.waiting.insert(device, wake);
                    Handed::Wait(woken)
                }
            });
            let _ = to.send(handed);
        });
        Box::pin(async move { from.await.unwrap_or_else(|_| Err(ended())) })
    }
}

impl Handler<Snapshot> for DeviceActor {
    type Result = ();

    fn handle(&mut self, asked: Snapshot, _: &mut Context<Self>) {
        if let Some(ask) = asked.take() {
            let state = snapshot::state(self, &ask);
            ask.reply.send(state);
        }
    }
}
