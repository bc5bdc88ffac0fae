//! Recovery from a corrupt engine: it is set aside, never repaired in place and never deleted, and the newest snapshot
//! takes its place.
//!
//! The replacement is built under a temporary name and renamed when it is complete. A crash at any point leaves either
//! the corrupt engine or the complete replacement, and the next start continues from there.

use std::fs;
use std::path::{Path, PathBuf};

use super::Options;
use super::bulk_load::BulkLoader;
use super::offline;
use super::open::{LIVE, SNAPSHOTS};
use super::tables::Engine;
use crate::StoreError;
use crate::files;
use crate::snapshot::{self, SnapshotReader, SnapshotWriter};

pub(super) const BUILDING: &str = "restore.tmp";
pub(super) const READY: &str = "restore.ready";

/// Why an engine cannot be used as it is.
pub(super) enum Damage {
    /// It cannot be opened at all.
    Unreadable(String),
    /// It can be opened, but acknowledged writes are missing or its metadata is corrupt.
    Lossy { engine: Box<Engine>, why: String },
    /// Not damage: locked, not writable, or no space.
    Refused(StoreError),
}

/// Sets the engine aside and restores the newest intact snapshot; returns a description of what was done.
pub(super) fn quarantine(options: &Options, damage: Damage) -> Result<String, StoreError> {
    let folder = &options.path;
    let why = match damage {
        Damage::Unreadable(why) => why,
        Damage::Lossy { engine, why } => {
            salvage(folder, &engine);
            why
        }
        Damage::Refused(error) => return Err(error),
    };
    let restored = build_replacement(options)?;
    let aside = folder.join(format!("quarantine-{}", files::utc_stamp()));
    files::rename(&folder.join(LIVE), &aside)?;
    let report = match restored {
        Some((from, records)) => {
            files::rename(&folder.join(READY), &folder.join(LIVE))?;
            format!("{why}; moved to {}; restored {records} records of {}", aside.display(), from.display())
        }
        None => {
            format!("{why}; moved to {}; no intact snapshot was found: started with an empty store", aside.display())
        }
    };
    tracing::error!(report, "the store was corrupt and has been set aside");
    Ok(report)
}

/// Saves an engine that lost its last writes as the newest snapshot: it still contains the writes before them.
fn salvage(folder: &Path, engine: &Engine) {
    let dir = folder.join(SNAPSHOTS);
    let path = dir.join(snapshot::file_name());
    let saved = files::create_dir(&dir).and_then(|()| {
        files::write_atomic(&path, |to| {
            let mut out = SnapshotWriter::start(to, engine.group()?)?;
            engine.for_each(|tree, key, rec| out.record(tree, key, &rec))?;
            out.finish()
        })
    });
    if let Err(error) = saved.and_then(|_| files::sync_dir(&dir)) {
        tracing::error!(%error, "nothing could be salvaged from the corrupt engine");
    }
}

/// Builds an engine from the intact snapshot with the highest group number. Damaged snapshots are skipped.
fn build_replacement(options: &Options) -> Result<Option<(PathBuf, u64)>, StoreError> {
    let folder = &options.path;
    for (group, path) in candidates(&folder.join(SNAPSHOTS)) {
        if let Err(error) = snapshot::verify_file(&path) {
            tracing::error!(path = %path.display(), %error, "skipping a damaged snapshot");
            continue;
        }
        let building = folder.join(BUILDING);
        files::remove_dir(&building)?;
        let records = fill(&Engine::open(&building, options.cache_bytes, options.durability)?, &path, group)?;
        files::rename(&building, &folder.join(READY))?;
        return Ok(Some((path, records)));
    }
    Ok(None)
}

fn fill(engine: &Engine, path: &Path, group: u64) -> Result<u64, StoreError> {
    let mut records = SnapshotReader::open(path)?;
    let mut filler = BulkLoader::new(engine);
    while let Some((tree, key, rec)) = records.next_record()? {
        filler.put(tree, key, rec)?;
    }
    filler.restored();
    filler.finish(group)
}

/// Finishes a quarantine, a compaction or a restore that a crash interrupted.
pub(super) fn finish_interrupted(folder: &Path) -> Result<(), StoreError> {
    let (live, ready) = (folder.join(LIVE), folder.join(READY));
    if ready.is_dir() && !live.exists() {
        files::rename(&ready, &live)?;
    }
    files::remove_dir(&ready)?;
    files::remove_dir(&folder.join(BUILDING))?;
    offline::finish_replacement(folder)
}

/// Removes sled's own snapshots of its page table, which only speed up opening; a power cut may leave one torn. Returns
/// true if there was one.
pub(super) fn drop_engine_snapshots(live: &Path) -> bool {
    let is_snapshot = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("snap."));
    let snapshots: Vec<_> = files::entries(live).into_iter().filter(is_snapshot).collect();
    !snapshots.is_empty() && snapshots.iter().all(|path| fs::remove_file(path).is_ok())
}

/// Removes all snapshots but the newest `append_or_buffer`.
pub(super) fn prune(dir: &Path, append_or_buffer: usize) {
    for (_, path) in candidates(dir).into_iter().skip(append_or_buffer) {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "could not remove an old snapshot");
        }
    }
}

/// Returns the snapshots with a readable header, the highest group number first.
fn candidates(dir: &Path) -> Vec<(u64, PathBuf)> {
    let mut found: Vec<_> = files::entries(dir)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ext| ext == snapshot::EXTENSION))
        .filter_map(|path| Some((SnapshotReader::open(&path).ok()?.group(), path)))
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}
