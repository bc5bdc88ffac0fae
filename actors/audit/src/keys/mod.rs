//! The keys of the log: Ed25519 keys that sign notes and other bytes, and the secret of message authentication codes.
//!
//! They are in one file, `log-keys.json` in the folder of signing keys, which is in no backup: a copy of the store cannot
//! sign for this server. A key that is rotated goes on signing beside its successor for [`OVERLAP`], so that whoever knows
//! only the older one learns the newer one from notes that both signed.

mod file;
mod set;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use hmac::{Hmac, Mac};
use muster_core::Millis;
use muster_core::ids::{IdKind, new_id};
use muster_tlog::{KeyError, NoteSigner, SignatureType, VerifierKey};
use sha2::Sha256;

pub use file::LogKeyError;
use set::{BOUNDS, KeySet, KeyState, LogKey};

/// Time for which a rotated key signs beside its successor, in milliseconds: 30 days.
pub const OVERLAP: u64 = 30 * 24 * 60 * 60 * 1000;
/// Name under which bytes are signed that are no note: it takes part in the identifier of a note's key only.
const BYTES: &str = "bytes";

/// A signature of bytes and the key that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BytesSignature {
    /// The public key: one of [`LogKeys::vkeys`], without a name.
    pub public: [u8; 32],
    /// The signature, as [`VerifierKey::verify_bytes`] checks it.
    pub signature: [u8; 64],
}

/// The keys that were read or made.
#[derive(Debug)]
pub struct OpenedKeys {
    /// The keys.
    pub keys: LogKeys,
    /// Whether they were made now, because there were none.
    pub created: bool,
}

/// The keys of the log. Clones share them, and see a rotation at once.
#[derive(Clone)]
pub struct LogKeys {
    folder: Arc<PathBuf>,
    set: Arc<ArcSwap<KeySet>>,
}

impl std::fmt::Debug for LogKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogKeys").field("instance", &self.set.load().instance).finish_non_exhaustive()
    }
}

impl LogKeys {
    /// Reads the keys in the folder of signing keys, or makes the first ones.
    ///
    /// # Errors
    /// [`LogKeyError`]: the file cannot be read or written, is accessible to other users, or is damaged.
    pub fn open(folder: &Path, now: Millis) -> Result<OpenedKeys, LogKeyError> {
        if let Some(keys) = Self::read(folder)? {
            return Ok(OpenedKeys { keys, created: false });
        }
        let first = LogKey { seed: Some(random()?), state: KeyState::Signs { since: now }, ..LogKey::default() };
        let first = first.with_public().ok_or(LogKeyError::Random)?;
        let set = KeySet { instance: new_id(IdKind::Instance), secret: random()?, keys: vec![first] };
        file::write(folder, &set)?;
        Ok(OpenedKeys { keys: Self::of(folder, set), created: true })
    }

    /// Reads the keys in the folder of signing keys. Returns `None` if there are none.
    ///
    /// # Errors
    /// As [`LogKeys::open`].
    pub fn read(folder: &Path) -> Result<Option<Self>, LogKeyError> {
        Ok(file::read(folder)?.map(|set| Self::of(folder, set)))
    }

    fn of(folder: &Path, set: KeySet) -> Self {
        Self { folder: Arc::new(folder.to_owned()), set: Arc::new(ArcSwap::from_pointee(set)) }
    }

    /// Returns the identifier of this server, `ins_…`. It was made with the first keys, so that a copy of the store on
    /// another machine has another one.
    #[must_use]
    pub fn instance(&self) -> String {
        self.set.load().instance.clone()
    }

    /// Returns the signers of notes under a name, such as the origin of the log: the newest key first.
    ///
    /// # Errors
    /// [`KeyError::Name`]: no key can have this name.
    pub fn signers(&self, name: &str, now: Millis) -> Result<Vec<NoteSigner>, KeyError> {
        let set = self.set.load();
        let signing = set.signing(now).filter_map(|key| key.seed.as_ref());
        signing.map(|seed| NoteSigner::new(name, SignatureType::Ed25519, seed)).collect()
    }

    /// Returns the keys that verify notes under a name: the newest first, and those that sign no longer. A key that is
    /// announced and does not sign yet is none of them.
    ///
    /// # Errors
    /// [`KeyError::Name`]: no key can have this name.
    pub fn vkeys(&self, name: &str) -> Result<Vec<VerifierKey>, KeyError> {
        let set = self.set.load();
        let known = set.keys.iter().rev().filter(|key| !key.is_pending());
        known.map(|key| VerifierKey::new(name, SignatureType::Ed25519, &key.public)).collect()
    }

    /// Signs bytes with the newest key. `domain` says what they are, such as `muster.backup.v1`: a signature of one
    /// domain is none of another one, and none of a note.
    ///
    /// # Errors
    /// [`LogKeyError::Damaged`]: no key signs.
    pub fn sign(&self, domain: &str, bytes: &[u8], now: Millis) -> Result<BytesSignature, LogKeyError> {
        let set = self.set.load();
        let key = set.signing(now).find_map(|key| key.seed.as_ref().map(|seed| (key.public, seed)));
        let (public, seed) = key.ok_or_else(|| self.damaged("none of its keys signs"))?;
        let signer = NoteSigner::new(BYTES, SignatureType::Ed25519, seed);
        let signer = signer.map_err(|_| self.damaged("a key cannot be used"))?;
        Ok(BytesSignature { public, signature: signer.sign_bytes(domain, bytes) })
    }

    /// Computes the authentication code (HMAC-SHA256) of a message of a domain.
    #[must_use]
    pub fn mac(&self, domain: &str, message: &[u8]) -> [u8; 32] {
        self.authenticated(domain, message).finalize().into_bytes().into()
    }

    /// Compares the beginning of the code of a message, at least 16 bytes of it, in constant time.
    #[must_use]
    pub fn verify_mac(&self, domain: &str, message: &[u8], code: &[u8]) -> bool {
        code.len() >= 16 && self.authenticated(domain, message).verify_truncated_left(code).is_ok()
    }

    fn authenticated(&self, domain: &str, message: &[u8]) -> Hmac<Sha256> {
        let mut mac = hmac_of(&self.set.load().secret);
        mac.update(domain.as_bytes());
        mac.update(&[0]);
        mac.update(message);
        mac
    }

    /// Writes a further key into the file. It signs from [`LogKeys::activate`] on, which the server calls once the log
    /// has an entry that names it. Returns the new public key.
    ///
    /// # Errors
    /// [`LogKeyError::Pending`] if the last rotation is not complete, [`LogKeyError::TooMany`] if too many keys sign.
    pub fn rotate(&self, now: Millis) -> Result<[u8; 32], LogKeyError> {
        let mut set = KeySet::clone(&self.set.load());
        if set.keys.iter().any(LogKey::is_pending) {
            return Err(LogKeyError::Pending);
        }
        if set.signing(now).count() >= BOUNDS.most_signing {
            return Err(LogKeyError::TooMany(BOUNDS.most_signing));
        }
        let key = LogKey { seed: Some(random()?), ..LogKey::default() }.with_public().ok_or(LogKeyError::Random)?;
        let public = key.public;
        set.keys.push(key);
        self.replace(set, now)?;
        Ok(public)
    }

    /// Returns the public key that was announced by [`LogKeys::rotate`] and does not sign yet.
    #[must_use]
    pub fn pending(&self) -> Option<[u8; 32]> {
        self.set.load().keys.iter().find(|key| key.is_pending()).map(|key| key.public)
    }

    /// Lets the announced key sign; those before it end after [`OVERLAP`].
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn activate(&self, now: Millis) -> Result<(), LogKeyError> {
        let mut set = KeySet::clone(&self.set.load());
        if set.activate(now, Millis(now.0.saturating_add(OVERLAP))) { self.replace(set, now) } else { Ok(()) }
    }

    /// Reads the file again, for a key that another process announced.
    ///
    /// # Errors
    /// As [`LogKeys::open`], and [`LogKeyError::Damaged`] if the file is gone.
    pub fn reload(&self) -> Result<(), LogKeyError> {
        let set = file::read(&self.folder)?.ok_or_else(|| self.damaged("it is gone"))?;
        self.set.store(Arc::new(set));
        Ok(())
    }

    fn replace(&self, mut set: KeySet, now: Millis) -> Result<(), LogKeyError> {
        set.forget_expired_seeds(now);
        file::write(&self.folder, &set)?;
        self.set.store(Arc::new(set));
        Ok(())
    }

    fn damaged(&self, why: &'static str) -> LogKeyError {
        LogKeyError::Damaged { path: self.folder.join(file::FILE), why }
    }
}

fn hmac_of(secret: &[u8; 32]) -> Hmac<Sha256> {
    // HMAC takes keys of every length.
    Hmac::new_from_slice(secret).unwrap_or_else(|_| Hmac::new(&Default::default()))
}

fn random() -> Result<[u8; 32], LogKeyError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| LogKeyError::Random)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
