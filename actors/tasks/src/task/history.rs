//! Reads ended tasks from the store, so that they use no memory.

use std::time::Duration;

use muster_store::{Batch, MAX_PAGE, Op, PageRequest, StoreError, StoreHandle, Tree};

use super::messages::{Filter, Reach, Requester};
use super::record::TaskRecord;
use super::stored::{self, DONE};
use muster_core::Millis;
use muster_core::ids::IdKind;

/// Maximum number of records examined for one page. A selective filter may yield a short page with a cursor.
const MAX_EXAMINED: usize = 2_000;
/// Number of records read at a time.
const PAGE: usize = 200;
/// Ended tasks that one sweep looks at.
const SWEEP: usize = 100;

/// Returns the first part of the identifiers created in a millisecond: a ULID begins with its time, in 10 characters of
/// 5 bits.
pub(super) fn id_at(at: Millis) -> String {
    let ulid = ulid::Ulid::from_parts(at.0, 0).to_string();
    format!("{}_{}", IdKind::Task.prefix(), ulid.get(..10).unwrap_or_default())
}

/// Matching records, newest first, and where to continue.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) records: Vec<TaskRecord>,
    /// The last identifier examined, if more may follow.
    pub(super) examined_to: Option<String>,
}

/// Returns ended tasks that match a filter and are older than `before`. Blocking.
///
/// # Errors
///
/// Fails if they cannot be read.
pub(super) fn list(
    store: &StoreHandle,
    filter: &Filter,
    requester: &Requester,
    before: Option<&str>,
    limit: usize,
) -> Result<Found, StoreError> {
    let prefix = match requester.reads {
        Reach::All => DONE.to_owned(),
        Reach::Own => stored::by_owner(requester.by.id()),
    };
    // Times restrict the range of keys: an identifier begins with its task's `created_at`.
    let upper = filter.to.map(id_at);
    let upper = [before.map(str::to_owned), upper].into_iter().flatten().min();
    let lower = filter.from.map(id_at);
    let (mut found, mut examined) = (Found::default(), 0);
    let from = upper.as_ref().map(|id| format!("{prefix}{id}").into_bytes());
    let page = PageRequest::of(PAGE).starting_at(from).descending();
    for entry in store.entries(Tree::Tasks, prefix.as_str(), page) {
        let (key, rec) = entry?;
        let id = String::from_utf8_lossy(key.get(prefix.len()..).unwrap_or_default()).into_owned();
        if upper.as_ref().is_some_and(|upper| id >= *upper) {
            continue;
        }
        if lower.as_ref().is_some_and(|lower| id < *lower) {
            break;
        }
        examined += 1;
        let task = match requester.reads {
            Reach::All => Some(stored::decode(store, &rec)?.0),
            // A live task is not among them: it is read from memory.
            Reach::Own => stored::ended(store, &id)?,
        };
        found.records.extend(task.map(|task| task.record).filter(|record| filter.matches(record)));
        found.examined_to = Some(id);
        if found.records.len() >= limit || examined >= MAX_EXAMINED {
            return Ok(found);
        }
    }
    Ok(Found { examined_to: None, ..found })
}

/// Deletes tasks that ended longer ago than `keep`, some of the oldest at a time; returns their number.
///
/// # Errors
///
/// Returns the error of the store.
pub(super) async fn sweep(store: &StoreHandle, now: Millis, keep: Duration) -> Result<usize, StoreError> {
    let mut swept = 0;
    for entry in store.entries(Tree::Tasks, DONE, PageRequest::of(SWEEP)).take(SWEEP) {
        let (task, _) = stored::decode(store, &entry?.1)?;
        if task.record.finished_at.is_none_or(|at| now.since(at) < keep) {
            // Keys are in the order of creation: a task that ran for long delays the deletion of later ones.
            break;
        }
        let mut ops = stored::keys_of(&task.record);
        for tree in [Tree::Steps, Tree::TaskLog] {
            let prefix = format!("{}/", task.record.id).into_bytes();
            for entry in store.entries(tree, prefix, PageRequest::default()).take(MAX_PAGE) {
                ops.push(Op::Delete { tree, key: entry?.0 });
            }
        }
        store.commit(Batch { ops, ..Batch::default() }).await?;
        swept += 1;
    }
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_of_an_identifier_is_its_time() {
        // Example of the ULID specification: 1469918176385 is 01ARYZ6S41.
        assert_eq!(id_at(Millis(1_469_918_176_385)), "task_01ARYZ6S41");
    }
}
