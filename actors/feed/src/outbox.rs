//! Index of the events in the outbox and of those already published. Pure, except for reading the store.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use muster_store::{Batch, PageRequest, Record, Store, StoreError, Tree};

use muster_core::Millis;
use muster_core::event::Event;

/// Events read in one round.
const PAGE: usize = 256;
/// Published events removed from the outbox in one batch.
const SETTLE: usize = 4_000;
/// Time for which, and number up to which, events are remembered that were published before their feature passed them
/// to the feed.
const REMEMBER: Duration = Duration::from_secs(600);
const MAX_REMEMBERED: usize = 100_000;

/// A scan of the outbox in progress.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    from: Option<Vec<u8>>,
    /// Only events up to this time: later ones may still be on their way to the feed.
    until: Option<Millis>,
}

impl Reading {
    pub(super) fn until(until: Millis) -> Self {
        Self { until: Some(until), from: None }
    }
}

/// A page of the outbox.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Unpublished events, in the order of their identifiers.
    pub(super) events: Vec<Event>,
    pub(super) next: Option<Reading>,
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Published events that are still in the outbox, with the number of their journal frame.
    unsettled: HashMap<String, u64>,
    early: HashSet<String>,
    early_order: VecDeque<(Millis, String)>,
}

impl Outbox {
    pub(super) fn unsettled(&self) -> usize {
        self.unsettled.len()
    }

    /// Returns whether an event was published.
    pub(super) fn is_published(&self, id: &str) -> bool {
        self.unsettled.contains_key(id) || self.early.contains(id)
    }

    /// Marks an event as published.
    pub(super) fn mark_published(&mut self, id: String, number: u64) {
        self.unsettled.insert(id, number);
    }

    /// Remembers a published event that its feature may still pass to the feed.
    pub(super) fn remember(&mut self, id: String, now: Millis) {
        while let Some((at, oldest)) = self.early_order.front() {
            if now.since(*at) <= REMEMBER && self.early_order.len() < MAX_REMEMBERED {
                break;
            }
            self.early.remove(oldest);
            self.early_order.pop_front();
        }
        if self.early.insert(id.clone()) {
            self.early_order.push_back((now, id));
        }
    }

    /// Reads a page.
    pub(super) fn read(&mut self, store: &dyn Store, reading: Reading) -> Result<Found, StoreError> {
        let mut entries = store.entries(Tree::Outbox, [], PageRequest::of(PAGE).starting_at(reading.from));
        let mut found = Found::default();
        for entry in entries.by_ref().take(PAGE) {
            let (key, rec) = entry?;
            let id = String::from_utf8_lossy(&key).into_owned();
            if self.is_published(&id) {
                continue;
            }
            match Event::decode(&rec) {
                Ok(event) if reading.until.is_some_and(|until| event.at > until) => {}
                Ok(event) => found.events.push(event),
                Err(error) => {
                    tracing::error!(event = %id, %error, "an event in the outbox cannot be decoded: it is not published");
                    // Ignored until the next start.
                    self.remember(id, Millis(u64::MAX));
                }
            }
        }
        found.next = entries.resume_at().map(|from| Reading { from: Some(from), until: reading.until });
        Ok(found)
    }

    /// Returns the next events to remove from the outbox, and the batch that removes them.
    pub(super) fn settling(&self) -> Option<(Vec<String>, Batch)> {
        let ids: Vec<String> = self.unsettled.keys().take(SETTLE).cloned().collect();
        let batch = ids.iter().fold(Batch::default(), |batch, id| batch.and_delete(Tree::Outbox, id.as_bytes()));
        (!ids.is_empty()).then_some((ids, batch))
    }

    /// Marks events as removed from the outbox.
    pub(super) fn settled(&mut self, ids: &[String]) {
        for id in ids {
            self.unsettled.remove(id);
        }
    }

    /// Returns the number of the oldest journal frame of an event that is still in the outbox.
    pub(super) fn oldest_number(&self) -> Option<u64> {
        self.unsettled.values().copied().filter(|&number| number > 0).min()
    }
}

/// Returns the identifiers of all events in the outbox.
pub(super) fn ids(store: &dyn Store) -> Result<HashSet<String>, StoreError> {
    let id = |(key, _): (Vec<u8>, _)| String::from_utf8_lossy(&key).into_owned();
    store.entries(Tree::Outbox, [], PageRequest::default()).map(|entry| entry.map(id)).collect()
}
