//! Background writes to the store: removes published events from the outbox, stores offsets, and removes journal files
//! that no history needs.

use std::sync::Arc;

use actix::fut::ActorFutureExt;
use actix::{AsyncContext, Context, WrapFuture};
use muster_store::{Batch, StoreError, StoreHandle};

use super::actor::Hub;
use super::record::{Head, offset_op};

/// Maximum number of offsets in one batch.
const BATCH: usize = 2_000;

type Offsets = Vec<(Arc<str>, u64)>;

impl Hub {
    /// Syncs the journal, then removes published events from the outbox, so that after a power cut each event is in at
    /// least one of them.
    pub(super) fn settle(&mut self, context: &mut Context<Self>) {
        if self.settling || !(self.resources.journal.dirty() || self.outbox.unsettled() > 0) {
            return;
        }
        self.settling = true;
        let (ids, batch) = self.outbox.settling().unwrap_or_default();
        let (journal, store) = (Arc::clone(&self.resources.journal), Arc::clone(&self.resources.options.store));
        let settled = async move {
            let synced = tokio::task::spawn_blocking(move || journal.sync()).await;
            synced.unwrap_or_else(|_| Err(StoreError::Io("a sync ended early".to_owned())))?;
            if batch.ops.is_empty() { Ok(()) } else { store.commit(batch).await }
        };
        context.spawn(settled.into_actor(self).map(move |settled, actor, context| {
            actor.settling = false;
            match settled {
                Ok(()) => {
                    actor.outbox.settled(&ids);
                    // More than one batch was pending.
                    if actor.outbox.unsettled() > BATCH {
                        actor.settle(context);
                    }
                }
                Err(error) => tracing::warn!(%error, "published events could not be removed from the outbox: retrying"),
            }
        }));
    }

    /// Stores changed offsets, then removes unneeded journal files.
    pub(super) fn checkpoint(&mut self, context: &mut Context<Self>) {
        if self.saving {
            return;
        }
        if self.resources.journal.stats().bytes > self.limits().journal_bytes {
            tracing::warn!("the feed's journal has reached its maximum size: dropping the older half of the history");
            self.histories.halve();
            self.resources.journal.rotate();
        }
        let offsets = self.histories.take_unsaved();
        if offsets.is_empty() && self.head.number == self.reached {
            return self.remove_unneeded();
        }
        let head = Head { number: self.reached, ..self.head.clone() };
        self.saving = true;
        let saved = save(Arc::clone(&self.resources.options.store), head.clone(), offsets.clone());
        context.spawn(saved.into_actor(self).map(move |saved, actor, _| {
            actor.saving = false;
            match saved {
                Ok(()) => {
                    actor.head = head;
                    actor.histories.saved(&offsets);
                    actor.remove_unneeded();
                }
                Err(error) => {
                    tracing::warn!(%error, "could not store offsets of the feed: they remain in its journal");
                    actor.histories.not_saved(offsets);
                }
            }
        }));
    }

    /// Removes journal files before every history, every event in the outbox and the stored offsets. The newest frame
    /// is kept: it proves that the journal is the one known to the store.
    fn remove_unneeded(&self) {
        let needed = [self.histories.oldest_number(), self.outbox.oldest_number(), Some(self.head.number)];
        let Some(needed) = needed.into_iter().flatten().min() else { return };
        let journal = Arc::clone(&self.resources.journal);
        tokio::task::spawn_blocking(move || journal.remove_through(needed.saturating_sub(1)));
    }

    /// Queues the records that prove a clean shutdown. Nobody waits for the result: if they are not written, the next
    /// start proves continuity by the machine's boot identifier, or begins a new epoch.
    pub(super) fn write_clean_shutdown(&mut self) -> Result<(), StoreError> {
        self.resources.journal.sync()?;
        let store = &self.resources.options.store;
        for batch in offset_batches(&self.histories.take_unsaved())? {
            // A commit is queued by the call; dropping its future does not cancel it.
            drop(store.commit(batch));
        }
        let head = Head { clean: true, number: self.reached, ..self.head.clone() };
        drop(store.commit(head.batch()?));
        Ok(())
    }
}

async fn save(store: StoreHandle, head: Head, offsets: Offsets) -> Result<(), StoreError> {
    for batch in offset_batches(&offsets)? {
        store.commit(batch).await?;
    }
    store.commit(head.batch()?).await
}

fn offset_batches(offsets: &[(Arc<str>, u64)]) -> Result<Vec<Batch>, StoreError> {
    let batch = |part: &[(Arc<str>, u64)]| {
        let ops = part.iter().map(|(channel, offset)| offset_op(channel, *offset));
        Ok(Batch { ops: ops.collect::<Result<_, StoreError>>()?, ..Batch::default() })
    };
    offsets.chunks(BATCH).map(batch).collect()
}
