//! Searches: the index says which entries, the store what they hold now. What changed in between is not shown.

use std::sync::Arc;
use std::time::Duration;

use muster_store::StoreError;

use super::check;
use super::cursor;
use super::messages::{FoundEntry, SearchAsk, SearchReply};
use super::port::{Candidate, Candidates, IndexAsk};
use super::reads::meant;
use super::record::EntryId;
use super::service::MemoryOptions;
use super::snippets::Marker;
use super::stored;
use muster_core::{Error, Kind};
use muster_identity::By;
use muster_retrieval::Query;

/// Times the index is asked for one page: once more where what it found has changed since.
const ROUNDS: usize = 2;
/// Hits that can be paged to.
const DEEPEST: usize = 10_000;
/// Longest wait for the index.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn search(options: &MemoryOptions, ask: SearchAsk, by: &By) -> Result<SearchReply, Error> {
    check::search(&ask)?;
    let begun = tokio::time::Instant::now();
    let (owner, namespace) = meant(options, ask.namespace.as_deref(), by);
    // A cursor is valid for the same search, whatever the size of the page.
    let question = (owner.clone(), ask.namespace, Query { limit: 0, offset: 0, ..ask.query.clone() });
    let begin = ask.after.as_deref().map(|cursor| cursor::read::<usize>(cursor, &question)).transpose()?;
    let (limit, begin) = (ask.query.limit.clamp(1, 200), begin.unwrap_or(0).min(DEEPEST));
    let query = Query { limit, offset: begin, ..ask.query };
    let mut ask = IndexAsk { owner, namespace, query, now: options.clock.now() };
    let mut round = Round::of(options, &ask).await?;
    for _ in 1..ROUNDS {
        if round.over || round.hits.len() >= limit {
            break;
        }
        (ask.query.offset, ask.query.limit) = (round.at, limit - round.hits.len());
        // What was found stands where the index answers no more.
        let Ok(next) = Round::of(options, &ask).await else { break };
        (round.at, round.over) = (next.at, next.over);
        round.hits.extend(next.hits);
    }
    let Round { mut hits, at, over, found } = round;
    for (n, hit) in hits.iter_mut().enumerate() {
        hit.rank = begin + n + 1;
    }
    let next = (!over && at < DEEPEST).then(|| cursor::cursor(at, &question));
    let Candidates { total, mode, warnings, index, .. } = found;
    Ok(SearchReply { mode, hits, total, next, took: begun.elapsed(), warnings, index })
}

/// What the index found at one time, as the store has it.
struct Round {
    hits: Vec<FoundEntry>,
    /// Where the next one begins: behind all that the index found, what was dropped of it among them.
    at: usize,
    /// The index has no more.
    over: bool,
    /// What it said beside its hits.
    found: Candidates,
}

impl Round {
    async fn of(options: &MemoryOptions, ask: &IndexAsk) -> Result<Self, Error> {
        let late = || Error::new(Kind::Unavailable, "the search took too long").retry_in(Duration::from_secs(1));
        let found = tokio::time::timeout(PATIENCE, options.index.search(ask.clone())).await;
        let mut found = found.map_err(|_| late())??;
        let candidates = std::mem::take(&mut found.hits);
        let at = ask.query.offset + candidates.len();
        let over = candidates.len() < ask.query.limit || at >= found.total;
        let (options, ask) = (options.clone(), ask.clone());
        let read = tokio::task::spawn_blocking(move || {
            let mut marker = Marker::new(&ask.query.text);
            let one = |found| entry(&options, &ask, found, &mut marker).transpose();
            candidates.into_iter().filter_map(one).collect::<Result<Vec<FoundEntry>, StoreError>>()
        });
        let hits = read.await.map_err(|_| Error::new(Kind::Internal, "the search broke off"))??;
        Ok(Self { hits, at, over, found })
    }
}

/// An entry as it is now; `None` where it is not what the index scored any more.
fn entry(
    options: &MemoryOptions,
    ask: &IndexAsk,
    found: Candidate,
    marker: &mut Marker<'_>,
) -> Result<Option<FoundEntry>, StoreError> {
    let Candidate { namespace, hit } = found;
    let Some(record) = stored::entry_by_id(&options.store, &ask.owner, EntryId(hit.id))? else { return Ok(None) };
    let same = record.version == hit.version
        && *record.namespace() == *namespace
        && ask.namespace.as_deref().is_none_or(|namespace| namespace == record.namespace());
    if !same || record.expired(options.clock.now()) {
        return Ok(None);
    }
    let highlights = marker.mark(&record.value, hit.language);
    Ok(Some(FoundEntry { record: Arc::new(record), rank: 0, hit, highlights }))
}
