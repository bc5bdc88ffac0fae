//! Trims the change log up to what every shard has on disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_store::{Batch, PageRequest, StoreError, Tree};

use super::shard_context::ShardContext;
use crate::keys;

/// Changes deleted per batch.
const BATCH: usize = 500;

/// Deletes changes that all shards cover, on another thread, unless that is already running. The writer only appends,
/// so there is no conflict.
pub(super) fn begin(shard_context: &Arc<ShardContext>) {
    if shard_context.published.trimming.swap(true, Ordering::AcqRel) {
        return;
    }
    let shard_context = Arc::clone(shard_context);
    actix_rt::spawn(async move {
        // More may be covered by the time it ends.
        let mut done = 0;
        while shard_context.published.covered() > done {
            let covered = shard_context.published.covered();
            if let Err(error) = trim(&shard_context, covered).await {
                tracing::warn!(%error, "changes that every checkpoint contains cannot be deleted yet");
                break;
            }
            done = covered;
        }
        shard_context.published.trimming.store(false, Ordering::Release);
    });
}

async fn trim(shard_context: &ShardContext, covered: u64) -> Result<(), StoreError> {
    let last = keys::change(covered);
    loop {
        let mut batch = Batch::default();
        for entry in shard_context.store.entries(Tree::MemoryChanges, [], PageRequest::of(BATCH)).take(BATCH) {
            let (key, _) = entry?;
            if key > last {
                break;
            }
            batch = batch.and_delete(Tree::MemoryChanges, key);
        }
        if batch.ops.is_empty() {
            return Ok(());
        }
        shard_context.store.commit(batch).await?;
    }
}
