//! Reading everything back from the store.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use muster_store::{Batch, MAX_PAGE, Order, Rec, Record, Scan, StoreError, StoreHandle, Tree};
use ulid::Ulid;

use super::artifact::{Artifact, ArtifactState, Blocks, SigningKey};
use super::execution::Execution;
use super::image;
use super::job::Job;
use super::state::Stored;
use muster_core::Millis;

/// Executions whose job never came are deleted once they are so old: before, it may still come.
const ORPHAN: Duration = Duration::from_secs(3600);

/// Reads all. Blocks the thread. Gives also the keys of executions that no job has.
pub fn read_all(store: &StoreHandle, now: Millis) -> Result<(Stored, Vec<Vec<u8>>), StoreError> {
    let mut stored = Stored::default();
    each(store, Tree::Artifacts, b"art_", |_, rec| {
        stored.artifacts.push(Artifact::decode(rec)?);
        Ok(())
    })?;
    each(store, Tree::Artifacts, b"key/", |_, rec| {
        stored.keys.push(SigningKey::decode(rec)?);
        Ok(())
    })?;
    each(store, Tree::Jobs, b"", |_, rec| {
        stored.jobs.push(Job::decode(rec)?);
        Ok(())
    })?;
    let mut executions: HashMap<Arc<str>, Vec<Execution>> =
        stored.jobs.iter().map(|job| (Arc::clone(&job.id), Vec::new())).collect();
    let mut orphans = Vec::new();
    each(store, Tree::Executions, b"", |key, rec| {
        let execution = Execution::decode(rec)?;
        match executions.get_mut(&execution.job_id) {
            Some(of) => of.push(execution),
            None if is_old(&execution.job_id, now) => orphans.push(key.to_vec()),
            None => {}
        }
        Ok(())
    })?;
    stored.executions = executions;
    Ok((stored, orphans))
}

/// The artifacts that are ready and whose image is not whole in the folder, as where a backup was restored without its
/// images. Blocks the thread.
///
/// # Errors
/// The store cannot be read.
pub fn lacking(store: &StoreHandle, folder: &Path) -> Result<Vec<Artifact>, StoreError> {
    let mut lacking = Vec::new();
    each(store, Tree::Artifacts, b"art_", |_, rec| {
        let artifact = Artifact::decode(rec)?;
        let here = std::fs::metadata(image::path(folder, &artifact.id)).map_or(0, |file| file.len());
        if artifact.state == ArtifactState::Ready && here != artifact.manifest.size {
            lacking.push(artifact);
        }
        Ok(())
    })?;
    Ok(lacking)
}

fn is_old(job: &str, now: Millis) -> bool {
    let made = job.strip_prefix("job_").and_then(|id| Ulid::from_string(id).ok()).map(|id| Millis(id.timestamp_ms()));
    made.is_some_and(|at| now.since(at) > ORPHAN)
}

fn each(
    store: &StoreHandle,
    tree: Tree,
    prefix: &[u8],
    mut take: impl FnMut(&[u8], &Rec) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut from = None;
    loop {
        let scan = Scan { prefix: prefix.to_vec(), from, limit: MAX_PAGE, order: Order::Ascending };
        let page = store.scan(tree, &scan)?;
        for (key, rec) in &page.items {
            take(key, rec)?;
        }
        from = page.next;
        if from.is_none() {
            return Ok(());
        }
    }
}

/// The hashes of a verified image's blocks.
pub fn read_blocks(store: &StoreHandle, artifact: &str) -> Result<Option<Blocks>, StoreError> {
    let rec = store.get(Tree::Artifacts, &super::state::blocks_key(artifact))?;
    rec.as_ref().map(Blocks::decode).transpose()
}

/// Most writes of one commit.
pub const MAX_OPS: usize = 450;

/// Deletes by key, in commits of a bounded size.
pub async fn delete(store: &StoreHandle, tree: Tree, keys: Vec<Vec<u8>>) -> Result<(), StoreError> {
    for some in keys.chunks(MAX_OPS) {
        let batch = some.iter().fold(Batch::default(), |batch, key| batch.and_delete(tree, key.clone()));
        store.commit(batch).await?;
    }
    Ok(())
}

/// Writes executions of a job that is not there yet, in commits of a bounded size.
pub async fn write(store: &StoreHandle, executions: &[Execution]) -> Result<(), StoreError> {
    for some in executions.chunks(MAX_OPS) {
        let mut batch = Batch::default();
        for execution in some {
            batch = batch.and_put(Execution::TREE, execution.key(), execution.encode()?);
        }
        store.commit(batch).await?;
    }
    Ok(())
}
