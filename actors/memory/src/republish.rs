//! Reads changes that were stored but not passed to the indexes before the actor died.

use std::sync::Arc;

use muster_store::{StoreError, StoreHandle};

use super::port::{Applied, AppliedKind};
use super::record::Change;
use super::stored;

/// Changes read per page.
const PAGE: usize = 500;

/// Returns the changes after `known`, with entries and vectors as they are now: an index accepts duplicates, and newer
/// versions in place of older ones. Blocking.
///
/// # Errors
/// The store cannot be read.
pub(super) fn changes(store: &StoreHandle, known: u64) -> Result<Vec<Applied>, StoreError> {
    let (mut all, mut behind) = (Vec::new(), known);
    loop {
        let page = stored::changes(store, behind, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(all) };
        behind = *last;
        for (seq, change) in page {
            all.extend(now(store, change)?.map(|kind| Applied { seq, kind }));
        }
    }
}

/// Returns the current form of a change; `None` if a later one supersedes it.
fn now(store: &StoreHandle, change: Change) -> Result<Option<AppliedKind>, StoreError> {
    Ok(match change {
        Change::Put { place, id, .. } => {
            let entry = stored::entry(store, &place)?.filter(|entry| entry.id == id);
            entry.map(|entry| AppliedKind::Put(Arc::new(entry)))
        }
        Change::Vector { place, id, version } => {
            let vector = stored::vector(store, id)?.filter(|vector| vector.version == version);
            vector.map(|vector| AppliedKind::Vector {
                space: place.space,
                id,
                version,
                model: vector.model,
                vector: vector.vector.into(),
            })
        }
        Change::Deleted { place, id } => Some(AppliedKind::Deleted { space: place.space, id }),
        Change::OwnerDeleted { owner } => Some(AppliedKind::OwnerDeleted { owner }),
    })
}
