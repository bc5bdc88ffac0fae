//! Verifies files against the manifest. The result of hashing is cached in a sidecar file, so that later starts are
//! quick.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

#[cfg(any(feature = "llm", test))]
use crate::manifest::ModelEntry;

const BLOCK: usize = 1 << 20;

/// Why a file is not loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} has {found} bytes, {expected} are expected", path.display())]
    Size { path: PathBuf, found: u64, expected: u64 },
    #[error("{} has the sha256 {found}, {expected} is expected", path.display())]
    Hash { path: PathBuf, found: String, expected: String },
    #[error("stopped")]
    Stopped,
}

/// Content of the sidecar file. It guards against accidents, not against an attacker with write access to the folder.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Verified {
    bytes: u64,
    modified_ns: u64,
    sha256: String,
}

/// Verifies a file against its entry. `progress` receives whole percentages and returns whether to continue.
#[cfg(any(feature = "llm", test))]
pub(crate) fn verify(path: &Path, entry: &ModelEntry, progress: impl FnMut(u8) -> bool) -> Result<(), VerifyError> {
    verify_file(path, entry.bytes, &entry.sha256, progress)
}

/// Verifies a file's size and hash. `progress` as above.
pub(crate) fn verify_file(
    path: &Path,
    bytes: u64,
    sha256: &str,
    mut progress: impl FnMut(u8) -> bool,
) -> Result<(), VerifyError> {
    let at = |source| VerifyError::Io { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(at)?;
    if metadata.len() != bytes {
        return Err(VerifyError::Size { path: path.to_owned(), found: metadata.len(), expected: bytes });
    }
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let verified = Verified {
        bytes,
        modified_ns: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX),
        sha256: sha256.to_owned(),
    };
    let sidecar = sidecar_path(path);
    if read_sidecar(&sidecar).as_ref() == Some(&verified) {
        return Ok(());
    }
    let found = hash(File::open(path).map_err(at)?, bytes, &mut progress).map_err(at)?.ok_or(VerifyError::Stopped)?;
    if found != sha256 {
        return Err(VerifyError::Hash { path: path.to_owned(), found, expected: sha256.to_owned() });
    }
    write_sidecar(&sidecar, &verified);
    Ok(())
}

fn sidecar_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".verified");
    PathBuf::from(name)
}

fn read_sidecar(path: &Path) -> Option<Verified> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// A read-only folder only costs the next start its time.
fn write_sidecar(path: &Path, verified: &Verified) {
    let written = serde_json::to_vec(verified).map_err(io::Error::other).and_then(|json| fs::write(path, json));
    if let Err(error) = written {
        tracing::debug!(path = %path.display(), %error, "the check of the model file is not remembered");
    }
}

/// Returns the lower-case hexadecimal SHA-256; `None` if `progress` stopped it.
fn hash(mut file: impl Read, bytes: u64, progress: &mut impl FnMut(u8) -> bool) -> io::Result<Option<String>> {
    let mut digest = Sha256::new();
    let mut block = vec![0; BLOCK];
    let mut done: u64 = 0;
    loop {
        let read = file.read(&mut block)?;
        if read == 0 {
            return Ok(Some(format!("{:x}", digest.finalize())));
        }
        digest.update(block.get(..read).unwrap_or_default());
        done += read as u64;
        let percent = u8::try_from(done.saturating_mul(100) / bytes.max(1)).unwrap_or(100).min(100);
        if !progress(percent) {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    /// SHA-256 of `abc`, FIPS 180-4 appendix example.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn entry(bytes: u64, sha256: &str) -> ModelEntry {
        let mut entry = Manifest::embedded().unwrap().get("small").unwrap().clone();
        entry.bytes = bytes;
        entry.sha256 = sha256.to_owned();
        entry
    }

    #[test]
    fn verified_files_are_remembered_until_they_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.gguf");
        fs::write(&path, b"abc").unwrap();
        let mut reported = Vec::new();
        verify(&path, &entry(3, ABC), |percent| {
            reported.push(percent);
            true
        })
        .unwrap();
        assert_eq!(reported, [100]);
        // Cached: nothing is read, so no progress is reported.
        verify(&path, &entry(3, ABC), |_| panic!("hashed again")).unwrap();

        fs::write(&path, b"abd").unwrap();
        let later = fs::metadata(&path).unwrap().modified().unwrap() + std::time::Duration::from_secs(2);
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert!(matches!(verify(&path, &entry(3, ABC), |_| true), Err(VerifyError::Hash { .. })));
    }

    #[test]
    fn wrong_hashes_sizes_and_names_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.gguf");
        assert!(matches!(verify(&path, &entry(3, ABC), |_| true), Err(VerifyError::Io { .. })));
        fs::write(&path, b"abc").unwrap();
        assert!(matches!(verify(&path, &entry(4, ABC), |_| true), Err(VerifyError::Size { found: 3, .. })));
        let wrong = ABC.replace("ba", "bb");
        let refused = verify(&path, &entry(3, &wrong), |_| true).unwrap_err().to_string();
        assert!(refused.contains(ABC) && refused.contains(&wrong), "{refused}");
        assert!(matches!(verify(&path, &entry(3, ABC), |_| false), Err(VerifyError::Stopped)));
        assert!(!sidecar_path(&path).exists());
    }
}
