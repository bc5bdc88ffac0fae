//! The actor: changes its state in memory, and publishes, answers and notifies devices once that is durable.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Message, WrapFuture};
use muster_store::{Op, StoreHandle};
use tokio::sync::oneshot;

use super::devices::{AskDevices, beats};
use super::forward::{Forward, Forwarder, forward};
use super::record::{MAX_OPS, read_all};
use super::snapshot::Ask;
use super::state::State;
use super::turn::{Turn, firmware_of};
use super::{Options, SigningKey};
use crate::device::{FirmwareStateUpdate, FirmwareView};
use crate::journal::Incarnations;
use muster_core::event::{Event, Publisher};
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled, Reply};
use muster_core::supervise::{BuildError, Control, Phase};
use muster_core::{Clock, Error, Millis};
use muster_feed::{Denied, StateItem};

/// Executions moved in one step, at most: with their events they stay below a commit's bound.
pub(super) const STEP: usize = 200;
const TICK: Duration = Duration::from_secs(1);

#[derive(Message)]
#[rtype(result = "()")]
struct Step;

/// What is done once a decision is durable.
#[derive(Debug)]
pub enum FirmwareEffect {
    /// Nothing: other decisions rest on it.
    None,
    /// Somebody is answered.
    Answer(Reply<()>),
    /// Events are published, devices' records written, and waiting devices notified.
    Changed(Announcement),
    /// The state of a channel is sent, as it was when it was asked for. Dropped, it is answered as unavailable.
    State(Ask, Result<Vec<StateItem>, Denied>),
}

impl From<Reply<()>> for FirmwareEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Answer(reply)
    }
}

/// What a change means for others.
#[derive(Debug)]
pub struct Announcement {
    events: Vec<Event>,
    firmware: Vec<(Arc<str>, FirmwareStateUpdate)>,
    /// Devices that have something to take.
    woken: Vec<Arc<str>>,
}

/// Owns artifacts, jobs and executions.
pub struct FirmwareActor {
    /// Everything that was decided, durable or not.
    pub(super) state: State,
    pub(super) journal: Journal<FirmwareEffect>,
    pub(super) answers: PendingResponses,
    pub(super) store: StoreHandle,
    clock: Clock,
    publisher: Publisher,
    pub(super) devices: Arc<dyn FirmwareView>,
    control: Control,
    forward: Forward,
    /// Until it runs.
    forwarder: Option<Forwarder>,
    /// Deletions of executions whose job never came.
    orphans: Vec<Vec<Op>>,
    /// Devices are being asked about, or will be.
    pub(super) asking: bool,
    pub(super) asking_soon: bool,
    /// Long polls, one a device.
    pub(super) polls: HashMap<Arc<str>, oneshot::Sender<()>>,
}

impl std::fmt::Debug for FirmwareActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirmwareActor").finish_non_exhaustive()
    }
}

/// Reads everything back.
pub async fn load(options: Options, control: Control, incarnations: Incarnations) -> Result<FirmwareActor, BuildError> {
    let Options { store, clock, publisher, devices, rules, trusted_keys, .. } = options;
    let journal = incarnations.open(&store).await;
    let (now, from) = (clock.now(), Arc::clone(&store));
    let (stored, orphans) = tokio::task::spawn_blocking(move || read_all(&from, now)).await??;
    let trusted: Vec<SigningKey> = trusted_keys.iter().filter_map(|x| super::service::settings_key(x)).collect();
    let state = State::new(rules, stored, trusted, now);
    let (forward, forwarder) = forward();
    forward.put(unsettled(&state, now));
    Ok(FirmwareActor {
        state,
        journal,
        answers: PendingResponses::default(),
        store,
        clock,
        publisher,
        devices,
        control,
        forward,
        forwarder: Some(forwarder),
        orphans,
        asking: false,
        asking_soon: false,
        polls: HashMap::new(),
    })
}

/// What devices run by jobs that may have ended with the server: written once more.
fn unsettled(state: &State, now: Millis) -> Vec<(Arc<str>, FirmwareStateUpdate)> {
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

impl Journalled for FirmwareActor {
    type Effects = FirmwareEffect;

    fn journal(&mut self) -> &mut Journal<FirmwareEffect> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.store
    }

    fn on_committed(&mut self, committed: Committed<FirmwareEffect>, _: &mut Context<Self>) {
        self.answers.settle(committed.last);
        for effect in committed.effects {
            match effect {
                FirmwareEffect::None => {}
                FirmwareEffect::Answer(reply) => reply.send(),
                FirmwareEffect::Changed(change) => self.announce(change),
                FirmwareEffect::State(ask, items) => ask.answer(items),
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<FirmwareEffect>, error: &Error) {
        for effect in effects {
            if let FirmwareEffect::Answer(reply) = effect {
                reply.fail(error);
            }
        }
    }
}

impl FirmwareActor {
    pub(super) fn now(&self) -> Millis {
        self.clock.now()
    }

    fn announce(&mut self, Announcement { events, firmware, woken }: Announcement) {
        self.publisher.publish(events);
        self.forward.put(firmware);
        for device in woken {
            // One that no longer waits asks again.
            self.polls.remove(&device).map(|poll| poll.send(()));
        }
    }

    /// Changes the state and records that.
    pub(super) fn change<R>(
        &mut self,
        change: impl FnOnce(&mut State, &mut Turn, Millis) -> Result<R, Error>,
        context: &mut Context<Self>,
    ) -> Result<R, Error> {
        let (now, mut turn) = (self.now(), Turn::default());
        let changed = change(&mut self.state, &mut turn, now);
        let jobs = std::mem::take(&mut turn.touched);
        self.judge(&jobs.into_iter().collect::<Vec<_>>(), &mut turn, now, context);
        self.record(turn, context);
        changed
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
        // While the store accepts no writes everything stays due.
        if self.admit().is_err() {
            return;
        }
        let (now, mut turn) = (self.now(), Turn::default());
        let live = self.state.live();
        self.judge(&live, &mut turn, now, context);
        self.state.progress(&mut turn, now);
        self.record(turn, context);
    }

    /// Hands a decision to the journal.
    pub(super) fn record(&mut self, mut turn: Turn, context: &mut Context<Self>) {
        if let Some(error) = turn.fault() {
            // Every record is bounded: this is a fault of the server, and the state holds what cannot be stored.
            tracing::error!(%error, "a change of firmware cannot be stored");
            self.journal.fail(error);
        } else if !turn.ops.is_empty() {
            let Turn { earlier, ops, events, firmware, woken, answer, .. } = turn;
            for ops in earlier {
                self.journal.push(ops, FirmwareEffect::None);
            }
            let changed = FirmwareEffect::Changed(Announcement { events, firmware, woken });
            let decision = self.journal.push(ops, changed);
            if let Some((request, answer)) = answer {
                self.answers.insert(&request, answer, decision);
            }
        }
        self.flush(context);
        if !self.asking_soon {
            self.asking_soon = true;
            context.notify(AskDevices);
        }
    }
}

impl Actor for FirmwareActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if let Some(forwarder) = self.forwarder.take() {
            context.spawn(forwarder.run(Arc::clone(&self.devices)).into_actor(self));
        }
        beats(self.devices.heartbeats(), context, self);
        let orphans = std::mem::take(&mut self.orphans);
        if self.admit().is_ok() {
            for ops in orphans {
                self.journal.push(ops, FirmwareEffect::None);
            }
            self.flush(context);
        }
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

impl Handler<Step> for FirmwareActor {
    type Result = ();

    fn handle(&mut self, _: Step, context: &mut Context<Self>) {
        self.step(context);
    }
}
