//! Identity of the store to which checkpoint files belong.

use muster_store::{Batch, Expect, Rec, Store, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// In `Tree::Meta`, which is not part of backups: generated once per store.
const KEY: &[u8] = b"memory/store";

/// Identity of a store; a recreated or restored store has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity([u8; 16]);

/// Returns the identity of a store, and generates it if necessary.
///
/// # Errors
/// The store failed, or the system's random number generator did.
pub(crate) async fn identity(store: &StoreHandle) -> Result<Identity, StoreError> {
    if let Some(known) = known(store.as_ref())? {
        return Ok(known);
    }
    let mut bytes = vec![0; 16];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Io(format!("no randomness: {error}")))?;
    let drawn = Batch::put(Tree::Meta, KEY, Rec { schema: 1, bytes }).when(Tree::Meta, KEY, Expect::Absent);
    match store.commit(drawn).await {
        // Another shard was faster.
        Ok(()) | Err(StoreError::Conflict) => {}
        Err(error) => return Err(error),
    }
    known(store.as_ref())?.ok_or_else(|| StoreError::Io("the store's identity is gone again".to_owned()))
}

fn known(store: &dyn Store) -> Result<Option<Identity>, StoreError> {
    let Some(drawn) = store.get(Tree::Meta, KEY)? else { return Ok(None) };
    let restored = store.get(Tree::Meta, muster_store::RESTORE_MARK)?;
    let mut digest = Sha256::new_with_prefix(&drawn.bytes);
    digest.update(restored.map(|rec| rec.bytes).unwrap_or_default());
    Ok(digest.finalize().first_chunk().map(|bytes| Identity(*bytes)))
}
