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
use crate::port::{Candidate, Candidates, IndexAsk, IndexHealth};
use crate::record::Space;
use muster_core::{Error, Kind};
use muster_retrieval::{Collection, Found, Hit, QueryContext};

/// More searches wait than can be answered in time.
pub(super) fn busy() -> Error {
    Error::new(Kind::Unavailable, "the memory's index is overloaded: try again").retry_in(Duration::from_secs(1))
}

impl Handler<Search> for Shard {
    type Result = Result<Candidates, Error>;

    fn handle(&mut self, search: Search, _: &mut Context<Self>) -> Self::Result {
        // Nobody waits for it any longer: those behind it have the time.
        if Instant::now() > search.until {
            return Err(busy());
        }
        self.catch_up();
        let begun = std::time::Instant::now();
        let found = self.search(&search.ask, search.vector.as_deref());
        self.timings.record(self.shard_context.now(), begun.elapsed());
        Ok(found)
    }
}

impl Shard {
    fn search(&self, ask: &IndexAsk, vector: Option<&[f32]>) -> Candidates {
        let slot_state = self.slots.get(&SlotNumber::of(&ask.owner));
        let (spaces, collections): (Vec<&Space>, Vec<&Collection>) =
            slot_state.map_or_else(Vec::new, |it| scope(it, ask)).into_iter().unzip();
        let context = QueryContext {
            vector,
            now: i64::try_from(ask.now.0).unwrap_or(i64::MAX),
            include_expired: false,
            alpha: Some(self.shard_context.ranking.alpha),
        };
        let found = muster_retrieval::search(&collections, &ask.query, &context);
        let health = match self.shown() {
            Some(shown) if slot_state.is_some_and(|slot_state| slot_state.coming.is_some()) => shown.health(),
            // What it missed could not be read.
            Some(shown) if shown.missed.load(Ordering::Acquire) > self.applied => {
                IndexHealth::Rebuilding { percent: 99 }
            }
            _ => IndexHealth::Ready,
        };
        candidates(found, &spaces, health)
    }
}

/// The collections that are searched. Of a slot that is being loaded: what has happened since, and what is built so far.
fn scope<'a>(slot_state: &'a SlotState, ask: &'a IndexAsk) -> Vec<(&'a Space, &'a Collection)> {
    let partial = slot_state.coming.as_ref().map(|coming| &coming.partial);
    match &ask.namespace {
        Some(namespace) => {
            let space = Space { owner: ask.owner.clone(), namespace: Arc::clone(namespace) };
            let built = partial.and_then(|partial| partial.get_key_value(&space));
            slot_state.slot.collections.get_key_value(&space).into_iter().chain(built).collect()
        }
        None => {
            let built = partial.into_iter().flatten().filter(|(space, _)| space.owner == ask.owner);
            slot_state.slot.of_owner(&ask.owner).chain(built).collect()
        }
    }
}

fn candidates(found: Found, spaces: &[&Space], index: IndexHealth) -> Candidates {
    let of = |hit: Hit| Some(Candidate { namespace: Arc::clone(&spaces.get(hit.collection)?.namespace), hit });
    let mut hits: Vec<Candidate> = found.hits.into_iter().filter_map(of).collect();
    let found_of = hits.len();
    // While a slot is loaded an entry may be in two collections: the later version counts.
    let mut latest: BTreeMap<u128, u32> = BTreeMap::new();
    for Candidate { hit, .. } in &hits {
        latest.entry(hit.id).and_modify(|version| *version = hit.version.max(*version)).or_insert(hit.version);
    }
    hits.retain(|Candidate { hit, .. }| latest.get(&hit.id) == Some(&hit.version) && latest.remove(&hit.id).is_some());
    let total = found.total - (found_of - hits.len()).min(found.total);
    Candidates { hits, total, mode: found.mode, warnings: found.warnings, index }
}
