//! Signed links: whoever has one may read the picture until it expires.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_core::Millis;
use ring::hmac;

/// Name of the file with the key.
const FILE: &str = "link.key";
const KEY_BYTES: usize = 32;

/// Signs identifiers: HMAC-SHA-256 over identifier and expiry, in base64url.
#[derive(Clone)]
pub struct Signature(Arc<hmac::Key>);

impl std::fmt::Debug for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signature")
    }
}

impl Signature {
    /// Reads the key in a folder, or creates it. Blocking.
    ///
    /// # Errors
    /// The file cannot be read or created, or has another length.
    pub(super) fn open(folder: &Path) -> std::io::Result<Self> {
        let path = folder.join(FILE);
        let mut key = Vec::new();
        match std::fs::File::open(&path) {
            Ok(file) => {
                file.take(KEY_BYTES as u64 + 1).read_to_end(&mut key)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                key.resize(KEY_BYTES, 0);
                getrandom::fill(&mut key).map_err(|error| std::io::Error::other(error.to_string()))?;
                let temporary = folder.join("link.key.part");
                let mut file =
                    OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
                file.write_all(&key)?;
                file.sync_all()?;
                std::fs::rename(&temporary, &path)?;
                std::fs::File::open(folder)?.sync_all()?;
            }
            Err(error) => return Err(error),
        }
        if key.len() != KEY_BYTES {
            let why = format!(
                "{} does not have {KEY_BYTES} bytes: delete it, and links made before are void",
                path.display()
            );
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why));
        }
        Ok(Self::of(&key))
    }

    pub(super) fn of(key: &[u8]) -> Self {
        Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key)))
    }

    /// Returns the signature of a picture's link.
    pub fn sign(&self, id: &str, expires: Millis) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, &signed(id, expires)))
    }

    /// Returns whether a link has this signature; compared in constant time.
    pub fn matches(&self, id: &str, expires: Millis, signature: &str) -> bool {
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        hmac::verify(&self.0, &signed(id, expires), &signature).is_ok()
    }
}

fn signed(id: &str, expires: Millis) -> Vec<u8> {
    format!("{id}\n{}", expires.0).into_bytes()
}
