//! Opens and closes sled itself.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::files::{self, io_at};
use crate::{StoreError, Tree, crash};

/// sled spills values beyond 8 KB into files that it never syncs, unless its segments are at least this large.
const SEGMENT: usize = 8 << 20;
/// Maximum time that a former instance in this process may take to release the engine's file.
const RELEASE: Duration = Duration::from_secs(5);

/// sled and its trees.
#[derive(Debug)]
pub(super) struct Handles {
    pub(super) db: sled::Db,
    pub(super) trees: Vec<(Tree, sled::Tree)>,
    /// Index of which records refer to which large value (`id, tree, key`), so that removing unreferenced values does
    /// not have to read every record.
    pub(super) refs: sled::Tree,
    /// The store's own bookkeeping: the number of the last group.
    pub(super) marks: sled::Tree,
}

impl Handles {
    /// Opens sled in a folder. This runs on a separate thread because sled panics on some corrupt files.
    pub(super) fn open(dir: &Path, cache_bytes: u64) -> Result<Self, StoreError> {
        files::create_dir(dir)?;
        repair_settings(dir);
        let started = Instant::now();
        loop {
            match Self::open_once(dir, cache_bytes) {
                Err(StoreError::Locked(_)) if started.elapsed() < RELEASE => {
                    thread::sleep(Duration::from_millis(10));
                }
                opened => return opened,
            }
        }
    }

    fn open_once(dir: &Path, cache_bytes: u64) -> Result<Self, StoreError> {
        let config =
            sled::Config::new().path(dir).segment_size(SEGMENT).flush_every_ms(None).cache_capacity(cache_bytes);
        let opening = thread::Builder::new()
            .name("store-open-engine".into())
            .spawn(move || {
                let db = config.open()?;
                let mut trees = Vec::new();
                for tree in Tree::ALL {
                    trees.push((tree, db.open_tree(tree.name())?));
                }
                let refs = db.open_tree("blob-refs")?;
                let marks = db.open_tree("store-marks")?;
                Ok(Self { db, trees, refs, marks })
            })
            .map_err(|e| io_at(dir, &e))?;
        match opening.join() {
            Ok(opened) => opened.map_err(|error| fault(dir, error)),
            Err(panic) => Err(StoreError::Corrupt(format!(
                "{}: the engine panicked while opening: {}",
                dir.display(),
                crash::text(&*panic)
            ))),
        }
    }

    /// Closes the engine. sled's own `drop` writes and may panic or, once one of its threads has panicked, block
    /// forever; it therefore runs on a thread, with a time limit.
    pub(super) fn release(self) {
        let (done, released) = mpsc::channel();
        let spawned = thread::Builder::new().name("store-release".into()).spawn(move || {
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(self)));
            let _ = done.send(dropped.map_err(|panic| crash::text(&*panic)));
        });
        let why = match spawned.map(|_| released.recv_timeout(RELEASE)) {
            Ok(Ok(Ok(()))) => return,
            Ok(Ok(Err(panic))) => panic,
            Ok(Err(timeout)) => timeout.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::error!(why, "the engine did not close cleanly; what was acknowledged is on disk");
    }
}

/// Converts an error of sled.
pub(super) fn fault(dir: &Path, error: sled::Error) -> StoreError {
    match error {
        sled::Error::Io(e) if e.to_string().contains("could not acquire lock") => {
            StoreError::Locked(dir.display().to_string())
        }
        sled::Error::Io(e) if !matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData) => {
            io_at(dir, &e)
        }
        other => StoreError::Corrupt(format!("{}: {other}", dir.display())),
    }
}

/// Removes sled's settings file if it is damaged. sled only warns about a damaged file, uses its content and then
/// rejects the folder. The settings are constants here, and sled writes them again.
fn repair_settings(dir: &Path) {
    let path = dir.join("conf");
    let Ok(bytes) = fs::read(&path) else { return };
    let expected = format!("segment_size: {SEGMENT}\nuse_compression: false\nversion: 0.34\n");
    let whole = bytes.len() == expected.len() + 4 && bytes.starts_with(expected.as_bytes());
    if !whole {
        tracing::error!(path = %path.display(), "the engine's settings are damaged: recreating them");
        if let Err(error) = fs::remove_file(&path) {
            tracing::error!(path = %path.display(), %error, "could not remove the damaged settings");
        }
    }
}
