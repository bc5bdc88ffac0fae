//! Stateless nonces: a keyed digest of the time.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::b64;
use crate::error::{RandomError, random};

/// Time for which a nonce is issued, in seconds; it is accepted for the same time again.
const SLOT: u64 = 300;

/// Issues and validates nonces. They become invalid when the server restarts.
pub struct Nonces {
    key: [u8; 32],
}

impl std::fmt::Debug for Nonces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nonces(…)")
    }
}

impl Nonces {
    /// Creates nonces under a new random key.
    ///
    /// # Errors
    ///
    /// Fails if the operating system provides no randomness.
    pub fn new() -> Result<Self, RandomError> {
        Ok(Self { key: random()? })
    }

    /// Returns the nonce to send in `DPoP-Nonce` at `now` (seconds).
    pub fn current(&self, now: u64) -> String {
        self.of(now / SLOT)
    }

    /// Returns whether the nonce is the current or the previous one.
    pub fn accepts(&self, nonce: &str, now: u64) -> bool {
        let slot = now / SLOT;
        let is = |slot| bool::from(nonce.as_bytes().ct_eq(self.of(slot).as_bytes()));
        is(slot) | slot.checked_sub(1).is_some_and(is)
    }

    /// The key is hashed first and last, and all lengths are fixed, which rules out length extension.
    fn of(&self, slot: u64) -> String {
        let digest = Sha256::new().chain_update(self.key).chain_update(slot.to_be_bytes()).chain_update(self.key);
        b64::encode(digest.finalize().as_slice().get(..16).unwrap_or_default())
    }
}
