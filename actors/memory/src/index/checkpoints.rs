//! When checkpoints are written, and what follows.

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

/// Told whether a checkpoint that began after it asked is durable.
pub(super) type Waiter = oneshot::Sender<Result<(), String>>;

/// What is known of the shard's checkpoints.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// Slots whose checkpoint is being written; `None` where none is.
    underway: Option<Run>,
    /// Asked since the one under way began.
    waiting: Vec<Waiter>,
    /// Another is wanted behind the one under way.
    again: bool,
    /// Slots with something that must be gone, which go first and alone, and who waits for that.
    purge: BTreeSet<SlotNumber>,
    purging: Vec<Waiter>,
    /// Slots that are being loaded, whose files hold what must be gone.
    remove: Vec<SlotNumber>,
    /// What was set aside may hold what must be gone.
    empty_aside: bool,
    /// Why the last one failed.
    pub(super) fault: Option<String>,
}

#[derive(Debug)]
struct Run {
    slots: BTreeMap<SlotNumber, Underway>,
    waiters: Vec<Waiter>,
    /// Where it succeeds, every change up to this one is in a checkpoint.
    covers: Option<u64>,
}

/// What is done on a thread that may block.
struct Job {
    checkpoints: Checkpoints,
    saves: Vec<SlotSave>,
    remove: Vec<SlotNumber>,
    empty_aside: bool,
    gone: CancellationToken,
}

type Outcome = (SlotNumber, io::Result<BTreeMap<PartKey, FileEntry>>);

impl Job {
    fn run(self) -> Vec<Outcome> {
        let wanted = || !self.gone.is_cancelled();
        let mut outcomes = Vec::new();
        for slot in self.remove {
            outcomes.push((slot, self.checkpoints.remove(slot).map(|()| BTreeMap::new())));
        }
        for save in self.saves {
            // The next incarnation waits for this job: it ends with the slot in hand, should the shard be dead.
            let slot = save.slot;
            let dead = || Err(io::Error::new(io::ErrorKind::Interrupted, "the shard has died meanwhile"));
            outcomes.push((slot, if wanted() { self.checkpoints.save(save, &wanted) } else { dead() }));
        }
        if self.empty_aside
            && let Err(error) = self.checkpoints.empty_aside()
        {
            outcomes.push((SlotNumber(u8::MAX), Err(error)));
        }
        outcomes
    }
}

impl Shard {
    /// Writes what has changed, after what is being written.
    pub(super) fn checkpoint(&mut self, waiter: Option<Waiter>) {
        self.saving.waiting.extend(waiter);
        if self.saving.underway.is_some() {
            self.saving.again = true;
        } else {
            self.begin();
        }
    }

    /// Removes what must be gone from the disk, after what is being written and before all else.
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
            answer(waiters, &Ok(()));
            return answer(std::mem::take(&mut self.saving.waiting), &Ok(()));
        };
        let covers = (!purges && self.ready()).then_some(through);
        let (mut slots, mut saves) = (BTreeMap::new(), Vec::new());
        for (number, seat) in self.slots.iter_mut().filter(|(number, _)| !purges || only.contains(number)) {
            if seat.coming.is_none() && seat.slot.dirty() {
                let (save, underway) = seat.slot.save(through, &self.kit.mark());
                saves.push(save);
                slots.insert(*number, underway);
            }
        }
        let job = Job {
            checkpoints,
            saves,
            remove: std::mem::take(&mut self.saving.remove),
            empty_aside: std::mem::take(&mut self.saving.empty_aside),
            gone: self.gone.clone(),
        };
        let numbers: Vec<SlotNumber> = slots.keys().copied().collect();
        self.saving.underway = Some(Run { slots, waiters, covers });
        let (events, kit, shard) = (self.events.clone(), Arc::clone(&self.kit), self.number);
        actix_rt::spawn(async move {
            let disk = kit.disk(shard).await;
            let written = tokio::task::spawn_blocking(move || {
                // Held to its end, whoever waits for it.
                let _disk = disk;
                job.run()
            });
            let outcomes = written.await.unwrap_or_else(|panic| {
                let broke = || io::Error::other(format!("writing broke off: {panic}"));
                // A checkpoint of nothing that broke off failed, too.
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
            let seat = self.slots.get_mut(&number);
            match (outcome, underway, seat) {
                (Ok(files), Some(underway), Some(seat)) => seat.slot.saved(underway, files),
                (Err(error), underway, seat) => {
                    tracing::warn!(shard = self.number, slot = number.0, %error, "a checkpoint was not written");
                    ended = Err(error.to_string());
                    match (underway, seat) {
                        (Some(underway), Some(seat)) => seat.slot.not_saved(underway),
                        (_, Some(_)) => self.saving.remove.push(number),
                        (_, None) => self.saving.empty_aside = true,
                    }
                }
                (Ok(_), _, _) => {}
            }
        }
        self.saving.fault = ended.as_ref().err().cloned();
        if let (Ok(()), Some(covers), Some(shown)) = (&ended, run.covers, self.shown()) {
            shown.covered.fetch_max(covers, Ordering::AcqRel);
            trim::begin(&self.kit);
        }
        answer(run.waiters, &ended);
        if self.saving.again || !self.saving.purging.is_empty() {
            self.begin();
        }
    }

    /// Nothing of an owner may be left on the disk: the next purge sees to it. False where it is with another shard.
    pub(super) fn forget(&mut self, owner: &Owner) -> bool {
        let number = SlotNumber::of(owner);
        let Some(seat) = self.slots.get_mut(&number) else { return false };
        self.saving.empty_aside = true;
        self.saving.purge.insert(number);
        if let Some(coming) = &mut seat.coming {
            coming.partial.retain(|space, _| space.owner != *owner);
            coming.removed = true;
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

fn answer(waiters: Vec<Waiter>, ended: &Result<(), String>) {
    for waiter in waiters {
        // Who no longer waits is no error.
        let _ = waiter.send(ended.clone());
    }
}
