//! What the actors of this crate share of the durable path ([`muster_core::journal`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use muster_core::journal::Journal;
pub(crate) use muster_core::journal::{decide, respond as answer};
use muster_store::StoreHandle;

/// Opens the journal of each incarnation of an actor.
#[derive(Debug, Clone, Default)]
pub(crate) struct Incarnations(Arc<AtomicBool>);

impl Incarnations {
    /// Opens a journal. From the second incarnation on, what the one before had handed to the store is written or refused
    /// by then, so that the records can be read.
    pub(crate) async fn open<E>(&self, store: &StoreHandle) -> Journal<E> {
        if !self.0.swap(true, Ordering::AcqRel) {
            return Journal::default();
        }
        Journal::open(store).await.unwrap_or_else(|error| {
            // The store has answered, and it answers in order: what was handed over before is settled as well.
            tracing::warn!(%error, "the store does not accept writes: reading what it has");
            Journal::default()
        })
    }
}
