//! Changes that every shard has on the disk are not kept.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_store::{Batch, PageRequest, StoreError, Tree};

use super::kit::Kit;
use crate::place;

/// Changes deleted in a batch.
const BATCH: usize = 500;

/// Deletes what all shards cover, beside the actors, unless that is being done. The writer only ever adds behind the last
/// change, so this takes nothing out of its hands.
pub(super) fn begin(kit: &Arc<Kit>) {
    if kit.published.trimming.swap(true, Ordering::AcqRel) {
        return;
    }
    let kit = Arc::clone(kit);
    actix_rt::spawn(async move {
        // Covers more by the time it ends, where another shard has ended meanwhile.
        let mut done = 0;
        while kit.published.covered() > done {
            let covered = kit.published.covered();
            if let Err(error) = trim(&kit, covered).await {
                tracing::warn!(%error, "changes that every checkpoint holds are still kept");
                break;
            }
            done = covered;
        }
        kit.published.trimming.store(false, Ordering::Release);
    });
}

async fn trim(kit: &Kit, covered: u64) -> Result<(), StoreError> {
    let last = place::change(covered);
    loop {
        let mut batch = Batch::default();
        for entry in kit.store.entries(Tree::MemoryChanges, [], PageRequest::of(BATCH)).take(BATCH) {
            let (key, _) = entry?;
            if key > last {
                break;
            }
            batch = batch.and_delete(Tree::MemoryChanges, key);
        }
        if batch.ops.is_empty() {
            return Ok(());
        }
        kit.store.commit(batch).await?;
    }
}
