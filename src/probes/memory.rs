//! Probe of semantic memory: stores an entry, finds it, and deletes it.

use std::time::{Duration, Instant};

use muster_core::health::{Probe, ProbeResult};
use muster_core::{Clock, Error, Kind};
use muster_identity::By;
use muster_memory::{IndexHealth, Memory, Mode, NewEntry, Precondition, Query, SearchParams};

use super::SECOND;

/// Time above which the module is degraded.
const SOON: Duration = Duration::from_millis(200);
/// Time after which an entry that was left behind expires.
const TTL_SECONDS: u64 = 60;
const NAMESPACE: &str = "health";
const KEY: &str = "canary";

pub(super) fn all(memory: &Memory, clock: &Clock) -> Vec<Probe> {
    let (memory, clock) = (memory.clone(), clock.clone());
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
    ]
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
