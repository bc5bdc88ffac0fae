//! What is carried into the store beside the turns: what was told leaves the outbox, offsets are stored, and what no
//! history needs is forgotten.

use std::sync::Arc;

use actix::fut::ActorFutureExt;
use actix::{AsyncContext, Context, WrapFuture};
use muster_store::{Batch, StoreError, StoreHandle};

use super::actor::Hub;
use super::record::{Head, offset_op};

/// Most offsets in one batch.
const BATCH: usize = 2_000;

type Offsets = Vec<(Arc<str>, u64)>;

impl Hub {
    /// Syncs the journal, then takes what was told out of the outbox: so a power cut leaves each event in one of them.
    pub(super) fn settle(&mut self, context: &mut Context<Self>) {
        if self.settling || !(self.parts.journal.dirty() || self.outbox.unsettled() > 0) {
            return;
        }
        self.settling = true;
        let (ids, batch) = self.outbox.settling().unwrap_or_default();
        let (journal, store) = (Arc::clone(&self.parts.journal), Arc::clone(&self.parts.options.store));
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
                    // More than one batch waited.
                    if actor.outbox.unsettled() > BATCH {
                        actor.settle(context);
                    }
                }
                Err(error) => tracing::warn!(%error, "events that were told stay in the outbox for now"),
            }
        }));
    }

    /// Stores the offsets that changed, then forgets what nobody needs.
    pub(super) fn checkpoint(&mut self, context: &mut Context<Self>) {
        if self.saving {
            return;
        }
        if self.parts.journal.stats().bytes > self.limits().journal_bytes {
            tracing::warn!("the feed's journal is at its bound: the older half of the history goes");
            self.histories.halve();
            self.parts.journal.rotate();
        }
        let offsets = self.histories.take_unsaved();
        if offsets.is_empty() && self.head.number == self.reached {
            return self.forget();
        }
        let head = Head { number: self.reached, ..self.head.clone() };
        self.saving = true;
        let saved = save(Arc::clone(&self.parts.options.store), head.clone(), offsets.clone());
        context.spawn(saved.into_actor(self).map(move |saved, actor, _| {
            actor.saving = false;
            match saved {
                Ok(()) => {
                    actor.head = head;
                    actor.histories.saved(&offsets);
                    actor.forget();
                }
                Err(error) => {
                    tracing::warn!(%error, "offsets of the feed are not stored: they stay in its journal");
                    actor.histories.not_saved(offsets);
                }
            }
        }));
    }

    /// Frees what stands before every history, every event in the outbox and the stored offsets. The newest frame stays:
    /// it proves that the journal is the one that the store knows.
    fn forget(&self) {
        let needed = [self.histories.oldest_number(), self.outbox.oldest_number(), Some(self.head.number)];
        let Some(needed) = needed.into_iter().flatten().min() else { return };
        let journal = Arc::clone(&self.parts.journal);
        tokio::task::spawn_blocking(move || journal.remove_through(needed.saturating_sub(1)));
    }

    /// Queues what proves that nothing is missing. Nobody is left to hear whether it got there: then the next start
    /// proves it by the machine's boot, or begins a new epoch.
    pub(super) fn last_words(&mut self) -> Result<(), StoreError> {
        self.parts.journal.sync()?;
        let store = &self.parts.options.store;
        for batch in offset_batches(&self.histories.take_unsaved())? {
            // A commit is queued by the call; dropping its future does not undo it.
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
