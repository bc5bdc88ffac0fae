//! The signed and encrypted copy of a snapshot that a client fetches.
//!
//! It is written to a file without a name before the first byte is sent, so that its digest can be in the headers. The
//! space is free again when the response ends.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use muster_audit::newest_signed;
use muster_backup::{Header, SignedWriter};
use muster_core::{Error, Kind};
use muster_tlog::NoteSigner;
use sha2::{Digest, Sha256};
use tokio::sync::OwnedSemaphorePermit;

use super::{Backup, Protection, new_header};
use crate::app::App;

/// Largest number of copies that are being fetched at one time.
pub const COPIES: usize = 4;
const BUFFER: usize = 256 << 10;

/// A backup, ready to be sent.
#[derive(Debug)]
pub struct SealedBackup {
    /// Name of the snapshot in it, such as `20260101T120000.000Z.snap`.
    pub name: String,
    /// The file, at its beginning.
    pub file: File,
    pub bytes: u64,
    pub sha256: [u8; 32],
    /// Held until the file was sent.
    pub permit: OwnedSemaphorePermit,
}

impl App {
    /// Takes a backup, signs it with the keys of the audit log and encrypts it.
    ///
    /// # Errors
    /// `Unavailable` if other backups are in the way or the disk fails.
    pub async fn sealed_backup(&self, protection: Protection, approval: Option<String>) -> Result<SealedBackup, Error> {
        let many = || {
            Error::new(Kind::Unavailable, format!("{COPIES} backups are being fetched"))
                .retry_in(Duration::from_secs(30))
        };
        let permit = Arc::clone(&self.backup_copies).try_acquire_owned().map_err(|_| many())?;
        let folder = self.live().config.store.path.clone();
        // The key is derived before commits wait for the snapshot.
        let begun = blocking(move || begin(&folder, &protection)).await?;
        // The checkpoint comes before the snapshot: it must not be newer than the records.
        let (live, store, now, keys) = (self.live(), self.store.clone(), self.clock.now(), self.audit.keys().clone());
        let setup = blocking(move || {
            let note = newest_signed(|tree, key| store.get(tree, key)).map_err(io::Error::other)?;
            new_header(&live.config, &keys, note, now).map_err(io::Error::other)
        });
        let (mut header, signers) = setup.await?;
        header.approval = approval;
        let Backup { name, file, .. } = self.backup().await?;
        let (file, sha256, bytes) = blocking(move || write(begun, header, signers, file)).await?;
        Ok(SealedBackup { name, file, bytes, sha256, permit })
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::new(Kind::Internal, error.to_string()))?.map_err(|error| {
        tracing::error!(%error, "no backup could be encrypted");
        Error::new(Kind::Unavailable, "the backup could not be written: see the server's log")
    })
}

type Encrypted = super::ProtectedWriter<BufWriter<HashedFile>>;

fn begin(folder: &Path, protection: &Protection) -> io::Result<Encrypted> {
    let file = HashedFile { file: tempfile::tempfile_in(folder)?, sha256: Sha256::new(), bytes: 0 };
    protection.begin(BufWriter::with_capacity(BUFFER, file)).map_err(io::Error::from)
}

fn write(
    to: Encrypted,
    header: Header,
    signers: Vec<NoteSigner>,
    mut snapshot: File,
) -> io::Result<(File, [u8; 32], u64)> {
    let mut signed = SignedWriter::new(to, header, signers)?;
    io::copy(&mut snapshot, &mut signed)?;
    let written = signed.finish()?.finish()?;
    let HashedFile { mut file, sha256, bytes } = written.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok((file, sha256.finalize().into(), bytes))
}

/// Hashes and counts what is written to a file.
#[derive(Debug)]
struct HashedFile {
    file: File,
    sha256: Sha256,
    bytes: u64,
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sha256.update(bytes.get(..written).unwrap_or(bytes));
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
