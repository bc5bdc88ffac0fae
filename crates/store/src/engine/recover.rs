//! What happens to a corrupt engine: it is set aside, never repaired in place and never deleted, and the newest
//! snapshot takes its place.
//!
//! The replacement is built beside it under a temporary name and renamed in when it is whole, so that a crash at any
//! point leaves either the corrupt engine or the whole replacement, and the next start goes on from there.

use std::fs;
use std::path::{Path, PathBuf};

use super::Options;
use super::fill::Filler;
use super::offline;
use super::open::{LIVE, SNAPSHOTS};
use super::tables::Engine;
use crate::StoreError;
use crate::files;
use crate::snapshot::{self, SnapshotReader, SnapshotWriter};

pub(super) const BUILDING: &str = "restore.tmp";
pub(super) const READY: &str = "restore.ready";

/// Why an engine cannot simply be used.
pub(super) enum Damage {
    /// It cannot be opened at all.
    Unreadable(String),
    /// It opens, but acknowledged writes are missing or its first pages are corrupt.
    Lossy { engine: Box<Engine>, why: String },
    /// Not damage: locked, not writable, no space.
    Refused(StoreError),
}

/// Sets the engine aside and puts the newest whole snapshot in its place; answers what it did, for people.
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
    let told = match restored {
        Some((from, records)) => {
            files::rename(&folder.join(READY), &folder.join(LIVE))?;
            format!("{why}; moved to {}; restored {records} records of {}", aside.display(), from.display())
        }
        None => format!("{why}; moved to {}; there was no whole snapshot: started empty", aside.display()),
    };
    tracing::error!(told, "the store was corrupt and has been set aside");
    Ok(told)
}

/// An engine that lost its tail still holds the writes before: they make the newest snapshot.
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

/// Builds a whole engine from the snapshot that got furthest. A damaged one is passed over.
fn build_replacement(options: &Options) -> Result<Option<(PathBuf, u64)>, StoreError> {
    let folder = &options.path;
    for (group, path) in candidates(&folder.join(SNAPSHOTS)) {
        if let Err(error) = snapshot::verify_file(&path) {
            tracing::error!(path = %path.display(), %error, "passing over a damaged snapshot");
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
    let mut filler = Filler::new(engine);
    while let Some((tree, key, rec)) = records.next_record()? {
        filler.put(tree, key, rec)?;
    }
    filler.restored();
    filler.finish(group)
}

/// Goes on where a crash interrupted a quarantine, a compaction or a restore.
pub(super) fn finish_interrupted(folder: &Path) -> Result<(), StoreError> {
    let (live, ready) = (folder.join(LIVE), folder.join(READY));
    if ready.is_dir() && !live.exists() {
        files::rename(&ready, &live)?;
    }
    files::remove_dir(&ready)?;
    files::remove_dir(&folder.join(BUILDING))?;
    offline::finish_replacement(folder)
}

/// Removes sled's own snapshot of its page table, which is only a shortcut; a power cut may leave it torn. True if
/// there was one.
pub(super) fn drop_engine_snapshots(live: &Path) -> bool {
    let is_snapshot = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("snap."));
    let snapshots: Vec<_> = files::entries(live).into_iter().filter(is_snapshot).collect();
    !snapshots.is_empty() && snapshots.iter().all(|path| fs::remove_file(path).is_ok())
}

/// Removes all snapshots but the newest few.
pub(super) fn prune(dir: &Path, keep: usize) {
    for (_, path) in candidates(dir).into_iter().skip(keep) {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "could not remove an old snapshot");
        }
    }
}

/// The snapshots with a readable header, the one that got furthest first.
fn candidates(dir: &Path) -> Vec<(u64, PathBuf)> {
    let mut found: Vec<_> = files::entries(dir)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ext| ext == snapshot::EXTENSION))
        .filter_map(|path| Some((SnapshotReader::open(&path).ok()?.group(), path)))
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}
