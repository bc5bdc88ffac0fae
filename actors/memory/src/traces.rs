//! What is stored of an owner, part by part: entries with all that belongs to them, lines of the changes' log, kept
//! answers, figures.

use muster_store::{Op, Order, Scan, StoreError, StoreHandle, Tree};

use super::answers::is_ours;
use super::messages::Forgotten;
use super::place;
use super::record::{Change, EntryId, EntryRecord, Owner, Place};
use super::state::Turn;
use super::stored;
use muster_core::{Millis, idempotency};

/// Identifiers read at a time.
const IDS: usize = 256;
/// Writes of one part, about: an entry has at most 72.
const MAX_OPS: usize = 1_900;
/// Bytes of values read for one part, about.
const MAX_BYTES: u64 = 8 << 20;
/// Records of other trees read at a time.
const PAGE: usize = 1_000;

/// What is looked at next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    Entries,
    Changes(Option<Vec<u8>>),
    Answers(Option<Vec<u8>>),
    Figures,
    Over,
}

/// Some of what is stored, to be deleted.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) ops: Vec<Op>,
    pub(super) forgotten: Forgotten,
    /// Once that is durable.
    pub(super) next: Stage,
}

/// The next part of what is stored of an owner. Blocking.
///
/// # Errors
/// It cannot be read.
pub(super) fn part(store: &StoreHandle, owner: &Owner, stage: &Stage) -> Result<Part, StoreError> {
    match stage {
        Stage::Entries => entries(store, owner),
        Stage::Changes(from) => changes(store, owner, from.clone()),
        Stage::Answers(from) => {
            let (ops, next) = idempotency::delete_ops_of(store, owner.as_str(), from.clone(), is_ours)?;
            let next = next.map_or(Stage::Figures, |from| Stage::Answers(Some(from)));
            Ok(Part { ops, forgotten: Forgotten::default(), next })
        }
        Stage::Figures => figures(store, owner),
        Stage::Over => Ok(Part { ops: Vec::new(), forgotten: Forgotten::default(), next: Stage::Over }),
    }
}

fn scan(prefix: Vec<u8>, from: Option<Vec<u8>>, limit: usize) -> Scan {
    Scan { prefix, from, limit, order: Order::Ascending }
}

/// From the front, again and again: what was deleted is not found again.
fn entries(store: &StoreHandle, owner: &Owner) -> Result<Part, StoreError> {
    let page = store.scan(Tree::MemoryIds, &scan(place::ids_of_owner(owner), None, IDS))?;
    let next = if page.items.is_empty() { Stage::Changes(None) } else { Stage::Entries };
    // Nothing of a turn but its writes is used: indexes and figures are told of the owner as a whole.
    let (mut turn, mut forgotten, mut bytes) = (Turn::new(Millis(0), 0), Forgotten::default(), 0);
    for (key, rec) in page.items {
        let place = stored::read_place(&rec.bytes)?;
        let Some(id) = place::read_id(&key) else { continue };
        forgotten.vectors += u64::from(store.get(Tree::MemoryVectors, &place::vector(id))?.is_some());
        match stored::entry(store, &place) {
            Ok(Some(entry)) if entry.id == id => {
                forgotten.entries += 1;
                forgotten.versions += entry.kept.len() as u64;
                bytes += entry.bytes();
                turn.erase(&entry);
            }
            found => remains(&mut turn, &place, id, found)?,
        }
        if turn.ops.len() > MAX_OPS || bytes > MAX_BYTES {
            break;
        }
    }
    Ok(Part { ops: turn.ops, forgotten, next })
}

/// What an identifier leads to that has no readable entry: whatever is known of it goes.
fn remains(
    turn: &mut Turn,
    place: &Place,
    id: EntryId,
    found: Result<Option<EntryRecord>, StoreError>,
) -> Result<(), StoreError> {
    match found {
        Err(StoreError::Corrupt(why)) => {
            tracing::warn!(%id, why, "an entry that cannot be read is deleted with its owner");
            turn.delete(Tree::Memory, place::entry(place));
        }
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    turn.delete(Tree::MemoryIds, place::id(&place.space.owner, id));
    turn.delete(Tree::MemoryIds, place::id_in(&place.space, id));
    turn.delete(Tree::MemoryVectors, place::vector(id));
    Ok(())
}

/// That the owner is gone stays said, for indexes that have yet to hear it.
fn changes(store: &StoreHandle, owner: &Owner, from: Option<Vec<u8>>) -> Result<Part, StoreError> {
    let page = store.scan(Tree::MemoryChanges, &scan(Vec::new(), from, PAGE))?;
    let mut ops = Vec::new();
    for (key, rec) in page.items {
        let change = <Change as muster_store::Record>::decode(&rec)?;
        if change.owner() == owner && !matches!(change, Change::OwnerGone { .. }) {
            ops.push(Op::Delete { tree: Tree::MemoryChanges, key });
        }
    }
    let next = page.next.map_or(Stage::Answers(None), |from| Stage::Changes(Some(from)));
    Ok(Part { ops, forgotten: Forgotten::default(), next })
}

fn figures(store: &StoreHandle, owner: &Owner) -> Result<Part, StoreError> {
    let page = store.scan(Tree::MemoryIds, &scan(place::tallies(owner), None, PAGE))?;
    let next = if page.next.is_some() { Stage::Figures } else { Stage::Over };
    let ops = page.items.into_iter().map(|(key, _)| Op::Delete { tree: Tree::MemoryIds, key }).collect();
    Ok(Part { ops, forgotten: Forgotten::default(), next })
}
