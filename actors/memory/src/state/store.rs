//! Storing of entries, new or replacing.

use std::sync::Arc;
use std::time::Duration;

use muster_store::{StoreError, Tree};

use super::rejection::Rejection;
use super::transaction::Transaction;
use super::usage_delta::UsageDelta;
use crate::keys;
use crate::messages::Precondition;
use crate::port::AppliedKind;
use crate::record::{Change, EntryId, EntryRecord, Place, RetainedVersion, Usage};
use muster_core::precondition::IfMatch;

/// Maximum number of retained replaced versions of an entry.
pub(crate) const MAX_RETAINED: usize = 32;

/// A validated entry to be stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub(crate) place: Place,
    pub(crate) value: Arc<str>,
    pub(crate) tags: Vec<String>,
    /// Time to live; `None` for unlimited.
    pub(crate) ttl: Option<Duration>,
    pub(crate) thread: Option<String>,
    pub(crate) importance: Option<f32>,
    pub(crate) language: Option<String>,
    pub(crate) precondition: Precondition,
}

/// A stored entry.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) record: Arc<EntryRecord>,
    pub(crate) created: bool,
}

/// Checks a precondition on the current entry.
pub(super) fn check_precondition(precondition: Precondition, live: Option<&EntryRecord>) -> Result<(), Rejection> {
    match (precondition, live) {
        (Precondition::None, _) | (Precondition::Absent, None) | (Precondition::Match(IfMatch::Any), Some(_)) => Ok(()),
        (Precondition::Match(IfMatch::Version(wanted)), Some(live)) if u64::from(live.version) == wanted => Ok(()),
        (Precondition::Match(IfMatch::Version(wanted)), Some(live)) => {
            Err(Rejection::Version { present: live.version, wanted })
        }
        (Precondition::Match(_), None) => Err(Rejection::Missing),
        (Precondition::Absent, Some(live)) => Err(Rejection::Present { present: live.version }),
    }
}

/// Stores an entry at its place. An expired entry there counts as absent: it is removed completely, and a new entry is
/// created. `owner` is the owner's usage and `max` its maximum number of entries; `id` is for a new entry.
///
/// # Errors
/// The inner error is a rejection, with nothing written; the outer one an encoding failure.
pub(crate) fn store(
    transaction: &mut Transaction,
    present: Option<&EntryRecord>,
    draft: &Draft,
    id: EntryId,
    (owner, max): (Usage, u64),
) -> Result<Result<Stored, Rejection>, StoreError> {
    let live = present.filter(|present| !present.expired(transaction.now));
    if let Err(refused) = check_precondition(draft.precondition, live) {
        return Ok(Err(refused));
    }
    if present.is_none() && owner.entries >= max {
        return Ok(Err(Rejection::Full { most: max }));
    }
    if let Some(expired) = present.filter(|_| live.is_none()) {
        transaction.remove(expired)?;
    }
    let record = Arc::new(match live {
        Some(before) => replace(transaction, before, draft)?,
        None => first(transaction, draft, id),
    });
    if live.is_none() {
        transaction.enlist(&record)?;
        transaction.count(&record.place.space, UsageDelta { entries: 1, versions: 0, bytes: record.bytes() as i64 });
    }
    transaction.schedule(&record)?;
    transaction.write(&record)?;
    let change = Change::Put { place: record.place.clone(), id: record.id, version: record.version };
    let seq = transaction.change(&change)?;
    transaction.record(seq, AppliedKind::Put(Arc::clone(&record)));
    Ok(Ok(Stored { record, created: live.is_none() }))
}

/// Builds the first version.
fn first(transaction: &Transaction, draft: &Draft, id: EntryId) -> EntryRecord {
    EntryRecord {
        id,
        place: draft.place.clone(),
        value: Arc::clone(&draft.value),
        tags: draft.tags.clone(),
        thread: draft.thread.clone(),
        importance: draft.importance,
        language: draft.language.clone(),
        created_at: transaction.now,
        stored_at: transaction.now,
        expires_at: draft.ttl.map(|ttl| transaction.now.plus(ttl)),
        version: 1,
        text_version: 1,
        seq: transaction.seq + 1,
        kept: Vec::new(),
    }
}

/// Builds the next version; the previous one is retained, and the oldest removed if there are too many.
fn replace(transaction: &mut Transaction, before: &EntryRecord, draft: &Draft) -> Result<EntryRecord, StoreError> {
    let (id, version) = (before.id, before.version.saturating_add(1));
    let mut delta = UsageDelta { versions: 1, ..UsageDelta::default() };
    let mut kept = before.kept.clone();
    kept.push(RetainedVersion { version: before.version, expires_at: before.expires_at });
    while kept.len() > MAX_RETAINED {
        transaction.drop_retained(id, kept.remove(0));
        delta.versions -= 1;
    }
    let old = EntryRecord { kept: Vec::new(), ..before.clone() };
    transaction.put(Tree::MemoryHistory, keys::version(id, before.version), &old)?;
    // These fields determine the text given to the model.
    let same_text = before.value == draft.value && before.tags == draft.tags && before.language == draft.language;
    if !same_text {
        transaction.delete(Tree::MemoryVectors, keys::vector(id));
    }
    let record = EntryRecord {
        version,
        text_version: if same_text { before.text_version } else { version },
        created_at: before.created_at,
        kept,
        ..first(transaction, draft, id)
    };
    delta.bytes = record.bytes() as i64 - before.bytes() as i64;
    transaction.count(&record.place.space, delta);
    Ok(record)
}
