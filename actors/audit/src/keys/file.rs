//! Storage of the keys: one file that only its owner can read, replaced atomically.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_core::Millis;
use serde::{Deserialize, Serialize};

use super::set::{KeySet, KeyState, LogKey};

/// Name of the file.
pub(super) const FILE: &str = "log-keys.json";
const TEMPORARY: &str = "log-keys.json.new";
const VERSION: u32 = 1;
/// Maximum length of the file that is read, in bytes.
const MAX: u64 = 1 << 20;

/// Why the keys of the log cannot be read, written or changed.
#[derive(Debug, thiserror::Error)]
pub enum LogKeyError {
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
    #[error("{} is accessible to other users: run `chmod go=` on it, and rotate the key if others had access (`muster audit rotate-key`)", .0.display())]
    Accessible(PathBuf),
    /// The file is damaged.
    #[error("{} is not a file of the keys of the audit log ({why}): restore it from a copy of your own, or move it away: the next start makes new keys and begins the next generation of the log", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The operating system provided no randomness.
    #[error("the operating system provided no random bytes")]
    Random,
    /// An announced key does not sign yet.
    #[error("the last rotation is not complete: start or reload the server first, which adds the key to the log")]
    Pending,
    /// Too many keys sign.
    #[error("{0} keys sign already: the oldest ends 30 days after it was rotated")]
    TooMany(usize),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    instance: String,
    nonce_secret: String,
    keys: Vec<StoredKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredKey {
    public: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signs_since: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signs_until: Option<Millis>,
}

/// Reads the keys in `folder`; `None` if there are none yet.
pub(super) fn read(folder: &Path) -> Result<Option<KeySet>, LogKeyError> {
    let path = folder.join(FILE);
    let length = match fs::metadata(&path) {
        Ok(meta) => meta.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(LogKeyError::Io { what: "inspect", path, source }),
    };
    check_private_mode(folder)?;
    check_private_mode(&path)?;
    if length > MAX {
        return Err(LogKeyError::Damaged { path, why: "it is too long" });
    }
    let text = fs::read(&path).map_err(|source| LogKeyError::Io { what: "read", path: path.clone(), source })?;
    parse(&text).map(Some).map_err(|why| LogKeyError::Damaged { path, why })
}

/// Replaces the file atomically: after a crash it is either the old or the new one.
pub(super) fn write(folder: &Path, set: &KeySet) -> Result<(), LogKeyError> {
    let fail = |what| move |source| LogKeyError::Io { what, path: folder.to_owned(), source };
    if !folder.exists() {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder).map_err(fail("create"))?;
    }
    check_private_mode(folder)?;
    let text = serde_json::to_vec_pretty(&stored(set)).map_err(|error| fail("encode the keys of")(error.into()))?;
    let temporary = folder.join(TEMPORARY);
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary);
    let mut file = file.map_err(fail("write the keys in"))?;
    // `mode` does not apply to a file that exists already.
    file.set_permissions(Permissions::from_mode(0o600)).map_err(fail("restrict access to the keys in"))?;
    file.write_all(&text).and_then(|()| file.sync_all()).map_err(fail("write the keys in"))?;
    fs::rename(&temporary, folder.join(FILE)).map_err(fail("replace the keys in"))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail("sync"))
}

fn check_private_mode(path: &Path) -> Result<(), LogKeyError> {
    let meta =
        fs::metadata(path).map_err(|source| LogKeyError::Io { what: "inspect", path: path.to_owned(), source })?;
    if meta.permissions().mode() & 0o077 == 0 { Ok(()) } else { Err(LogKeyError::Accessible(path.to_owned())) }
}

fn stored(set: &KeySet) -> Stored {
    let key = |key: &LogKey| {
        let (signs_since, signs_until) = match key.state {
            KeyState::Pending => (None, None),
            KeyState::Signs { since } => (Some(since), None),
            KeyState::Ends { since, until } => (Some(since), Some(until)),
        };
        let seed = key.seed.map(|seed| URL_SAFE_NO_PAD.encode(seed));
        StoredKey { public: URL_SAFE_NO_PAD.encode(key.public), seed, signs_since, signs_until }
    };
    Stored {
        version: VERSION,
        instance: set.instance.clone(),
        nonce_secret: URL_SAFE_NO_PAD.encode(set.secret),
        keys: set.keys.iter().map(key).collect(),
    }
}

fn parse(text: &[u8]) -> Result<KeySet, &'static str> {
    let stored: Stored = serde_json::from_slice(text).map_err(|_| "it is not JSON of the expected structure")?;
    if stored.version != VERSION {
        return Err("unknown version");
    }
    if stored.instance.is_empty() || stored.instance.len() > 64 {
        return Err("the identifier of the server is empty or too long");
    }
    let keys = stored.keys.into_iter().map(key_of).collect::<Result<Vec<_>, _>>()?;
    if !keys.iter().any(|key| matches!(key.state, KeyState::Signs { .. })) {
        return Err("none of its keys signs");
    }
    Ok(KeySet { instance: stored.instance, secret: bytes_of(&stored.nonce_secret)?, keys })
}

fn key_of(stored: StoredKey) -> Result<LogKey, &'static str> {
    let state = match (stored.signs_since, stored.signs_until) {
        (None, None) => KeyState::Pending,
        (Some(since), None) => KeyState::Signs { since },
        (Some(since), Some(until)) => KeyState::Ends { since, until },
        (None, Some(_)) => return Err("a key has an end and no beginning"),
    };
    let public = bytes_of(&stored.public)?;
    let seed = stored.seed.as_deref().map(bytes_of).transpose()?;
    let key = LogKey { public, seed, state };
    if seed.is_none() {
        return if matches!(state, KeyState::Ends { .. }) { Ok(key) } else { Err("a key that signs has no seed") };
    }
    let complete = key.with_public().ok_or("a key cannot be used")?;
    if complete.public == public { Ok(complete) } else { Err("a public key is not that of its seed") }
}

fn bytes_of(text: &str) -> Result<[u8; 32], &'static str> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| "a key is not base64url")?;
    bytes.try_into().map_err(|_| "a key is not 32 bytes long")
}
