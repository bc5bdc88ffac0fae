//! A backup of the running server.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_actors::{Error, Kind};
use muster_store::StoreError;

use crate::app::{App, SNAPSHOTS_KEPT};

/// A whole snapshot of one moment, open for reading: it stays readable whatever becomes of its name.
#[derive(Debug)]
pub struct Backup {
    /// A name for it, such as `20260101T120000.000Z.snap`.
    pub name: String,
    pub file: File,
    pub bytes: u64,
}

impl App {
    /// A snapshot that holds everything acknowledged before this was called. Commits wait while it is written, never for
    /// whoever reads it then. It also stands in the store's `snapshots/`, as the latest one there.
    ///
    /// # Errors
    /// `Unavailable`: another backup is being written, or the disk fails.
    pub async fn backup(&self) -> Result<Backup, Error> {
        let busy =
            |_| Error::new(Kind::Unavailable, "another backup is being written").retry_in(Duration::from_secs(5));
        // Held until the file is open: a third snapshot would remove the first.
        let _turn = self.backing_up.try_acquire().map_err(busy)?;
        self.before_backup().await?;
        let sled = Arc::clone(&self.sled);
        let saved = tokio::task::spawn_blocking(move || {
            let path = sled.save_snapshot(SNAPSHOTS_KEPT)?;
            open(path)
        });
        saved.await.map_err(|error| Error::new(Kind::Internal, error.to_string()))?.map_err(|error: StoreError| {
            tracing::error!(%error, "no backup could be written");
            Error::new(Kind::Unavailable, "the backup could not be written: see the server's log")
        })
    }

    /// What was acknowledged and is not in the store's records yet goes there before a snapshot is taken: whoever keeps
    /// a journal beside the store folds it in here.
    ///
    /// # Errors
    /// It cannot be folded in; then there is no backup, rather than one with holes.
    pub async fn before_backup(&self) -> Result<(), Error> {
        self.ledger.flush().await
    }
}

fn open(path: PathBuf) -> Result<Backup, StoreError> {
    let failed = |error: std::io::Error| StoreError::Io(format!("{}: {error}", path.display()));
    let file = File::open(&path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Backup { name, file, bytes })
}
