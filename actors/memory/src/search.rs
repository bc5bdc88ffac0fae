//! Searches: the index selects entries, and their current versions are read from the store. Entries that have changed in
//! between are dropped.

use std::sync::Arc;
use std::time::Duration;

use muster_store::StoreError;

use super::check;
use super::cursor;
use super::messages::{FoundEntry, SearchParams, SearchResponse};
use super::port::{Candidate, Candidates, IndexSearch};
use super::reads::resolve;
use super::record::EntryId;
use super::service::MemoryOptions;
use super::snippets::Marker;
use super::stored;
use muster_core::{Error, Kind};
use muster_identity::By;
use muster_retrieval::Query;

/// Maximum number of index searches per page: a second one replaces entries that were dropped.
const ROUNDS: usize = 2;
/// Maximum offset of a page.
const MAX_OFFSET: usize = 10_000;
/// Time limit of an index search.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Searches the caller's entries, or those of a shared namespace.
///
/// # Errors
/// `Invalid` with every failed check, or for a cursor of another search; `Unavailable`.
pub(super) async fn search(options: &MemoryOptions, params: SearchParams, by: &By) -> Result<SearchResponse, Error> {
    check::search(&params)?;
    let begun = tokio::time::Instant::now();
    let (owner, namespace) = resolve(options, params.namespace.as_deref(), by);
    // A cursor is valid for the same search with any page size.
    let request = (owner.clone(), params.namespace, Query { limit: 0, offset: 0, ..params.query.clone() });
    let begin = params.after.as_deref().map(|cursor| cursor::read::<usize>(cursor, &request)).transpose()?;
    let (limit, begin) = (params.query.limit.clamp(1, 200), begin.unwrap_or(0).min(MAX_OFFSET));
    let query = Query { limit, offset: begin, ..params.query };
    let mut search = IndexSearch { owner, namespace, query, now: options.clock.now() };
    let mut round = Round::run(options, &search).await?;
    for _ in 1..ROUNDS {
        if round.at_end || round.hits.len() >= limit {
            break;
        }
        (search.query.offset, search.query.limit) = (round.next, limit - round.hits.len());
        // If the index fails now, the hits found so far are returned.
        let Ok(next) = Round::run(options, &search).await else { break };
        (round.next, round.at_end) = (next.next, next.at_end);
        round.hits.extend(next.hits);
    }
    let Round { mut hits, next, at_end, found } = round;
    for (n, hit) in hits.iter_mut().enumerate() {
        hit.rank = begin + n + 1;
    }
    let next = (!at_end && next < MAX_OFFSET).then(|| cursor::cursor(next, &request));
    let Candidates { total, mode, warnings, index, .. } = found;
    Ok(SearchResponse { mode, hits, total, next, took: begun.elapsed(), warnings, index })
}

/// Result of one index search, compared with the store.
struct Round {
    hits: Vec<FoundEntry>,
    /// Offset after all entries that the index returned, including those dropped.
    next: usize,
    /// The index has no further results.
    at_end: bool,
    /// Its results, without the hits.
    found: Candidates,
}

impl Round {
    async fn run(options: &MemoryOptions, search: &IndexSearch) -> Result<Self, Error> {
        let late = || Error::new(Kind::Unavailable, "the search took too long").retry_in(Duration::from_secs(1));
        let found = tokio::time::timeout(TIMEOUT, options.index.search(search.clone())).await;
        let mut found = found.map_err(|_| late())??;
        let candidates = std::mem::take(&mut found.hits);
        let next = search.query.offset + candidates.len();
        let at_end = candidates.len() < search.query.limit || next >= found.total;
        let (options, search) = (options.clone(), search.clone());
        let read = tokio::task::spawn_blocking(move || {
            let mut marker = Marker::new(&search.query.text);
            let one = |found| entry(&options, &search, found, &mut marker).transpose();
            candidates.into_iter().filter_map(one).collect::<Result<Vec<FoundEntry>, StoreError>>()
        });
        let hits = read.await.map_err(|_| Error::new(Kind::Internal, "the search was interrupted"))??;
        Ok(Self { hits, next, at_end, found })
    }
}

/// Reads the current version of a candidate; `None` if it is not the version that the index scored.
fn entry(
    options: &MemoryOptions,
    search: &IndexSearch,
    found: Candidate,
    marker: &mut Marker<'_>,
) -> Result<Option<FoundEntry>, StoreError> {
    let Candidate { namespace, hit } = found;
    let Some(record) = stored::entry_by_id(&options.store, &search.owner, EntryId(hit.id))? else { return Ok(None) };
    let same = record.version == hit.version
        && *record.namespace() == *namespace
        && search.namespace.as_deref().is_none_or(|namespace| namespace == record.namespace());
    if !same || record.expired(options.clock.now()) {
        return Ok(None);
    }
    let highlights = marker.mark(&record.value, hit.language);
    Ok(Some(FoundEntry { record: Arc::new(record), rank: 0, hit, highlights }))
}
