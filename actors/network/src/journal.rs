//! Journals of the actors of this crate across restarts ([`muster_core::journal`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use muster_core::journal::Journal;
use muster_store::StoreHandle;

/// Opens the journal of each incarnation of an actor.
#[derive(Debug, Clone, Default)]
pub(crate) struct Incarnations(Arc<AtomicBool>);

impl Incarnations {
    /// Opens a journal. From the second incarnation on it waits until the writes that the previous one handed to the
    /// store are stored or rejected, so that the records can be read.
    pub(crate) async fn open<E>(&self, store: &StoreHandle) -> Journal<E> {
        if !self.0.swap(true, Ordering::AcqRel) {
            return Journal::default();
        }
        Journal::open(store).await.unwrap_or_else(|error| {
            // The store has answered, and it answers in order: earlier writes are settled as well.
            tracing::warn!(%error, "the store does not accept writes: reading what it has");
            Journal::default()
        })
    }
}
