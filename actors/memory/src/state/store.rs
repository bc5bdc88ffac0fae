//! Storing of entries, new or replacing.

use std::sync::Arc;
use std::time::Duration;

use muster_store::{StoreError, Tree};

use super::refused::Refused;
use super::tally::Delta;
use super::turn::Turn;
use crate::messages::Precondition;
use crate::place;
use crate::port::AppliedKind;
use crate::record::{Change, EntryId, EntryRecord, Kept, Place, Tally};
use muster_core::precondition::IfMatch;

/// Maximum number of retained replaced versions of an entry.
pub(crate) const MAX_KEPT: usize = 32;

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
pub(super) fn holds(precondition: Precondition, live: Option<&EntryRecord>) -> Result<(), Refused> {
    match (precondition, live) {
        (Precondition::None, _) | (Precondition::Absent, None) | (Precondition::Match(IfMatch::Any), Some(_)) => Ok(()),
        (Precondition::Match(IfMatch::Version(wanted)), Some(live)) if u64::from(live.version) == wanted => Ok(()),
        (Precondition::Match(IfMatch::Version(wanted)), Some(live)) => {
            Err(Refused::Version { present: live.version, wanted })
        }
        (Precondition::Match(_), None) => Err(Refused::Missing),
        (Precondition::Absent, Some(live)) => Err(Refused::Present { present: live.version }),
    }
}

/// Stores an entry at its place. An expired entry there counts as absent: it is removed completely, and a new entry is
/// created. `owner` is the owner's tally and `most` its maximum number of entries; `id` is for a new entry.
///
/// # Errors
/// The inner error is a rejection, with nothing written; the outer one an encoding failure.
pub(crate) fn store(
    turn: &mut Turn,
    present: Option<&EntryRecord>,
    draft: &Draft,
    id: EntryId,
    (owner, most): (Tally, u64),
) -> Result<Result<Stored, Refused>, StoreError> {
    let live = present.filter(|present| !present.expired(turn.now));
    if let Err(refused) = holds(draft.precondition, live) {
        return Ok(Err(refused));
    }
    if present.is_none() && owner.entries >= most {
        return Ok(Err(Refused::Full { most }));
    }
    if let Some(over) = present.filter(|_| live.is_none()) {
        turn.remove(over)?;
    }
    let record = Arc::new(match live {
        Some(before) => replace(turn, before, draft)?,
        None => first(turn, draft, id),
    });
    if live.is_none() {
        turn.enlist(&record)?;
        turn.count(&record.place.space, Delta { entries: 1, versions: 0, bytes: record.bytes() as i64 });
    }
    turn.schedule(&record)?;
    turn.write(&record)?;
    let change = Change::Put { place: record.place.clone(), id: record.id, version: record.version };
    let seq = turn.change(&change)?;
    turn.tell(seq, AppliedKind::Put(Arc::clone(&record)));
    Ok(Ok(Stored { record, created: live.is_none() }))
}

/// Builds the first version.
fn first(turn: &Turn, draft: &Draft, id: EntryId) -> EntryRecord {
    EntryRecord {
        id,
        place: draft.place.clone(),
        value: Arc::clone(&draft.value),
        tags: draft.tags.clone(),
        thread: draft.thread.clone(),
        importance: draft.importance,
        language: draft.language.clone(),
        created_at: turn.now,
        stored_at: turn.now,
        expires_at: draft.ttl.map(|ttl| turn.now.plus(ttl)),
        version: 1,
        text_version: 1,
        seq: turn.seq + 1,
        kept: Vec::new(),
    }
}

/// Builds the next version; the previous one is retained, and the oldest removed if there are too many.
fn replace(turn: &mut Turn, before: &EntryRecord, draft: &Draft) -> Result<EntryRecord, StoreError> {
    let (id, version) = (before.id, before.version.saturating_add(1));
    let mut delta = Delta { versions: 1, ..Delta::default() };
    let mut kept = before.kept.clone();
    kept.push(Kept { version: before.version, expires_at: before.expires_at });
    while kept.len() > MAX_KEPT {
        turn.drop_kept(id, kept.remove(0));
        delta.versions -= 1;
    }
    let old = EntryRecord { kept: Vec::new(), ..before.clone() };
    turn.put(Tree::MemoryHistory, place::version(id, before.version), &old)?;
    // These fields determine the text given to the model.
    let same_text = before.value == draft.value && before.tags == draft.tags && before.language == draft.language;
    if !same_text {
        turn.delete(Tree::MemoryVectors, place::vector(id));
    }
    let record = EntryRecord {
        version,
        text_version: if same_text { before.text_version } else { version },
        created_at: before.created_at,
        kept,
        ..first(turn, draft, id)
    };
    delta.bytes = record.bytes() as i64 - before.bytes() as i64;
    turn.count(&record.place.space, delta);
    Ok(record)
}
