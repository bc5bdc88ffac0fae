//! Incidents that finished long ago, read from the store.

use std::sync::Arc;

use muster_store::{PageRequest, Record, StoreError, StoreHandle, Tree};

use super::access::visible;
use super::record::Incident;
use super::state::{IncidentFilter, IncidentRegistry};
use muster_core::page::{Page, PageParams};
use muster_identity::By;

/// Records read at a time, and scanned for one page: a page may be short of its limit and still have a successor.
const ROWS: usize = 200;
const MAX_SCANNED: usize = 5_000;

/// Reads an incident that is not in memory.
pub(super) fn read(store: &StoreHandle, id: &str) -> Result<Option<Incident>, StoreError> {
    if id.starts_with("inc_") { store.record(id.as_bytes()) } else { Ok(None) }
}

/// Returns a page of all incidents, newest first; an incident in memory supersedes its stored record.
pub(super) fn list(
    store: &StoreHandle,
    registry: &IncidentRegistry,
    filter: &IncidentFilter,
    params: &PageParams,
    by: &By,
) -> Result<Page<Arc<Incident>>, StoreError> {
    let from = params.after.as_ref().map(|after| after.clone().into_bytes());
    let (mut items, mut scanned) = (Vec::new(), 0);
    for entry in store.entries(Tree::Incidents, "inc_", PageRequest::of(ROWS).starting_at(from).descending()) {
        let (key, rec) = entry?;
        let id = String::from_utf8_lossy(&key);
        if params.after.as_deref() == Some(&*id) {
            continue;
        }
        scanned += 1;
        let incident = match registry.get(&id) {
            Some(known) => Arc::clone(known),
            None => Arc::new(Incident::decode(&rec)?),
        };
        if visible(&incident, by) && filter.matches(&incident) {
            if items.len() == params.limit {
                let next = items.last().map(|last: &Arc<Incident>| last.id.clone());
                return Ok(Page { items, next });
            }
            items.push(incident);
        }
        if scanned >= MAX_SCANNED {
            return Ok(Page { items, next: Some(id.into_owned()) });
        }
    }
    Ok(Page { items, next: None })
}
