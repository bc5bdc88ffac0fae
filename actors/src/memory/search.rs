//! Searches: the index says which entries, the store what they hold now. What changed in between is not shown.

use std::sync::Arc;
use std::time::Duration;

use muster_store::StoreError;

use super::check;
use super::cursor;
use super::facade::MemoryOptions;
use super::messages::{Hit, SearchAsk, SearchReply};
use super::port::{Candidate, Candidates, Highlight, IndexAsk};
use super::reads::meant;
use super::record::Owner;
use super::stored;
use crate::identity::By;
use crate::{Error, Kind};

/// Times the index is asked for one page: once more where what it found has changed since.
const ROUNDS: usize = 2;
/// Hits that can be paged to.
const DEEPEST: usize = 10_000;
/// Longest wait for the index.
const PATIENCE: Duration = Duration::from_secs(10);

/// A page of hits in the making.
struct Round {
    reply: SearchReply,
    /// What the index found so far, what was dropped of it among them.
    at: usize,
    /// The index has no more.
    over: bool,
}

pub(super) async fn search(options: &MemoryOptions, ask: SearchAsk, by: &By) -> Result<SearchReply, Error> {
    check::search(&ask)?;
    let begun = tokio::time::Instant::now();
    let (owner, namespace) = meant(options, ask.namespace.as_deref(), by);
    let question = (&owner, SearchAsk { page: crate::page::PageAsk::default(), ..ask.clone() });
    let begin = ask.page.after.as_deref().map(|cursor| cursor::read::<usize>(cursor, &question)).transpose()?;
    let (limit, begin) = (ask.page.limit.clamp(1, 200), begin.unwrap_or(0).min(DEEPEST));
    let mut index_ask = IndexAsk {
        owner: owner.clone(),
        namespace,
        query: Arc::from(ask.query.as_str()),
        mode: ask.mode,
        offset: begin,
        limit,
        tags_all: ask.tags.clone(),
        tags_any: ask.tags_any.clone(),
        key_prefix: ask.key_prefix.clone(),
        thread: ask.thread.clone(),
        min_score: ask.min_score,
        half_life: ask.half_life,
        mmr: ask.mmr,
        now: options.clock.now(),
    };
    let mut round = next_round(options, index_ask.clone(), None).await?;
    for _ in 1..ROUNDS {
        if round.over || round.reply.hits.len() >= limit {
            break;
        }
        (index_ask.offset, index_ask.limit) = (round.at, limit - round.reply.hits.len());
        round = next_round(options, index_ask.clone(), Some(round)).await?;
    }
    let Round { mut reply, at, over } = round;
    reply.next = (!over && at < DEEPEST).then(|| cursor::cursor(at, &question));
    for (n, hit) in reply.hits.iter_mut().enumerate() {
        hit.rank = begin + n + 1;
    }
    reply.took = begun.elapsed();
    Ok(reply)
}

/// Asks the index, and reads what it found.
async fn next_round(options: &MemoryOptions, ask: IndexAsk, before: Option<Round>) -> Result<Round, Error> {
    let late = || Error::new(Kind::Unavailable, "the search took too long").retry_in(Duration::from_secs(1));
    let (at, wanted) = (ask.offset, ask.limit);
    let found = tokio::time::timeout(PATIENCE, options.index.search(ask.clone())).await.map_err(|_| late())??;
    let Candidates { hits: candidates, total, mode, warnings, index } = found;
    let at = at + candidates.len();
    let over = candidates.len() < wanted || at >= total;
    let options = options.clone();
    let read = tokio::task::spawn_blocking(move || {
        candidates.into_iter().filter_map(|candidate| hit(&options, &ask, candidate).transpose()).collect()
    });
    let hits: Result<Vec<Hit>, StoreError> =
        read.await.map_err(|_| Error::new(Kind::Internal, "the search broke off"))?;
    let mut reply = before.map(|before| before.reply).unwrap_or(SearchReply {
        mode,
        hits: Vec::new(),
        total,
        next: None,
        took: Duration::ZERO,
        warnings,
        index,
    });
    reply.hits.extend(hits?);
    Ok(Round { reply, at, over })
}

/// An entry as it is now; `None` where it is not what the index scored any more.
fn hit(options: &MemoryOptions, ask: &IndexAsk, found: Candidate) -> Result<Option<Hit>, StoreError> {
    let owner: &Owner = &ask.owner;
    let Some(record) = stored::entry_by_id(&options.store, owner, found.id)? else { return Ok(None) };
    let same = record.version == found.version
        && *record.namespace() == *found.namespace
        && ask.namespace.as_deref().is_none_or(|namespace| namespace == record.namespace());
    if !same || record.expired(options.clock.now()) {
        return Ok(None);
    }
    let Candidate { score, text, semantic, explain, prev, next, .. } = found;
    let highlights = highlights(&ask.query, &record.value);
    Ok(Some(Hit { record: Arc::new(record), rank: 0, score, text, semantic, explain, highlights, prev, next }))
}

fn highlights(_query: &str, _value: &str) -> Vec<Highlight> {
    Vec::new()
}
