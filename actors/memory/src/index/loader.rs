//! Loads slots on a blocking thread, beside the actor.
//!
//! A slot is loaded from a valid restore, otherwise from the store's entries; then later changes are applied in
//! order, up to the last one. The actor applies changes that arrive after that when it installs the slot. Entries read
//! from the store may be newer than the change that led to them: a later version is never replaced by an earlier one,
//! and deleted entries are not found.

use std::sync::Arc;

use muster_store::StoreError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::sync::CancellationToken;

use super::catch_up::catch_up_slots;
use super::messages::Event;
use super::shard_context::ShardContext;
use super::slot::Slot;
use crate::checkpoint::{Checkpoints, SlotNumber};
use crate::stored;

/// Loads slots of a shard.
pub(super) struct Loader {
    pub(super) shard_context: Arc<ShardContext>,
    pub(super) shard: usize,
    /// In order of their numbers.
    pub(super) slots: Vec<SlotNumber>,
    /// `None` if checkpoints cannot be trusted.
    pub(super) checkpoints: Option<Checkpoints>,
    pub(super) events: mpsc::UnboundedSender<Event>,
    pub(super) stopped: CancellationToken,
}

impl Loader {
    /// Sends every slot to the shard, unless the shard ends. The file permit is released once the files are read.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn run(self, disk: Option<OwnedSemaphorePermit>) -> Result<(), StoreError> {
        let last = stored::last_change(&self.shard_context.store)?;
        let (mut restored, mut missing) = (Vec::new(), Vec::new());
        for (done, number) in self.slots.iter().enumerate() {
            if self.stopped.is_cancelled() {
                return Ok(());
            }
            self.publish_percent(done as u64, self.slots.len() as u64);
            match self.restore(*number, last) {
                Some(slot) => restored.push(slot),
                None => missing.push(*number),
            }
        }
        drop(disk);
        self.send_loaded(restored)?;
        if !missing.is_empty() {
            let rebuilt = self.rebuild(&missing)?;
            self.send_loaded(rebuilt)?;
        }
        Ok(())
    }

    fn restore(&self, number: SlotNumber, last: u64) -> Option<Slot> {
        let checkpoints = self.checkpoints.as_ref()?;
        Some(Slot::restored(number, checkpoints.load(number, &self.shard_context.mark(), last)?))
    }

    fn send_loaded(&self, mut slots: Vec<Slot>) -> Result<(), StoreError> {
        let Some(behind) = slots.iter().map(|slot| slot.changed).min() else { return Ok(()) };
        let through = catch_up_slots(&mut slots, behind, None, &self.shard_context)?;
        self.send(Event::Loaded(slots, through));
        Ok(())
    }

    pub(super) fn publish_percent(&self, done: u64, all: u64) {
        let percent = (done * 100).checked_div(all).unwrap_or(0).min(99);
        self.send(Event::Percent(u8::try_from(percent).unwrap_or(99)));
    }

    /// Sending fails only when the shard has ended.
    pub(super) fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }
}
