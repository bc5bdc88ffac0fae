//! Reads and bulk writes of stored records.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use muster_store::{Op, PageRequest, Record, StoreError, StoreHandle};
use ulid::Ulid;

use super::artifact::{Artifact, ArtifactState, Blocks};
use super::execution::Execution;
use super::image;
use super::job::Job;
use super::state::StoredFirmware;
use muster_core::Millis;

/// Age from which executions without a job are deleted; before, the job may still be stored.
const ORPHAN: Duration = Duration::from_secs(3600);

/// Reads all records and the deletions of executions without a job. Blocks the thread.
pub(crate) fn read_all(store: &StoreHandle, now: Millis) -> Result<(StoredFirmware, Vec<Vec<Op>>), StoreError> {
    let all = PageRequest::default;
    let artifacts = store.records("art_", all()).values().collect::<Result<_, _>>()?;
    let keys = store.records("key/", all()).values().collect::<Result<_, _>>()?;
    let jobs = store.records::<Job>([], all()).values().collect::<Result<Vec<_>, _>>()?;
    let mut executions: HashMap<Arc<str>, Vec<Execution>> =
        jobs.iter().map(|job| (Arc::clone(&job.id), Vec::new())).collect();
    let mut orphans = Vec::new();
    for entry in store.records::<Execution>([], all()) {
        let (key, execution) = entry?;
        match executions.get_mut(&execution.job_id) {
            Some(of) => of.push(execution),
            None if is_old(&execution.job_id, now) => orphans.push(Op::Delete { tree: Execution::TREE, key }),
            None => {}
        }
    }
    Ok((StoredFirmware { artifacts, keys, jobs, executions }, bounded(orphans)))
}

/// Returns ready artifacts whose image is missing or incomplete in the folder, for example after a restore without
/// images. Blocks the thread.
///
/// # Errors
/// The store cannot be read.
pub fn missing_images(store: &StoreHandle, folder: &Path) -> Result<Vec<Artifact>, StoreError> {
    let artifacts = store.records::<Artifact>("art_", PageRequest::default()).values();
    let is_missing = |artifact: &Artifact| {
        let here = std::fs::metadata(image::path(folder, &artifact.id)).map_or(0, |file| file.len());
        artifact.state == ArtifactState::Ready && here != artifact.manifest.size
    };
    artifacts.filter(|found| found.as_ref().map_or(true, is_missing)).collect()
}

fn is_old(job: &str, now: Millis) -> bool {
    let made = job.strip_prefix("job_").and_then(|id| Ulid::from_string(id).ok()).map(|id| Millis(id.timestamp_ms()));
    made.is_some_and(|at| now.since(at) > ORPHAN)
}

/// Reads the hashes of a verified image's blocks.
pub(crate) fn read_blocks(store: &StoreHandle, artifact: &str) -> Result<Option<Blocks>, StoreError> {
    store.record(&super::state::blocks_key(artifact))
}

/// Largest number of writes of one decision.
pub(crate) const MAX_OPS: usize = 450;

/// Returns the writes of a job's executions in bounded parts.
///
/// # Errors
/// A record is too large to be stored.
pub(crate) fn writes(executions: &[Execution]) -> Result<Vec<Vec<Op>>, StoreError> {
    let put =
        |execution: &Execution| Ok(Op::Put { tree: Execution::TREE, key: execution.key(), rec: execution.encode()? });
    Ok(bounded(executions.iter().map(put).collect::<Result<_, StoreError>>()?))
}

fn bounded(ops: Vec<Op>) -> Vec<Vec<Op>> {
    ops.chunks(MAX_OPS).map(<[Op]>::to_vec).collect()
}
