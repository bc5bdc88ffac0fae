//! Reading everything back from the store.

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
use super::state::Stored;
use muster_core::Millis;

/// Executions whose job never came are deleted once they are so old: before, it may still come.
const ORPHAN: Duration = Duration::from_secs(3600);

/// Reads all. Blocks the thread. Gives also the deletions of executions that no job has.
pub fn read_all(store: &StoreHandle, now: Millis) -> Result<(Stored, Vec<Vec<Op>>), StoreError> {
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
    Ok((Stored { artifacts, keys, jobs, executions }, bounded(orphans)))
}

/// The artifacts that are ready and whose image is not whole in the folder, as where a backup was restored without its
/// images. Blocks the thread.
///
/// # Errors
/// The store cannot be read.
pub fn lacking(store: &StoreHandle, folder: &Path) -> Result<Vec<Artifact>, StoreError> {
    let artifacts = store.records::<Artifact>("art_", PageRequest::default()).values();
    let is_lacking = |artifact: &Artifact| {
        let here = std::fs::metadata(image::path(folder, &artifact.id)).map_or(0, |file| file.len());
        artifact.state == ArtifactState::Ready && here != artifact.manifest.size
    };
    artifacts.filter(|found| found.as_ref().map_or(true, is_lacking)).collect()
}

fn is_old(job: &str, now: Millis) -> bool {
    let made = job.strip_prefix("job_").and_then(|id| Ulid::from_string(id).ok()).map(|id| Millis(id.timestamp_ms()));
    made.is_some_and(|at| now.since(at) > ORPHAN)
}

/// The hashes of a verified image's blocks.
pub fn read_blocks(store: &StoreHandle, artifact: &str) -> Result<Option<Blocks>, StoreError> {
    store.record(&super::state::blocks_key(artifact))
}

/// Most writes of one decision.
pub const MAX_OPS: usize = 450;

/// The writes of a job's executions, in parts of a bounded size.
///
/// # Errors
/// One is too large to be stored.
pub fn writes(executions: &[Execution]) -> Result<Vec<Vec<Op>>, StoreError> {
    let put =
        |execution: &Execution| Ok(Op::Put { tree: Execution::TREE, key: execution.key(), rec: execution.encode()? });
    Ok(bounded(executions.iter().map(put).collect::<Result<_, StoreError>>()?))
}

fn bounded(ops: Vec<Op>) -> Vec<Vec<Op>> {
    ops.chunks(MAX_OPS).map(<[Op]>::to_vec).collect()
}
