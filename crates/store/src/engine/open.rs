//! Opens a store: lock, open, detect lost writes, recover, migrate.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::recover::{self, Damage};
use super::tables::Engine;
use super::writer::Writer;
use super::{OpenedStore, Options, SledStore};
use crate::files::{self, io_at};
use crate::high_water::{self, HighWaterMark};
use crate::migrate::migrate;
use crate::{Scan, StoreError, Tree, crash};

pub(super) const LIVE: &str = "live";
pub(super) const SNAPSHOTS: &str = "snapshots";
const HIGH_WATER_FILE: &str = "witness";

/// Opens the store on a separate thread, so that the caller may be inside a runtime.
pub(super) fn open(options: Options) -> Result<OpenedStore, StoreError> {
    let opening = thread::Builder::new().name("store-open".into()).spawn(move || open_here(&options));
    let opening = opening.map_err(|e| StoreError::Io(format!("could not start a thread for the store: {e}")))?;
    opening
        .join()
        .unwrap_or_else(|panic| Err(StoreError::Corrupt(format!("opening panicked: {}", crash::text(&*panic)))))
}

fn open_here(options: &Options) -> Result<OpenedStore, StoreError> {
    let folder = &options.path;
    files::create_dir(folder)?;
    let lock = lock_and_recover(folder)?;
    let (engine, quarantined) = match open_verified(options) {
        Ok(engine) => (engine, None),
        Err(Damage::Refused(error)) => return Err(error),
        Err(damage) => {
            let report = recover::quarantine(options, damage)?;
            (Engine::open(&folder.join(LIVE), options.cache_bytes, options.durability)?, Some(report))
        }
    };
    let engine = Arc::new(engine);
    let mut high_water = HighWaterMark::open(folder.join(LIVE).join(HIGH_WATER_FILE))?;
    high_water.note(engine.group()?)?;
    let writer = Writer::start(Arc::clone(&engine), high_water)?;
    let store = SledStore { writer, engine, folder: folder.clone(), quarantined: quarantined.clone(), _lock: lock };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|e| StoreError::Io(format!("could not start a runtime for migrations: {e}")))?;
    let migrated = runtime.block_on(migrate(&store, &options.migrations))?;
    Ok(OpenedStore { store: Arc::new(store), quarantined, migrated })
}

/// Locks the folder and finishes operations that a crash interrupted.
pub(super) fn lock_and_recover(folder: &Path) -> Result<File, StoreError> {
    let lock = lock(folder)?;
    files::sweep_temporary(&folder.join(SNAPSHOTS));
    recover::finish_interrupted(folder)?;
    Ok(lock)
}

fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join("lock");
    let file = files::private().write(true).create(true).truncate(false).open(&path).map_err(|e| io_at(&path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(folder.display().to_string())),
        Err(TryLockError::Error(error)) => Err(io_at(&path, &error)),
    }
}

/// Opens the engine and verifies that it contains everything that was acknowledged.
pub(super) fn open_verified(options: &Options) -> Result<Engine, Damage> {
    let live = options.path.join(LIVE);
    let open = || Engine::open(&live, options.cache_bytes, options.durability);
    let engine = match open() {
        Err(StoreError::Corrupt(why)) if recover::drop_engine_snapshots(&live) => {
            tracing::warn!(why, "opening from the engine's whole log, without its own snapshot");
            open()
        }
        opened => opened,
    };
    let engine = engine.map_err(|error| match error {
        StoreError::Corrupt(why) => Damage::Unreadable(why),
        other => Damage::Refused(other),
    })?;
    let acknowledged = high_water::read(&live.join(HIGH_WATER_FILE)).unwrap_or(0);
    match read_metadata(&engine) {
        Ok(group) if group >= acknowledged => Ok(engine),
        Ok(group) => {
            let lost = acknowledged - group;
            let why = format!("the engine dropped the last {lost} of {acknowledged} acknowledged groups of writes");
            Err(Damage::Lossy { engine: Box::new(engine), why })
        }
        Err(StoreError::Corrupt(why)) => Err(Damage::Lossy { engine: Box::new(engine), why }),
        Err(other) => Err(Damage::Refused(other)),
    }
}

/// Reads what every start needs: the number of the last group and the store's own metadata.
fn read_metadata(engine: &Engine) -> Result<u64, StoreError> {
    let mut from = None;
    loop {
        let limit = crate::MAX_PAGE;
        let page = engine.scan(Tree::Meta, &Scan { from, limit, ..Scan::default() }, limit)?;
        if page.next.is_none() {
            return engine.group();
        }
        from = page.next;
    }
}
