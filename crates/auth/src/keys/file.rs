//! Storage of the signing keys: one file that only its owner can read, replaced atomically.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::set::{KeySet, Retired, SigningKey};
use crate::b64;
use crate::error::RandomError;
use crate::jwk::PrivateKey;

const FILE: &str = "signing-keys.json";
const TEMPORARY: &str = "signing-keys.json.new";
const VERSION: u32 = 1;

/// Reason for which the keys cannot be read, written or changed.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file operation failed.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What could not be done.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file or folder is accessible to other users.
    #[error("{} is accessible to other users: run `chmod go=` on it, and rotate the keys if others had access", .0.display())]
    Accessible(PathBuf),
    /// The file of keys is damaged.
    #[error("{} is not a file of signing keys ({why}): restore it from a backup, or move it away to generate new keys (all users must then log in again)", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no key with this identifier.
    #[error("there is no signing key {0}")]
    Unknown(String),
    /// The operating system provided no randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    keys: Vec<StoredKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredKey {
    kid: String,
    d: String,
    use_from: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retired_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verifies_until: Option<u64>,
}

/// Reads the keys in `folder`; `None` if there are none yet. Creates the folder.
pub(super) fn read(folder: &Path) -> Result<Option<KeySet>, KeyError> {
    create_folder(folder)?;
    let path = folder.join(FILE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(KeyError::Io { what: "read", path, source }),
    };
    check_private_mode(&path)?;
    set_of(&text).map(Some).map_err(|why| KeyError::Corrupt { path, why })
}

/// Replaces the file atomically: after a crash it is either the old or the new one.
pub(super) fn write(folder: &Path, keys: &KeySet) -> Result<(), KeyError> {
    let stored = Stored { version: VERSION, keys: keys.all().map(|key| stored(key)).collect() };
    let temporary = folder.join(TEMPORARY);
    let fail = |what| move |source| KeyError::Io { what, path: folder.to_owned(), source };
    let text = serde_json::to_vec_pretty(&stored).map_err(|e| fail("encode the keys of")(e.into()))?;
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .map_err(fail("write the keys in"))?;
    // `mode` does not apply to a file that exists already.
    file.set_permissions(Permissions::from_mode(0o600)).map_err(fail("restrict access to the keys in"))?;
    file.write_all(&text).and_then(|()| file.sync_all()).map_err(fail("write the keys in"))?;
    fs::rename(&temporary, folder.join(FILE)).map_err(fail("replace the keys in"))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail("sync"))
}

fn create_folder(folder: &Path) -> Result<(), KeyError> {
    if !folder.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|source| KeyError::Io {
            what: "create",
            path: folder.to_owned(),
            source,
        })?;
    }
    check_private_mode(folder)
}

fn check_private_mode(path: &Path) -> Result<(), KeyError> {
    let meta = fs::metadata(path).map_err(|source| KeyError::Io { what: "inspect", path: path.to_owned(), source })?;
    if meta.permissions().mode() & 0o077 == 0 { Ok(()) } else { Err(KeyError::Accessible(path.to_owned())) }
}

fn stored(key: &SigningKey) -> StoredKey {
    StoredKey {
        kid: key.kid().to_owned(),
        d: key.private.seed().expose().clone(),
        use_from: key.use_from,
        retired_at: key.retired.map(|retired| retired.at),
        verifies_until: key.retired.map(|retired| retired.until),
    }
}

fn set_of(text: &[u8]) -> Result<KeySet, &'static str> {
    let stored: Stored = serde_json::from_slice(text).map_err(|_| "it is not JSON of the expected structure")?;
    if stored.version != VERSION {
        return Err("unknown version");
    }
    let mut active = Vec::new();
    let mut retired = Vec::new();
    for key in stored.keys {
        let key = Arc::new(key_of(key)?);
        if key.retired.is_some() { retired.push(key) } else { active.push(key) }
    }
    active.sort_by_key(|key| key.use_from);
    let mut active = active.into_iter();
    let (current, next) = (active.next().ok_or("it has no current key")?, active.next());
    if active.next().is_some() {
        return Err("it has more than two active keys");
    }
    Ok(KeySet { current, next, retired })
}

fn key_of(stored: StoredKey) -> Result<SigningKey, &'static str> {
    let seed = b64::decode_exact(&stored.d).ok_or("a key is not 32 bytes long")?;
    let retired = match (stored.retired_at, stored.verifies_until) {
        (Some(at), Some(until)) => Some(Retired { at, until }),
        (None, None) => None,
        _ => return Err("a retired key has only one of its two times"),
    };
    let key = SigningKey::new(PrivateKey::from_seed(&seed), stored.use_from, retired).ok_or("a key cannot be used")?;
    if key.kid() == stored.kid { Ok(key) } else { Err("the kid of a key is not its thumbprint") }
}
