//! A search, on the shard's own thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Context, Handler};
use tokio::time::Instant;

use super::actor::{Shard, SlotState};
use super::messages::Search;
use crate::checkpoint::SlotNumber;
use crate::port::{Candidate, Candidates, IndexHealth, IndexSearch};
use crate::record::Space;
use muster_core::{Error, Kind};
use muster_retrieval::{Collection, Hit, QueryContext, SearchResults};

/// Returns the error for more searches than can be answered in time.
pub(super) fn busy() -> Error {
    Error::new(Kind::Unavailable, "the memory's index is overloaded: try again").retry_in(Duration::from_secs(1))
}

impl Handler<Search> for Shard {
    type Result = Result<Candidates, Error>;

    fn handle(&mut self, search: Search, _: &mut Context<Self>) -> Self::Result {
        // Its caller no longer waits: the time goes to the searches behind it.
        if Instant::now() > search.until {
            return Err(busy());
        }
        self.catch_up();
        let begun = std::time::Instant::now();
        let found = self.search(&search.search, search.vector.as_deref());
        self.timings.record(self.shard_context.now(), begun.elapsed());
        Ok(found)
    }
}

impl Shard {
    fn search(&self, search: &IndexSearch, vector: Option<&[f32]>) -> Candidates {
        let slot_state = self.slots.get(&SlotNumber::of(&search.owner));
        let (spaces, collections): (Vec<&Space>, Vec<&Collection>) =
            slot_state.map_or_else(Vec::new, |it| scope(it, search)).into_iter().unzip();
        let context = QueryContext {
            vector,
            now: i64::try_from(search.now.0).unwrap_or(i64::MAX),
            include_expired: false,
            alpha: Some(self.shard_context.ranking.alpha),
        };
        let found = muster_retrieval::search(&collections, &search.query, &context);
        let health = match self.snapshot() {
            Some(snapshot) if slot_state.is_some_and(|slot_state| slot_state.loading.is_some()) => snapshot.health(),
            // Missed changes could not be read.
            Some(snapshot) if snapshot.missed.load(Ordering::Acquire) > self.applied => {
                IndexHealth::Rebuilding { percent: 99 }
            }
            _ => IndexHealth::Ready,
        };
        candidates(found, &spaces, health)
    }
}

/// Returns the collections to search. Of a slot that is being loaded, these are the changes since then, and the
/// collections built so far.
fn scope<'a>(slot_state: &'a SlotState, search: &'a IndexSearch) -> Vec<(&'a Space, &'a Collection)> {
    let partial = slot_state.loading.as_ref().map(|loading| &loading.partial);
    match &search.namespace {
        Some(namespace) => {
            let space = Space { owner: search.owner.clone(), namespace: Arc::clone(namespace) };
            let built = partial.and_then(|partial| partial.get_key_value(&space));
            slot_state.slot.collections.get_key_value(&space).into_iter().chain(built).collect()
        }
        None => {
            let built = partial.into_iter().flatten().filter(|(space, _)| space.owner == search.owner);
            slot_state.slot.of_owner(&search.owner).chain(built).collect()
        }
    }
}

fn candidates(found: SearchResults, spaces: &[&Space], index: IndexHealth) -> Candidates {
    let of = |hit: Hit| Some(Candidate { namespace: Arc::clone(&spaces.get(hit.collection)?.namespace), hit });
    let mut hits: Vec<Candidate> = found.hits.into_iter().filter_map(of).collect();
    let found_of = hits.len();
    // While a slot is being loaded, an entry may be in two collections: the later version is returned.
    let mut latest: BTreeMap<u128, u32> = BTreeMap::new();
    for Candidate { hit, .. } in &hits {
        latest.entry(hit.id).and_modify(|version| *version = hit.version.max(*version)).or_insert(hit.version);
    }
    hits.retain(|Candidate { hit, .. }| latest.get(&hit.id) == Some(&hit.version) && latest.remove(&hit.id).is_some());
    let total = found.total - (found_of - hits.len()).min(found.total);
    Candidates { hits, total, mode: found.mode, warnings: found.warnings, index }
}
