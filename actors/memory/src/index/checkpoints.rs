//! Scheduling of checkpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{Context, Handler};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::actor::Shard;
use super::messages::{Checkpoint, Event};
use super::slot::Underway;
use super::trim;
use crate::checkpoint::{Checkpoints, FileEntry, PartKey, SlotNumber, SlotSave};
use crate::record::Owner;

/// Receives whether a checkpoint that began after the request is durable.
pub(super) type Waiter = oneshot::Sender<Result<(), String>>;

/// State of the shard's checkpoints.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// The checkpoint being written, if any.
    underway: Option<Run>,
    /// Requests made since it began.
    waiting: Vec<Waiter>,
    /// Another one is needed after it.
    again: bool,
    /// Slots whose data must be removed from disk, which go first and alone, with their waiters.
    purge: BTreeSet<SlotNumber>,
    purging: Vec<Waiter>,
    /// Slots being loaded whose files contain data to be removed.
    remove: Vec<SlotNumber>,
    /// Quarantined files may contain data to be removed.
    empty_quarantine: bool,
    /// Why the last one failed.
    pub(super) fault: Option<String>,
}

#[derive(Debug)]
struct Run {
    slots: BTreeMap<SlotNumber, Underway>,
    waiters: Vec<Waiter>,
    /// Last change contained in a checkpoint if this run succeeds.
    covers: Option<u64>,
}

/// Work on a thread that may block.
struct Job {
    checkpoints: Checkpoints,
    saves: Vec<SlotSave>,
    remove: Vec<SlotNumber>,
    empty_quarantine: bool,
    stopped: CancellationToken,
}

type Outcome = (SlotNumber, io::Result<BTreeMap<PartKey, FileEntry>>);

impl Job {
    fn run(self) -> Vec<Outcome> {
        let is_wanted = || !self.stopped.is_cancelled();
        let mut outcomes = Vec::new();
        for slot in self.remove {
            outcomes.push((slot, self.checkpoints.remove(slot).map(|()| BTreeMap::new())));
        }
        for save in self.saves {
            // The next incarnation waits for this job, which ends after the current slot if the shard is dead.
            let slot = save.slot;
            let dead = || Err(io::Error::new(io::ErrorKind::Interrupted, "the shard has died meanwhile"));
            outcomes.push((slot, if is_wanted() { self.checkpoints.save(save, &is_wanted) } else { dead() }));
        }
        if self.empty_quarantine
            && let Err(error) = self.checkpoints.empty_quarantine()
        {
            outcomes.push((SlotNumber(u8::MAX), Err(error)));
        }
        outcomes
    }
}

impl Shard {
    /// Writes what has changed, after the current run.
    pub(super) fn checkpoint(&mut self, waiter: Option<Waiter>) {
        self.saving.waiting.extend(waiter);
        if self.saving.underway.is_some() {
            self.saving.again = true;
        } else {
            self.begin();
        }
    }

    /// Removes data from disk, after the current run and before anything else.
    pub(super) fn purge(&mut self, waiter: Waiter) {
        self.saving.purging.push(waiter);
        if self.saving.underway.is_none() {
            self.begin();
        }
    }

    fn begin(&mut self) {
        let only = std::mem::take(&mut self.saving.purge);
        let (purges, through) = (!self.saving.purging.is_empty(), self.applied);
        let waiters = std::mem::take(if purges { &mut self.saving.purging } else { &mut self.saving.waiting });
        self.saving.again = purges && (self.saving.again || !self.saving.waiting.is_empty());
        let Some(checkpoints) = self.checkpoints.clone() else {
            notify(waiters, &Ok(()));
            return notify(std::mem::take(&mut self.saving.waiting), &Ok(()));
        };
        let covers = (!purges && self.ready()).then_some(through);
        let (mut slots, mut saves) = (BTreeMap::new(), Vec::new());
        for (number, slot_state) in self.slots.iter_mut().filter(|(number, _)| !purges || only.contains(number)) {
            if slot_state.loading.is_none() && slot_state.slot.dirty() {
                let (save, underway) = slot_state.slot.save(through, &self.shard_context.mark());
                saves.push(save);
                slots.insert(*number, underway);
            }
        }
        let job = Job {
            checkpoints,
            saves,
            remove: std::mem::take(&mut self.saving.remove),
            empty_quarantine: std::mem::take(&mut self.saving.empty_quarantine),
            stopped: self.stopped.clone(),
        };
        let numbers: Vec<SlotNumber> = slots.keys().copied().collect();
        self.saving.underway = Some(Run { slots, waiters, covers });
        let (events, shard_context, shard) = (self.events.clone(), Arc::clone(&self.shard_context), self.number);
        actix_rt::spawn(async move {
            let disk = shard_context.disk(shard).await;
            let written = tokio::task::spawn_blocking(move || {
                // Held until the end, even if no caller waits.
                let _disk = disk;
                job.run()
            });
            let outcomes = written.await.unwrap_or_else(|panic| {
                let broke = || io::Error::other(format!("writing was interrupted: {panic}"));
                // An aborted checkpoint without slots has failed too.
                numbers.into_iter().chain([SlotNumber(u8::MAX)]).map(|number| (number, Err(broke()))).collect()
            });
            let _ = events.send(Event::Saved(outcomes));
        });
    }

    pub(super) fn saved(&mut self, outcomes: Vec<Outcome>) {
        let Some(mut run) = self.saving.underway.take() else { return };
        let mut ended = Ok(());
        for (number, outcome) in outcomes {
            let underway = run.slots.remove(&number);
            let slot_state = self.slots.get_mut(&number);
            match (outcome, underway, slot_state) {
                (Ok(files), Some(underway), Some(slot_state)) => slot_state.slot.saved(underway, files),
                (Err(error), underway, slot_state) => {
                    tracing::warn!(shard = self.number, slot = number.0, %error, "a checkpoint was not written");
                    ended = Err(error.to_string());
                    match (underway, slot_state) {
                        (Some(underway), Some(slot_state)) => slot_state.slot.not_saved(underway),
                        (_, Some(_)) => self.saving.remove.push(number),
                        (_, None) => self.saving.empty_quarantine = true,
                    }
                }
                (Ok(_), _, _) => {}
            }
        }
        self.saving.fault = ended.as_ref().err().cloned();
        if let (Ok(()), Some(covers), Some(snapshot)) = (&ended, run.covers, self.snapshot()) {
            snapshot.covered.fetch_max(covers, Ordering::AcqRel);
            trim::begin(&self.shard_context);
        }
        notify(run.waiters, &ended);
        if self.saving.again || !self.saving.purging.is_empty() {
            self.begin();
        }
    }

    /// Schedules the removal of an owner's data from disk. Returns false if the owner belongs to another shard.
    pub(super) fn forget(&mut self, owner: &Owner) -> bool {
        let number = SlotNumber::of(owner);
        let Some(slot_state) = self.slots.get_mut(&number) else { return false };
        self.saving.empty_quarantine = true;
        self.saving.purge.insert(number);
        if let Some(loading) = &mut slot_state.loading {
            loading.partial.retain(|space, _| space.owner != *owner);
            loading.removed = true;
            self.saving.remove.push(number);
        }
        true
    }
}

impl Handler<Checkpoint> for Shard {
    type Result = ();

    fn handle(&mut self, checkpoint: Checkpoint, _: &mut Context<Self>) {
        self.catch_up();
        self.checkpoint(Some(checkpoint.done));
    }
}

/// Sends the outcome of a checkpoint to its waiters.
fn notify(waiters: Vec<Waiter>, ended: &Result<(), String>) {
    for waiter in waiters {
        // The waiter may have stopped waiting.
        let _ = waiter.send(ended.clone());
    }
}
