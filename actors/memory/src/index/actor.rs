//! Actor of an index shard.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, StreamHandler};
use futures::stream;
use muster_store::StoreError;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::checkpoints::Saving;
use super::loader::Loader;
use super::messages::{AnnouncedThrough, Apply, Event};
use super::published::ShardSnapshot;
use super::shard_context::ShardContext;
use super::slot::Slot;
use super::timings::Timings;
use crate::checkpoint::{Checkpoints, SlotNumber, identity};
use crate::port::{Applied, AppliedKind, IndexHealth};
use crate::record::{Owner, Space};
use crate::stored;
use muster_core::supervise::{BuildError, Control, Phase};
use muster_retrieval::Collection;

/// Interval at which a shard checks whether it is behind.
const CHECK_EVERY: Duration = Duration::from_secs(2);
/// Delay before loading is retried after a failure.
const LOAD_RETRY: Duration = Duration::from_secs(5);
/// Maximum duration of one slice of graph construction, and the pause after it.
const BUILD_SLICE: Duration = Duration::from_millis(2);
const BUILD_PAUSE: Duration = Duration::from_millis(1);
/// Insertions into a graph between two readings of the clock.
const BUILD_STEP: usize = 2;

/// Owns the collections of its slots.
pub struct Shard {
    pub(super) shard_context: Arc<ShardContext>,
    pub(super) number: usize,
    pub(super) slots: BTreeMap<SlotNumber, SlotState>,
    /// Last change contained in the slots, or in those being loaded once they are.
    pub(super) applied: u64,
    /// `None` if the store or the disk fails: then everything is in memory only, and rebuilt at each start.
    pub(super) checkpoints: Option<Checkpoints>,
    pub(super) saving: Saving,
    /// Owner last served when entries without a vector were requested.
    pub(super) last: Option<Owner>,
    pub(super) timings: Timings,
    pub(super) events: mpsc::UnboundedSender<Event>,
    /// Cancelled with the actor, also on panic, so that its jobs end.
    pub(super) stopped: CancellationToken,
    control: Control,
    received: Option<mpsc::UnboundedReceiver<Event>>,
    /// Graph construction is scheduled.
    build_scheduled: bool,
    /// Changes in the store that had not been announced at the last check.
    unannounced: u64,
    _stop_guard: DropGuard,
}

/// A slot and its loading state.
pub(super) struct SlotState {
    /// While loading: only the changes since then.
    pub(super) slot: Slot,
    pub(super) loading: Option<LoadingSlot>,
}

/// State of a slot that is being loaded.
#[derive(Debug, Default)]
pub(super) struct LoadingSlot {
    /// Collections as far as they are built.
    pub(super) partial: BTreeMap<Space, Collection>,
    /// Its checkpoint was removed meanwhile.
    pub(super) removed: bool,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shard").field("number", &self.number).field("applied", &self.applied).finish_non_exhaustive()
    }
}

impl Shard {
    /// Creates an empty shard that responds immediately; its content is loaded while it runs.
    pub(super) async fn build(
        shard_context: Arc<ShardContext>,
        number: usize,
        control: Control,
    ) -> Result<Self, BuildError> {
        let applied = stored::last_change(&shard_context.store)?;
        let checkpoints = Self::checkpoints(&shard_context).await;
        let loading = |number| (number, SlotState { slot: Slot::new(number), loading: Some(LoadingSlot::default()) });
        let slots = shard_context.slots(number).map(loading).collect();
        let (events, received) = mpsc::unbounded_channel();
        let stopped = CancellationToken::new();
        Ok(Self {
            number,
            slots,
            applied,
            checkpoints,
            saving: Saving::default(),
            last: None,
            timings: Timings::default(),
            events,
            _stop_guard: stopped.clone().drop_guard(),
            stopped,
            control,
            received: Some(received),
            build_scheduled: false,
            unannounced: 0,
            shard_context,
        })
    }

    async fn checkpoints(shard_context: &ShardContext) -> Option<Checkpoints> {
        let folder = shard_context.folder.clone();
        let opened = match identity(&shard_context.store).await {
            Ok(store) => tokio::task::spawn_blocking(move || Checkpoints::open(&folder, store)).await,
            Err(error) => {
                tracing::warn!(%error, "the memory's index keeps no checkpoints: the store has no identity");
                return None;
            }
        };
        let opened = opened.map_err(std::io::Error::other).and_then(|opened| opened);
        opened.inspect_err(|error| tracing::warn!(%error, "the memory's index keeps no checkpoints")).ok()
    }

    /// Returns the state that this shard publishes.
    pub(super) fn snapshot(&self) -> Option<&ShardSnapshot> {
        self.shard_context.published.shards.get(self.number)
    }

    pub(super) fn set_health(&self, health: IndexHealth) {
        self.snapshot().into_iter().for_each(|snapshot| snapshot.set_health(health));
    }

    /// Returns whether all slots are loaded.
    pub(super) fn ready(&self) -> bool {
        self.slots.values().all(|slot_state| slot_state.loading.is_none())
    }

    /// Loads missing slots on another thread.
    fn load(&self, checkpoints: Option<Checkpoints>) {
        let loader = Loader {
            shard_context: Arc::clone(&self.shard_context),
            shard: self.number,
            slots: self
                .slots
                .iter()
                .filter(|(_, slot_state)| slot_state.loading.is_some())
                .map(|(slot, _)| *slot)
                .collect(),
            checkpoints,
            events: self.events.clone(),
            stopped: self.stopped.clone(),
        };
        let events = self.events.clone();
        actix_rt::spawn(async move {
            let disk = loader.shard_context.disk(loader.shard).await;
            let (why, panicked) = match tokio::task::spawn_blocking(move || loader.run(disk)).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => (error.to_string(), false),
                Err(panic) => (panic.to_string(), true),
            };
            // Sending fails only when the shard has ended.
            let _ = events.send(Event::LoadFailed { why, panicked });
        });
    }

    /// Installs loaded slots and applies the changes made while they were loaded.
    fn install(&mut self, slots: Vec<Slot>, through: u64, context: &mut Context<Self>) -> Result<(), StoreError> {
        for mut slot in slots {
            let Some(slot_state) = self.slots.get_mut(&slot.number) else { continue };
            if slot_state.slot.changed > through {
                super::catch_up::catch_up_slots(
                    std::slice::from_mut(&mut slot),
                    through,
                    Some(self.applied),
                    &self.shard_context,
                )?;
            }
            if slot_state.loading.take().is_some_and(|loading| loading.removed) {
                slot.lose_checkpoint();
            }
            slot_state.slot = slot;
        }
        if self.ready() {
            self.set_health(IndexHealth::Ready);
            tracing::info!(shard = self.number, applied = self.applied, "the memory's index is ready");
            // Slots that had to be rebuilt should not be rebuilt at the next start.
            if self.slots.values().any(|slot_state| slot_state.slot.saved.through.is_none()) {
                self.checkpoint(None);
            }
        }
        self.shard_context.published.missing_vectors.notify_one();
        self.build_soon(context);
        Ok(())
    }

    pub(super) fn build_soon(&mut self, context: &mut Context<Self>) {
        if !self.build_scheduled && self.slots.values().any(|slot_state| !slot_state.slot.building.is_empty()) {
            self.build_scheduled = true;
            context.run_later(BUILD_PAUSE, |shard, context| {
                shard.build_scheduled = false;
                shard.build_some();
                shard.build_soon(context);
            });
        }
    }

    /// One slice of vector graph construction; searches wait at most this long.
    fn build_some(&mut self) {
        let begun = std::time::Instant::now();
        for slot_state in self.slots.values_mut() {
            while let Some(space) = slot_state.slot.building.first().cloned() {
                let left =
                    slot_state.slot.collections.get_mut(&space).map_or(0, |collection| collection.work(BUILD_STEP));
                if left == 0 {
                    slot_state.slot.building.remove(&space);
                }
                if begun.elapsed() >= BUILD_SLICE {
                    return;
                }
            }
        }
    }

    /// Checks for changes that did not reach the shard, and reads them.
    fn check_for_missed(&mut self, context: &mut Context<Self>) {
        let announced = self.shard_context.published.announced.load(Ordering::Acquire);
        // A writer that died may have left changes in the store that it did not announce: what is still unannounced at
        // the second check is read.
        if let Some(snapshot) = self.snapshot().filter(|_| self.unannounced > announced) {
            snapshot.missed.fetch_max(self.unannounced, Ordering::AcqRel);
        }
        self.unannounced = stored::last_change(&self.shard_context.store).unwrap_or(0);
        self.catch_up();
        // After everything announced so far. If the mailbox is full, the next check repeats it.
        let _ = context.address().try_send(AnnouncedThrough(announced));
    }
}

impl Actor for Shard {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        self.set_health(IndexHealth::Rebuilding { percent: 0 });
        if let Some(received) = self.received.take() {
            context.add_stream(stream::unfold(received, |mut received| async move {
                Some((received.recv().await?, received))
            }));
        }
        self.load(self.checkpoints.clone());
        context.run_interval(CHECK_EVERY, Self::check_for_missed);
        context.run_interval(self.shard_context.checkpoint_every, |shard, _| shard.checkpoint(None));
        let (mut phase, events, stopped) = (self.control.phase(), self.events.clone(), self.stopped.clone());
        actix_rt::spawn(async move {
            let drains = stopped.run_until_cancelled(phase.wait_for(|phase| *phase == Phase::Drain)).await;
            if drains.is_some_and(|phase| phase.is_ok()) {
                let _ = events.send(Event::Drain);
            }
        });
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        self.set_health(IndexHealth::Down);
    }
}

impl Handler<Apply> for Shard {
    type Result = ();

    fn handle(&mut self, apply: Apply, context: &mut Context<Self>) {
        self.catch_up();
        for change in apply.changes.iter().filter(|change| change.seq > self.applied) {
            let Some(slot_state) = self.slots.get_mut(&SlotNumber::of(change.owner())) else { continue };
            slot_state.slot.apply(change, &self.shard_context);
        }
        self.applied = apply.changes.last().map_or(self.applied, |last| last.seq.max(self.applied));
        self.shard_context.published.missing_vectors.notify_one();
        self.build_soon(context);
        let deleted: BTreeSet<&Owner> = apply.changes.iter().filter_map(deleted_owner).collect();
        let deleted: Vec<&Owner> = deleted.into_iter().filter(|owner| self.forget(owner)).collect();
        if deleted.is_empty() {
            // The writer may have stopped waiting.
            let _ = apply.done.send(true);
            return;
        }
        let (to, removed) = tokio::sync::oneshot::channel();
        self.purge(to);
        actix_rt::spawn(async move {
            let _ = apply.done.send(matches!(removed.await, Ok(Ok(()))));
        });
    }
}

fn deleted_owner(change: &Applied) -> Option<&Owner> {
    match &change.kind {
        AppliedKind::OwnerDeleted { owner } => Some(owner),
        _ => None,
    }
}

impl Handler<AnnouncedThrough> for Shard {
    type Result = ();

    fn handle(&mut self, AnnouncedThrough(announced): AnnouncedThrough, _: &mut Context<Self>) {
        self.catch_up();
        self.applied = self.applied.max(announced);
    }
}

impl StreamHandler<Event> for Shard {
    fn handle(&mut self, event: Event, context: &mut Context<Self>) {
        match event {
            Event::Loaded(slots, through) => {
                if let Err(error) = self.install(slots, through, context) {
                    let _ = self.events.send(Event::LoadFailed { why: error.to_string(), panicked: false });
                }
            }
            Event::Partial(collections) => {
                for (space, collection) in collections {
                    let slot_state = self.slots.get_mut(&SlotNumber::of(&space.owner));
                    if let Some(loading) = slot_state.and_then(|slot_state| slot_state.loading.as_mut()) {
                        loading.partial.insert(space, collection);
                    }
                }
            }
            Event::Percent(percent) if !self.ready() => self.set_health(IndexHealth::Rebuilding { percent }),
            Event::Percent(_) => {}
            Event::LoadFailed { why, panicked } => {
                tracing::error!(shard = self.number, why, "the memory's index could not be loaded: tried again");
                let from = if panicked { None } else { self.checkpoints.clone() };
                context.run_later(LOAD_RETRY, move |shard, _| shard.load(from));
            }
            Event::Saved(outcomes) => self.saved(outcomes),
            Event::Drain => self.checkpoint(None),
        }
    }

    /// The sender is in the actor: the stream ends with it.
    fn finished(&mut self, _: &mut Context<Self>) {}
}
