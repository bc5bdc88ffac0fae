//! Snapshots of the store, the source for recovery if the store is found corrupt.

use std::sync::Arc;
use std::time::Duration;

use muster_core::upkeep::PeriodicJob;
use muster_store::SledStore;

use crate::config::Config;

/// Number of snapshots that are kept.
pub const SNAPSHOTS_KEPT: usize = 2;

/// Returns the job that saves snapshots.
pub fn job(config: &Config, sled: &Arc<SledStore>) -> PeriodicJob {
    let (every, sled) = (Duration::from_secs(config.store.snapshot_hours * 3600), Arc::clone(sled));
    PeriodicJob::new("snapshot", every, move || {
        let sled = Arc::clone(&sled);
        async move {
            let saved = tokio::task::spawn_blocking(move || sled.save_snapshot(SNAPSHOTS_KEPT)).await;
            saved.map_err(|error| error.to_string())?.map(drop).map_err(|error| error.to_string())
        }
    })
}
