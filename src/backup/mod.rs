//! Backups of the running server: a snapshot of one moment, and the signed and encrypted copy of it that is sent.

mod check;
mod header;
mod protection;
mod sealed;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use muster_core::{Error, Kind, Millis};
use muster_memory::{EntryId, Owner};
use muster_store::StoreError;

pub use check::check_backup;
pub use header::{known_instance, new_header};
pub use protection::{ProtectedWriter, Protection};
pub use sealed::{COPIES, SealedBackup};

use crate::app::App;
use crate::snapshots::SNAPSHOTS_KEPT;

/// A complete snapshot of one moment, open for reading. It stays readable when its file is renamed or removed.
#[derive(Debug)]
pub struct Backup {
    /// File name for the snapshot, such as `20260101T120000.000Z.snap`.
    pub name: String,
    pub file: File,
    pub bytes: u64,
}

impl App {
    /// Takes a snapshot that contains everything acknowledged before the call. Commits wait while it is written, but
    /// not while it is read. It is also stored in `snapshots/` as the latest snapshot.
    ///
    /// # Errors
    /// `Unavailable` if another backup is being written or the disk fails.
    pub async fn backup(&self) -> Result<Backup, Error> {
        let busy =
            |_| Error::new(Kind::Unavailable, "another backup is being written").retry_in(Duration::from_secs(5));
        // Held until the file is open, because a third snapshot would remove the first.
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

    /// Returns the names of files that may still contain an owner's memory: backups in the store's folder written since
    /// the owner was created, and stores moved aside since then. Blocking.
    ///
    /// # Errors
    /// `Unavailable` if the folder cannot be read.
    pub fn backups_since(&self, owner: &str) -> Result<Vec<String>, Error> {
        let Some(made) = made_at(owner) else { return Ok(Vec::new()) };
        let folder = self.live().config.store.path.clone();
        let unread = |error: io::Error| {
            tracing::error!(%error, "the folder of backups cannot be read");
            Error::new(Kind::Unavailable, "the operation succeeded, but the backups cannot be listed: see the log")
        };
        let aside = stamped(&folder, &made, |name| {
            ["quarantine-", "replaced-"].iter().find_map(|prefix| name.strip_prefix(prefix))
        });
        let saved = stamped(&self.sled.snapshots(), &made, |name| name.strip_suffix(".snap"));
        let mut names = saved.map_err(unread)?;
        names.extend(aside.map_err(unread)?);
        names.sort();
        Ok(names)
    }

    /// Writes everything acknowledged that is only in a journal so far to the store, before a snapshot is taken.
    ///
    /// # Errors
    /// A journal cannot be written to the store; no backup is made then, because it would be incomplete.
    pub async fn before_backup(&self) -> Result<(), Error> {
        self.ledger.flush().await
    }
}

/// Returns the time from which data of an owner can exist, in the format of the time stamps in file names: identifiers
/// contain their creation time, and shared namespaces have existed from the start. `None` if the name is not one of an
/// owner.
fn made_at(owner: &str) -> Option<String> {
    if owner == Owner::SHARED {
        return Some(String::new());
    }
    let ulid = ["key_", "usr_"].iter().find_map(|prefix| owner.strip_prefix(prefix))?;
    let id: EntryId = format!("mem_{ulid}").parse().ok()?;
    let at = Millis(u64::try_from(id.0 >> 80).ok()?);
    Some(at.rfc3339().replace(['-', ':'], ""))
}

/// Returns the names in a folder whose time stamp is not before `since`.
fn stamped(folder: &Path, since: &str, stamp: impl Fn(&str) -> Option<&str>) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read?,
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let names = names.collect::<io::Result<Vec<String>>>()?;
    Ok(names.into_iter().filter(|name| stamp(name).is_some_and(|stamp| stamp >= since)).collect())
}

fn open(path: PathBuf) -> Result<Backup, StoreError> {
    let failed = |error: std::io::Error| StoreError::Io(format!("{}: {error}", path.display()));
    let file = File::open(&path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Backup { name, file, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_s_name_tells_since_when_there_can_be_something() {
        // The ULID specification: the first 48 bits are milliseconds since 1970, here 1,469,918,176,385.
        assert_eq!(made_at("key_01ARYZ6S41TSV4RRFFQ69G5FAV").unwrap(), "20160730T223616.385Z");
        assert_eq!(made_at("shared").unwrap(), "");
        assert_eq!(made_at("somebody"), None);
        let folder = tempfile::tempdir().unwrap();
        for name in ["20160730T223616.384Z.snap", "20160730T223616.385Z.snap", "20260101T000000.000Z.snap", "other"] {
            File::create(folder.path().join(name)).unwrap();
        }
        let mut since = stamped(folder.path(), "20160730T223616.385Z", |name| name.strip_suffix(".snap")).unwrap();
        since.sort();
        assert_eq!(since, ["20160730T223616.385Z.snap", "20260101T000000.000Z.snap"]);
        assert!(stamped(&folder.path().join("none"), "", |name| Some(name)).unwrap().is_empty());
    }
}
