//! The actor: asks that wait are taken together, stored in one batch, then told and answered.
//!
//! The state moves ahead of the disk by one batch, during which nothing else is handled: nobody sees what is not durable.
//! Where a batch cannot be written the actor ends, and comes back with what the disk holds.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message, WrapFuture};
use muster_store::{Batch, StoreError, StoreHandle, Tree};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot};

use super::forward::{Forward, Forwarder, forward};
use super::record::{MAX_OPS, delete, read_all};
use super::rollout::Gate;
use super::snapshot::Ask;
use super::state::State;
use super::turn::{Turn, firmware_of};
use super::{Options, SigningKey};
use crate::device::{Beat, FirmwareView, Select, Target};
use muster_core::event::Publisher;
use muster_core::supervise::{BuildError, Control, Phase};
use muster_core::{Clock, Error, Kind, Millis};

/// Executions moved in one step, at most: with their events they stay below a commit's bound.
const STEP: usize = 200;
/// Asks that may wait.
const MAX_WAITING: usize = 8_192;
const TICK: Duration = Duration::from_secs(1);
/// A full queue of the store is tried again so often.
const TRIES: usize = 50;

/// An answer, given once its turn is durable or has failed.
pub type Reply = Box<dyn FnOnce(Result<(), Error>) + Send>;
/// Something to be done in a turn.
pub type Work = Box<dyn FnOnce(&mut State, &mut Turn, Millis) -> Reply + Send>;

/// Takes work in; it is answered by the work's own reply.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct Submit(pub Work);

/// Reads the state, which is durable while messages are handled.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Read(pub Box<dyn FnOnce(&State) + Send>);

/// Told when the device has something to take.
#[derive(Message)]
#[rtype(result = "oneshot::Receiver<()>")]
pub struct Wait(pub Arc<str>);

#[derive(Message)]
#[rtype(result = "()")]
pub struct Snapshot(pub Ask);

#[derive(Message)]
#[rtype(result = "()")]
struct Flush;

#[derive(Message)]
#[rtype(result = "()")]
struct Step;

/// Owns artifacts, jobs and executions.
pub struct FirmwareActor {
    state: State,
    store: StoreHandle,
    clock: Clock,
    publisher: Publisher,
    devices: Arc<dyn FirmwareView>,
    control: Control,
    forward: Forward,
    /// Until it runs.
    forwarder: Option<Forwarder>,
    waiting: VecDeque<Work>,
    /// A flush is in the mailbox.
    flushing: bool,
    /// Devices are being asked about.
    asking: bool,
    /// Long polls, one a device.
    polls: HashMap<Arc<str>, oneshot::Sender<()>>,
}

impl std::fmt::Debug for FirmwareActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirmwareActor").finish_non_exhaustive()
    }
}

/// Reads everything back.
pub async fn load(options: Options, control: Control) -> Result<FirmwareActor, BuildError> {
    let Options { store, clock, publisher, devices, rules, trusted_keys, .. } = options;
    let (now, from) = (clock.now(), Arc::clone(&store));
    let (stored, orphans) = tokio::task::spawn_blocking(move || read_all(&from, now)).await??;
    delete(&store, Tree::Executions, orphans).await?;
    let trusted: Vec<SigningKey> = trusted_keys.iter().filter_map(|x| super::firmwares::settings_key(x)).collect();
    let state = State::new(rules, stored, trusted, now);
    let (forward, forwarder) = forward();
    let forwarder = Some(forwarder);
    forward.put(unsettled(&state, now));
    let (waiting, polls) = (VecDeque::new(), HashMap::new());
    let (flushing, asking) = (false, false);
    Ok(FirmwareActor {
        state,
        store,
        clock,
        publisher,
        devices,
        control,
        forward,
        forwarder,
        waiting,
        flushing,
        asking,
        polls,
    })
}

/// What devices run by jobs that may have ended with the server: written once more.
fn unsettled(state: &State, now: Millis) -> Vec<(Arc<str>, crate::device::SetFirmware)> {
    let recent = |at: Millis| now.since(at) < Duration::from_secs(3600);
    let jobs = state.jobs.values().filter(|rollout| !rollout.is_settled() || recent(rollout.job.updated_at));
    let all = jobs.flat_map(|rollout| rollout.executions().iter().map(move |execution| (rollout, execution)));
    let newest = |device: &str, job: &str| state.jobs_of(device).next().is_some_and(|newest| *newest.job.id == *job);
    all.filter(|(rollout, execution)| newest(&execution.device_id, &rollout.job.id))
        .filter_map(|(rollout, execution)| {
            Some((Arc::clone(&execution.device_id), firmware_of(&rollout.job, execution)?))
        })
        .collect()
}

impl FirmwareActor {
    /// Lets asks that are in the mailbox already come together first.
    fn flush_soon(&mut self, context: &mut Context<Self>) {
        if !self.flushing {
            self.flushing = true;
            context.notify(Flush);
        }
    }

    fn push(&mut self, work: Work, context: &mut Context<Self>) -> Result<(), Error> {
        if self.waiting.len() >= MAX_WAITING {
            let message = "too many asks of firmware are waiting";
            return Err(Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(1)));
        }
        self.waiting.push_back(work);
        self.flush_soon(context);
        Ok(())
    }

    fn flush(&mut self, context: &mut Context<Self>) {
        let now = self.clock.now();
        let (mut turn, mut replies) = (Turn::default(), Vec::new());
        while turn.ops.len() < MAX_OPS / 2
            && let Some(work) = self.waiting.pop_front()
        {
            replies.push(work(&mut self.state, &mut turn, now));
        }
        let jobs = std::mem::take(&mut turn.touched);
        self.judge(&jobs.into_iter().collect::<Vec<_>>(), &mut turn, now, context);
        self.commit(turn, replies, context);
    }

    /// Advances jobs within one step's bound; comes back where it did not suffice.
    fn judge(&mut self, jobs: &[Arc<str>], turn: &mut Turn, now: Millis, context: &mut Context<Self>) {
        let mut left = STEP.min((MAX_OPS.saturating_sub(turn.ops.len()) / 2).max(1));
        for job in jobs {
            left -= self.state.advance(job, left, turn, now).min(left);
            if left == 0 {
                context.notify(Step);
                return;
            }
        }
    }

    fn step(&mut self, context: &mut Context<Self>) {
        let now = self.clock.now();
        let mut turn = Turn::default();
        let live = self.state.live();
        self.judge(&live, &mut turn, now, context);
        self.state.progress(&mut turn, now);
        if turn.ops.is_empty() { self.ask_devices(context) } else { self.commit(turn, Vec::new(), context) }
    }

    fn commit(&mut self, mut turn: Turn, replies: Vec<Reply>, context: &mut Context<Self>) {
        let write = match turn.fault() {
            Some(error) => Err(error),
            None => Ok(written(Arc::clone(&self.store), std::mem::take(&mut turn.ops))),
        };
        let write = async move { write?.await };
        context.wait(write.into_actor(self).map(move |written, actor, context: &mut Context<Self>| match written {
            Ok(()) => {
                actor.publisher.publish(turn.events);
                actor.forward.put(turn.firmware);
                for device in turn.woken {
                    actor.polls.remove(&device).map(|poll| poll.send(()));
                }
                replies.into_iter().for_each(|reply| reply(Ok(())));
                if !actor.waiting.is_empty() {
                    actor.flush_soon(context);
                }
                actor.ask_devices(context);
            }
            Err(error) => {
                tracing::error!(%error, "firmware could not be written: reading it back");
                let error = Error::from(error);
                replies.into_iter().for_each(|reply| reply(Err(error.clone())));
                context.stop();
            }
        }));
    }

    /// Asks for the devices that may be told now, as they are now, and tells them.
    fn ask_devices(&mut self, context: &mut Context<Self>) {
        if self.asking {
            return;
        }
        let asked = self.state.candidates(STEP, self.clock.now());
        if asked.is_empty() {
            return;
        }
        self.asking = true;
        let ids = asked.iter().flat_map(|(_, devices)| devices.iter().cloned()).collect();
        let found = self.devices.select(Select::Ids(ids));
        context.spawn(found.into_actor(self).map(move |found, actor, context: &mut Context<Self>| {
            actor.asking = false;
            match found {
                Ok(found) => actor.tell(&asked, &found, context),
                Err(error) => tracing::warn!(%error, "devices could not be asked about: trying again"),
            }
        }));
    }

    fn tell(&mut self, asked: &[(Arc<str>, Vec<Arc<str>>)], found: &[Target], context: &mut Context<Self>) {
        let now = self.clock.now();
        let mut turn = Turn::default();
        for (job, devices) in asked {
            self.state.tell(job, devices, found, &mut turn, now);
        }
        self.commit(turn, Vec::new(), context);
    }

    fn hear(&mut self, heard: Result<Beat, RecvError>, context: &mut Context<Self>) {
        match heard {
            Ok(beat) if self.state.job_in_hand(&beat.device).is_some() => self.beat(beat, context),
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "heartbeats were missed: reading what devices run");
                let found = self.devices.select(Select::Ids(self.state.busy_devices()));
                context.spawn(found.into_actor(self).map(|found, actor, context: &mut Context<Self>| {
                    for device in found.unwrap_or_default() {
                        let (firmware, at) = (device.firmware.current, device.last_seen.unwrap_or_default());
                        let (device, status) = (device.id, device.status);
                        actor.beat(Beat { device, at, boot_id: None, firmware, status }, context);
                    }
                }));
            }
            Ok(_) | Err(RecvError::Closed) => {}
        }
    }

    fn beat(&mut self, beat: Beat, context: &mut Context<Self>) {
        let Some(firmware) = beat.firmware else { return };
        let (device, status) = (beat.device, beat.status);
        // A beat that finds the queue full is followed by the next.
        let _ = self.push(
            Box::new(move |state, turn, now| {
                state.beat(&Gate { device: &device, firmware: &firmware, status }, turn, now);
                Box::new(|_| {})
            }),
            context,
        );
    }
}

/// Heartbeats, one after another.
fn beats(mut from: broadcast::Receiver<Beat>, context: &mut Context<FirmwareActor>, actor: &FirmwareActor) {
    let next = async move {
        let heard = from.recv().await;
        (heard, from)
    };
    context.spawn(next.into_actor(actor).map(|(heard, from), actor, context: &mut Context<FirmwareActor>| {
        let closed = matches!(heard, Err(RecvError::Closed));
        actor.hear(heard, context);
        if !closed {
            beats(from, context, actor);
        }
    }));
}

/// Writes, and tries again where the store's queue is full.
async fn written(store: StoreHandle, ops: Vec<muster_store::Op>) -> Result<(), StoreError> {
    if ops.is_empty() {
        return Ok(());
    }
    let batch = Batch { ops, ..Batch::default() };
    for _ in 0..TRIES {
        match store.commit(batch.clone()).await {
            Err(StoreError::Busy) => tokio::time::sleep(Duration::from_millis(20)).await,
            answer => return answer,
        }
    }
    store.commit(batch).await
}

impl Actor for FirmwareActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if let Some(forwarder) = self.forwarder.take() {
            context.spawn(forwarder.run(Arc::clone(&self.devices)).into_actor(self));
        }
        beats(self.devices.beats(), context, self);
        context.notify(Step);
        context.run_interval(TICK, |actor, context| {
            if *actor.control.phase().borrow() == Phase::Drain {
                // Who waits asks again, elsewhere or later.
                actor.polls.clear();
            }
            actor.step(context);
        });
    }
}

impl Handler<Submit> for FirmwareActor {
    type Result = Result<(), Error>;

    fn handle(&mut self, submit: Submit, context: &mut Context<Self>) -> Self::Result {
        self.push(submit.0, context)
    }
}

impl Handler<Read> for FirmwareActor {
    type Result = ();

    fn handle(&mut self, read: Read, _: &mut Context<Self>) {
        (read.0)(&self.state);
    }
}

impl Handler<Wait> for FirmwareActor {
    type Result = actix::MessageResult<Wait>;

    fn handle(&mut self, wait: Wait, _: &mut Context<Self>) -> Self::Result {
        let (to, from) = oneshot::channel();
        if self.state.next(&wait.0).is_some() {
            // The receiver is still here.
            let _ = to.send(());
        } else {
            self.polls.retain(|_, poll| !poll.is_closed());
            self.polls.insert(wait.0, to);
        }
        actix::MessageResult(from)
    }
}

impl Handler<Snapshot> for FirmwareActor {
    type Result = ();

    fn handle(&mut self, snapshot: Snapshot, _: &mut Context<Self>) {
        snapshot.0.answer(&self.state);
    }
}

impl Handler<Flush> for FirmwareActor {
    type Result = ();

    fn handle(&mut self, _: Flush, context: &mut Context<Self>) {
        self.flushing = false;
        self.flush(context);
    }
}

impl Handler<Step> for FirmwareActor {
    type Result = ();

    fn handle(&mut self, _: Step, context: &mut Context<Self>) {
        self.step(context);
    }
}
