//! Reads missed changes.

use std::sync::atomic::Ordering;

use muster_store::StoreError;

use super::actor::Shard;
use super::shard_context::ShardContext;
use super::slot::Slot;
use crate::checkpoint::SlotNumber;
use crate::record::Change;
use crate::stored;

/// Changes read per page.
const PAGE: usize = 500;

/// Applies the changes after `behind` to slots, up to `through` or the last durable one; returns how far it got. The
/// slots are in the order of their numbers.
///
/// # Errors
/// A change cannot be read.
pub(super) fn catch_up_slots(
    slots: &mut [Slot],
    behind: u64,
    through: Option<u64>,
    shard_context: &ShardContext,
) -> Result<u64, StoreError> {
    let (mut reached, most) = (behind, through.unwrap_or(u64::MAX));
    while reached < most {
        let page = stored::changes(&shard_context.store, reached, PAGE)?;
        if page.is_empty() {
            break;
        }
        for (seq, change) in page {
            if seq > most {
                return Ok(reached);
            }
            let number = SlotNumber::of(change.owner());
            if let Ok(place) = slots.binary_search_by_key(&number, |slot| slot.number)
                && let Some(slot) = slots.get_mut(place)
            {
                slot.replay(seq, &change, shard_context)?;
            }
            reached = seq;
        }
    }
    Ok(reached)
}

impl Shard {
    /// Reads the changes that the shard is known to have missed. A failed read is retried at the next call.
    pub(super) fn catch_up(&mut self) {
        let missed = self.snapshot().map_or(0, |snapshot| snapshot.missed.load(Ordering::Acquire));
        if missed <= self.applied {
            return;
        }
        tracing::info!(shard = self.number, from = self.applied, to = missed, "missed changes are read from the store");
        if let Err(error) = self.read_missed(missed) {
            tracing::warn!(shard = self.number, %error, "missed changes cannot be read yet");
        }
        self.shard_context.published.missing_vectors.notify_one();
    }

    fn read_missed(&mut self, missed: u64) -> Result<(), StoreError> {
        while self.applied < missed {
            let page = stored::changes(&self.shard_context.store, self.applied, PAGE)?;
            if page.is_empty() {
                self.applied = missed;
            }
            for (seq, change) in page {
                if let Change::OwnerDeleted { owner } = &change
                    && self.forget(owner)
                {
                    // No caller waits for it; the announcer is informed when it ends.
                    self.purge(tokio::sync::oneshot::channel().0);
                }
                if let Some(slot_state) = self.slots.get_mut(&SlotNumber::of(change.owner())) {
                    slot_state.slot.replay(seq, &change, &self.shard_context)?;
                }
                self.applied = seq;
            }
        }
        Ok(())
    }
}
