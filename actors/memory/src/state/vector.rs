//! Storing of vectors.

use std::sync::Arc;

use muster_store::{StoreError, Tree};

use super::transaction::Transaction;
use crate::keys;
use crate::port::{AppliedKind, NewVector};
use crate::record::{Change, EntryRecord, VectorRecord};

/// Stores a vector if its entry and text are still current; otherwise returns false.
///
/// # Errors
/// It cannot be encoded.
pub(crate) fn vector(
    transaction: &mut Transaction,
    present: Option<&EntryRecord>,
    new: &NewVector,
) -> Result<bool, StoreError> {
    let is_valid = |present: &&EntryRecord| {
        present.id == new.id && present.is_vector_valid(new.version) && !present.expired(transaction.now)
    };
    if present.filter(is_valid).is_none() {
        return Ok(false);
    }
    let (id, version) = (new.id, new.version);
    let record = VectorRecord { version, model: Arc::clone(&new.model), vector: new.vector.to_vec() };
    transaction.put(Tree::MemoryVectors, keys::vector(id), &record)?;
    let seq = transaction.change(&Change::Vector { place: new.place.clone(), id, version })?;
    let (space, model, vector) = (new.place.space.clone(), Arc::clone(&new.model), Arc::clone(&new.vector));
    transaction.record(seq, AppliedKind::Vector { space, id, version, model, vector });
    Ok(true)
}
