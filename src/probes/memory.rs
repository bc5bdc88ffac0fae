//! Probes of semantic memory: an entry is stored, found and deleted; the index holds what the store holds.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use muster_core::health::{Probe, ProbeResult};
use muster_core::{Clock, Error, Kind};
use muster_identity::By;
use muster_memory::{IndexHealth, Memory, Mode, NewEntry, Precondition, Query, SearchParams};

use tokio::time::{Instant, interval};

use super::SECOND;
use crate::memory::SearchIndex;

/// Time above which the module is degraded.
const SOON: Duration = Duration::from_millis(200);
/// Time after which an entry that was left behind expires.
const TTL_SECONDS: u64 = 60;
/// Time for which the index may lag behind the store: less than the 5 s after which a probe counts as hung.
const LAG: Duration = Duration::from_millis(4_500);
/// Time after which a difference is a fault.
const FAULT: Duration = Duration::from_secs(60);
/// Time between two looks while they differ.
const LOOK: Duration = Duration::from_millis(250);
const NAMESPACE: &str = "health";
const KEY: &str = "canary";

pub(super) fn all(memory: &Memory, index: &SearchIndex, clock: &Clock) -> Vec<Probe> {
    let (memory, index, clock) = (memory.clone(), index.clone(), clock.clone());
    vec![
        Probe::new("memory-store", 5, 60 * SECOND, move || {
            let (memory, clock) = (memory.clone(), clock.clone());
            async move {
                match found(&memory, &clock).await {
                    Ok(verdict) => verdict,
                    Err(busy) if busy.kind == Kind::Conflict => ProbeResult::Degraded(busy.message),
                    Err(error) => ProbeResult::Unhealthy(error.to_string()),
                }
            }
        })
        .critical(),
        search_index(move || {
            let index = index.clone();
            async move { index.counts().await }
        }),
    ]
}

/// Compares the number of entries in the store with that in the index: degraded if they differ for 4.5 s, unhealthy
/// after 60 s.
fn search_index<C, F>(counts: C) -> Probe
where
    C: Fn() -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<(u64, u64), String>> + Send + 'static,
{
    // When they were first seen to differ.
    let since: Arc<Mutex<Option<Instant>>> = Arc::default();
    Probe::new("search-index", 2, 60 * SECOND, move || {
        let (counts, since) = (counts.clone(), Arc::clone(&since));
        async move { compared(counts, &since).await }
    })
}

async fn compared<F>(counts: impl Fn() -> F, since: &Mutex<Option<Instant>>) -> ProbeResult
where
    F: Future<Output = Result<(u64, u64), String>>,
{
    let (begun, mut looks) = (Instant::now(), interval(LOOK));
    loop {
        looks.tick().await;
        let (stored, indexed) = match counts().await {
            Ok(counts) => counts,
            Err(why) => return ProbeResult::Unhealthy(why),
        };
        let mut since = since.lock().unwrap_or_else(PoisonError::into_inner);
        if stored == indexed {
            *since = None;
            return ProbeResult::Healthy;
        }
        let differ = since.get_or_insert(begun).elapsed();
        if differ < LAG {
            continue;
        }
        let why = format!("the index has {indexed} entries, the store {stored}, for {} s", differ.as_secs());
        return if differ < FAULT { ProbeResult::Degraded(why) } else { ProbeResult::Unhealthy(why) };
    }
}

async fn found(memory: &Memory, clock: &Clock) -> Result<ProbeResult, Error> {
    let word = format!("canary{}", clock.now().0);
    let entry = NewEntry {
        key: KEY.to_owned(),
        value: word.clone(),
        namespace: Some(NAMESPACE.to_owned()),
        ttl_seconds: Some(TTL_SECONDS),
        ..NewEntry::default()
    };
    let stored = memory.store(entry, &By::System, Precondition::None, None).await?;
    let begun = Instant::now();
    let query = Query { text: word.into(), mode: Mode::Text, limit: 50, ..Query::default() };
    let request = SearchParams { query, namespace: Some(NAMESPACE.to_owned()), after: None };
    let response = memory.search(request, &By::System).await?;
    let took = begun.elapsed();
    memory.delete(Some(NAMESPACE), KEY, Precondition::None, &By::System).await?;
    let first = response.hits.first().is_some_and(|hit| hit.record.id == stored.record.id);
    Ok(match response.index {
        IndexHealth::Down => ProbeResult::Unhealthy("the index does not answer".to_owned()),
        IndexHealth::Rebuilding { percent } => ProbeResult::Degraded(format!("the index is made anew ({percent} %)")),
        IndexHealth::Ready if !first => ProbeResult::Unhealthy("an entry that was stored is not found".to_owned()),
        IndexHealth::Ready if took > SOON => ProbeResult::Degraded(format!("a search took {} ms", took.as_millis())),
        IndexHealth::Ready => ProbeResult::Healthy,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_difference_degrades_is_a_fault_after_60_s_and_ends() {
        let (indexed, since) = (AtomicU64::new(3), Mutex::default());
        let counts = || async { Ok((3, indexed.load(Ordering::SeqCst))) };
        let begun = Instant::now();
        assert_eq!(compared(counts, &since).await, ProbeResult::Healthy);
        assert_eq!(begun.elapsed(), Duration::ZERO, "nothing is waited for");
        indexed.store(2, Ordering::SeqCst);
        let degraded = compared(counts, &since).await;
        let why = "the index has 2 entries, the store 3, for 4 s";
        assert_eq!((degraded, begun.elapsed()), (ProbeResult::Degraded(why.to_owned()), LAG));
        tokio::time::advance(FAULT).await;
        assert!(matches!(compared(counts, &since).await, ProbeResult::Unhealthy(_)));
        indexed.store(3, Ordering::SeqCst);
        assert_eq!(compared(counts, &since).await, ProbeResult::Healthy);
    }

    #[tokio::test(start_paused = true)]
    async fn an_index_that_catches_up_in_time_is_healthy() {
        let (looks, since) = (AtomicU64::new(0), Mutex::default());
        let counts = || async { Ok((9, looks.fetch_add(1, Ordering::SeqCst))) };
        assert_eq!(compared(counts, &since).await, ProbeResult::Healthy);
        let failed = compared(|| async { Err("no store".to_owned()) }, &since).await;
        assert_eq!(failed, ProbeResult::Unhealthy("no store".to_owned()));
    }
}
