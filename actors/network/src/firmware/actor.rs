//! The actor: changes its state in memory, and publishes, responds and notifies devices once that is durable.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Message, WrapFuture};
use muster_store::{Op, StoreHandle};
use tokio::sync::oneshot;

use super::device_selection::{SelectDevices, heartbeats};
use super::device_updates::{DeviceUpdateWriter, DeviceUpdates, device_updates};
use super::record::{MAX_OPS, read_all};
use super::snapshot::SnapshotQuery;
use super::state::FirmwareState;
use super::transaction::{FirmwareTransaction, firmware_of};
use super::{FirmwareOptions, SigningKey};
use crate::device::{FirmwareStateUpdate, FirmwareView};
use crate::journal::Incarnations;
use muster_core::event::{Event, Publisher};
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled, Reply};
use muster_core::supervise::{BuildError, Control, Phase};
use muster_core::{Clock, Error, Millis};
use muster_feed::{Denied, StateItem};

/// Largest number of executions changed in one step: with their events they stay below the bound of a commit.
pub(super) const STEP: usize = 200;
const TICK: Duration = Duration::from_secs(1);

#[derive(Message)]
#[rtype(result = "()")]
struct Step;

/// Effect of a durable decision.
#[derive(Debug)]
pub(crate) enum FirmwareEffect {
    /// None: other decisions rest on it.
    None,
    /// A caller receives its response.
    Reply(Reply<()>),
    /// Events are published, device records updated, and waiting devices notified.
    Changed(Announcement),
    /// A snapshot, taken at its request, is sent. If it is dropped, the caller gets `Unavailable`.
    TakeSnapshot(SnapshotQuery, Result<Vec<StateItem>, Denied>),
}

impl From<Reply<()>> for FirmwareEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Reply(reply)
    }
}

/// What a change means for subscribers and devices.
#[derive(Debug)]
pub(crate) struct Announcement {
    events: Vec<Event>,
    firmware: Vec<(Arc<str>, FirmwareStateUpdate)>,
    /// Devices that have a job.
    ready_devices: Vec<Arc<str>>,
}

/// Owns artifacts, jobs and executions.
pub(crate) struct FirmwareActor {
    /// State including undurable decisions.
    pub(super) state: FirmwareState,
    pub(super) journal: Journal<FirmwareEffect>,
    pub(super) responses: PendingResponses,
    pub(super) store: StoreHandle,
    clock: Clock,
    publisher: Publisher,
    pub(super) devices: Arc<dyn FirmwareView>,
    control: Control,
    device_updates: DeviceUpdates,
    /// Present until it is started.
    device_update_writer: Option<DeviceUpdateWriter>,
    /// Deletions of executions whose job was never stored.
    orphans: Vec<Vec<Op>>,
    /// Whether a selection of devices is running, or scheduled.
    pub(super) selecting: bool,
    pub(super) selection_scheduled: bool,
    /// Long polls, one for each device.
    pub(super) polls: HashMap<Arc<str>, oneshot::Sender<()>>,
}

impl std::fmt::Debug for FirmwareActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirmwareActor").finish_non_exhaustive()
    }
}

/// Reads all records and builds the actor.
pub(crate) async fn load(
    options: FirmwareOptions,
    control: Control,
    incarnations: Incarnations,
) -> Result<FirmwareActor, BuildError> {
    let FirmwareOptions { store, clock, publisher, devices, rules, trusted_keys, .. } = options;
    let journal = incarnations.open(&store).await;
    let (now, from) = (clock.now(), Arc::clone(&store));
    let (stored, orphans) = tokio::task::spawn_blocking(move || read_all(&from, now)).await??;
    let trusted: Vec<SigningKey> = trusted_keys.iter().filter_map(|x| super::service::configured_key(x)).collect();
    let state = FirmwareState::new(rules, stored, trusted, now);
    let (device_updates, device_update_writer) = device_updates();
    device_updates.put(unsettled(&state, now));
    Ok(FirmwareActor {
        state,
        journal,
        responses: PendingResponses::default(),
        store,
        clock,
        publisher,
        devices,
        control,
        device_updates,
        device_update_writer: Some(device_update_writer),
        orphans,
        selecting: false,
        selection_scheduled: false,
        polls: HashMap::new(),
    })
}

/// Returns firmware updates of devices whose jobs may have ended with the server, to be written once more.
fn unsettled(state: &FirmwareState, now: Millis) -> Vec<(Arc<str>, FirmwareStateUpdate)> {
    let recent = |at: Millis| now.since(at) < Duration::from_secs(3600);
    let jobs = state.jobs.values().filter(|rollout| !rollout.is_settled() || recent(rollout.job.updated_at));
    let all = jobs.flat_map(|rollout| rollout.executions().iter().map(move |execution| (rollout, execution)));
    let newest = |device: &str, job: &str| state.jobs_of(device).next().is_some_and(|newest| *newest.job.id == *job);
    all.filter(|(rollout, execution)| newest(&execution.device_id, &rollout.job.id))
        .filter_map(|(rollout, execution)| {
            let update = firmware_of(&rollout.job, execution)?;
            Some((Arc::clone(&execution.device_id), FirmwareStateUpdate { repeated: true, ..update }))
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
        self.responses.settle(committed.last);
        for effect in committed.effects {
            match effect {
                FirmwareEffect::None => {}
                FirmwareEffect::Reply(reply) => reply.send(),
                FirmwareEffect::Changed(change) => self.announce(change),
                FirmwareEffect::TakeSnapshot(request, items) => request.answer(items),
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<FirmwareEffect>, error: &Error) {
        for effect in effects {
            if let FirmwareEffect::Reply(reply) = effect {
                reply.fail(error);
            }
        }
    }
}

impl FirmwareActor {
    pub(super) fn now(&self) -> Millis {
        self.clock.now()
    }

    fn announce(&mut self, Announcement { events, firmware, ready_devices }: Announcement) {
        self.publisher.publish(events);
        self.device_updates.put(firmware);
        for device in ready_devices {
            // A device that no longer waits polls again.
            self.polls.remove(&device).map(|poll| poll.send(()));
        }
    }

    /// Changes the state and records the change.
    pub(super) fn change<R>(
        &mut self,
        change: impl FnOnce(&mut FirmwareState, &mut FirmwareTransaction, Millis) -> Result<R, Error>,
        context: &mut Context<Self>,
    ) -> Result<R, Error> {
        let (now, mut transaction) = (self.now(), FirmwareTransaction::default());
        let changed = change(&mut self.state, &mut transaction, now);
        let jobs = std::mem::take(&mut transaction.touched);
        self.advance_jobs(&jobs.into_iter().collect::<Vec<_>>(), &mut transaction, now, context);
        self.record(transaction, context);
        changed
    }

    /// Advances jobs within the bound of one step; schedules another step if it did not suffice.
    fn advance_jobs(
        &mut self,
        jobs: &[Arc<str>],
        transaction: &mut FirmwareTransaction,
        now: Millis,
        context: &mut Context<Self>,
    ) {
        let mut left = STEP.min((MAX_OPS.saturating_sub(transaction.ops.len()) / 2).max(1));
        for job in jobs {
            left -= self.state.advance(job, left, transaction, now).min(left);
            if left == 0 {
                context.notify(Step);
                return;
            }
        }
    }

    fn step(&mut self, context: &mut Context<Self>) {
        // Everything stays due while the store accepts no writes.
        if self.admit().is_err() {
            return;
        }
        let (now, mut transaction) = (self.now(), FirmwareTransaction::default());
        let jobs = self.state.active_jobs();
        self.advance_jobs(&jobs, &mut transaction, now, context);
        self.state.progress(&mut transaction, now);
        self.record(transaction, context);
    }

    /// Hands a decision to the journal.
    pub(super) fn record(&mut self, mut transaction: FirmwareTransaction, context: &mut Context<Self>) {
        if let Some(error) = transaction.fault() {
            // Every record is bounded, so this is a fault of the server, and the state holds what cannot be stored.
            tracing::error!(%error, "a change of firmware cannot be stored");
            self.journal.fail(error);
        } else if !transaction.ops.is_empty() {
            let FirmwareTransaction { expect, earlier, ops, events, firmware, ready_devices, answer, .. } = transaction;
            for ops in earlier {
                self.journal.push(ops, FirmwareEffect::None);
            }
            let changed = FirmwareEffect::Changed(Announcement { events, firmware, ready_devices });
            let decision = self.journal.push_if(expect, ops, changed);
            if let Some((request, answer)) = answer {
                self.responses.insert(&request, answer, decision);
            }
        }
        self.flush(context);
        if !self.selection_scheduled {
            self.selection_scheduled = true;
            context.notify(SelectDevices);
        }
    }
}

impl Actor for FirmwareActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if let Some(device_update_writer) = self.device_update_writer.take() {
            context.spawn(device_update_writer.run(Arc::clone(&self.devices)).into_actor(self));
        }
        heartbeats(self.devices.heartbeats(), context, self);
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
                // Waiting devices poll again, elsewhere or later.
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
