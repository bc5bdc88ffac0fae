//! Searches: the index says which entries, the store what they hold now. What changed in between is not shown.

use std::sync::Arc;
use std::time::Duration;

use muster_store::StoreError;

use super::check;
use super::cursor;
use super::messages::{Hit, SearchAsk, SearchReply};
use super::port::{Candidate, Candidates, IndexAsk};
use super::reads::meant;
use super::service::MemoryOptions;
use super::snippets::Marker;
use super::stored;
use muster_core::page::PageAsk;
use muster_core::{Error, Kind};
use muster_identity::By;

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
    let question = (owner.clone(), SearchAsk { page: PageAsk::default(), ..ask.clone() });
    let begin = ask.page.after.as_deref().map(|cursor| cursor::read::<usize>(cursor, &question)).transpose()?;
    let (limit, begin) = (ask.page.limit.clamp(1, 200), begin.unwrap_or(0).min(DEEPEST));
    let mut ask = IndexAsk {
        owner,
        namespace,
        query: Arc::from(ask.query),
        mode: ask.mode,
        offset: begin,
        limit,
        tags_all: ask.tags,
        tags_any: ask.tags_any,
        key_prefix: ask.key_prefix,
        thread: ask.thread,
        min_score: ask.min_score,
        half_life: ask.half_life,
        mmr: ask.mmr,
        now: options.clock.now(),
    };
    let mut round = Round::of(options, &ask).await?;
    for _ in 1..ROUNDS {
        if round.over || round.hits.len() >= limit {
            break;
        }
        (ask.offset, ask.limit) = (round.at, limit - round.hits.len());
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
    hits: Vec<Hit>,
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
        let at = ask.offset + candidates.len();
        let over = candidates.len() < ask.limit || at >= found.total;
        let (options, ask) = (options.clone(), ask.clone());
        let read = tokio::task::spawn_blocking(move || {
            let mut marker = Marker::new(&ask.query);
            let one = |found| hit(&options, &ask, found, &mut marker).transpose();
            candidates.into_iter().filter_map(one).collect::<Result<Vec<Hit>, StoreError>>()
        });
        let hits = read.await.map_err(|_| Error::new(Kind::Internal, "the search broke off"))??;
        Ok(Self { hits, at, over, found })
    }
}

/// An entry as it is now; `None` where it is not what the index scored any more.
fn hit(
    options: &MemoryOptions,
    ask: &IndexAsk,
    found: Candidate,
    marker: &mut Marker<'_>,
) -> Result<Option<Hit>, StoreError> {
    let Some(record) = stored::entry_by_id(&options.store, &ask.owner, found.id)? else { return Ok(None) };
    let same = record.version == found.version
        && *record.namespace() == *found.namespace
        && ask.namespace.as_deref().is_none_or(|namespace| namespace == record.namespace());
    if !same || record.expired(options.clock.now()) {
        return Ok(None);
    }
    let Candidate { language, score, text, semantic, explain, prev, next, .. } = found;
    let highlights = marker.mark(&record.value, language);
    Ok(Some(Hit { record: Arc::new(record), rank: 0, score, text, semantic, explain, highlights, prev, next }))
}
