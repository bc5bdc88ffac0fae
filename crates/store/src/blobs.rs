//! Large values, each stored in a file named by its SHA-256. They are kept out of sled because it would spill them into
//! files that it does not sync.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::envelope::BlobId;
use crate::files::{self, hex, io_at};
use crate::{Durability, MAX_VALUE, StoreError};

/// The folder that holds large values.
#[derive(Debug)]
pub(crate) struct Blobs {
    dir: PathBuf,
    durability: Durability,
    bytes: AtomicU64,
}

impl Blobs {
    /// Opens the folder and removes files of interrupted writes and files for which `is_referenced` returns false.
    pub(crate) fn open(
        dir: PathBuf,
        durability: Durability,
        is_referenced: impl Fn(&BlobId) -> bool,
    ) -> Result<Self, StoreError> {
        files::create_dir(&dir)?;
        files::sweep_temporary(&dir);
        let mut bytes = 0;
        for path in files::entries(&dir) {
            let Some(id) = id_of(&path) else { continue };
            let len = fs::metadata(&path).map_or(0, |meta| meta.len());
            if is_referenced(&id) {
                bytes += len;
            } else if let Err(error) = fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), %error, "could not remove an unreferenced value");
            }
        }
        Ok(Self { dir, durability, bytes: AtomicU64::new(bytes) })
    }

    /// Writes a value, which is durable only after `sync`. An intact file with the same content is reused.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<BlobId, StoreError> {
        let id: BlobId = Sha256::digest(bytes).into();
        if self.read(&id).is_ok() {
            return Ok(id);
        }
        let path = self.path(&id);
        files::write_atomic(&path, |out| out.write_all(bytes).map_err(|e| io_at(&path, &e)))?;
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(id)
    }

    /// Makes the directory entries of the values written so far durable.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        match self.durability {
            Durability::PowerCut => files::sync_dir(&self.dir),
            Durability::ProcessEnd => Ok(()),
        }
    }

    /// Reads a value and verifies it against its SHA-256.
    pub(crate) fn read(&self, id: &BlobId) -> Result<Vec<u8>, StoreError> {
        let path = self.path(id);
        let corrupt = |why: String| StoreError::Corrupt(format!("{}: {why}", path.display()));
        let len = fs::metadata(&path).map_err(|e| corrupt(e.to_string()))?.len();
        if len > MAX_VALUE as u64 {
            return Err(corrupt(format!("{len} bytes exceed the maximum size of a value")));
        }
        let bytes = fs::read(&path).map_err(|e| corrupt(e.to_string()))?;
        if BlobId::from(Sha256::digest(&bytes)) != *id {
            return Err(corrupt("the content does not match its SHA-256".into()));
        }
        Ok(bytes)
    }

    /// Returns the total size of the values in the folder, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn path(&self, id: &BlobId) -> PathBuf {
        self.dir.join(hex(id))
    }
}

fn id_of(path: &Path) -> Option<BlobId> {
    let name = path.file_name()?.to_str()?;
    let mut id = BlobId::default();
    if name.len() != id.len() * 2 || !name.is_ascii() {
        return None;
    }
    for (byte, at) in id.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(name.get(at..at + 2)?, 16).ok()?;
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_verified_by_its_hash_and_removed_when_unreferenced() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("blobs.d");
        let blobs = Blobs::open(dir.clone(), Durability::PowerCut, |_| true).unwrap();
        let (kept, left) = (blobs.write(&[1; 20_000]).unwrap(), blobs.write(&[2; 30_000]).unwrap());
        assert_eq!(blobs.read(&kept).unwrap(), [1; 20_000]);
        assert_eq!(blobs.bytes(), 50_000);
        fs::write(dir.join("half.tmp"), b"interrupted").unwrap();

        let blobs = Blobs::open(dir.clone(), Durability::PowerCut, |id| *id == kept).unwrap();
        assert_eq!(files::entries(&dir), [dir.join(hex(&kept))]);
        assert_eq!(blobs.bytes(), 20_000);
        assert!(matches!(blobs.read(&left), Err(StoreError::Corrupt(_))));
    }

    #[test]
    fn a_flipped_bit_is_detected_and_repaired_by_the_next_write() {
        let home = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(home.path().join("blobs.d"), Durability::PowerCut, |_| true).unwrap();
        let value = vec![7; 17_000];
        let id = blobs.write(&value).unwrap();
        let path = blobs.path(&id);
        let mut bytes = fs::read(&path).unwrap();
        bytes[16_999] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(blobs.read(&id), Err(StoreError::Corrupt(_))));
        blobs.write(&value).unwrap();
        assert_eq!(blobs.read(&id).unwrap(), value);
    }
}
