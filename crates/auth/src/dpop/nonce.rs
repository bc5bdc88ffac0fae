//! Nonces that need no memory: a keyed digest of the time.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::b64;
use crate::error::{RandomError, random};

/// How long one nonce is given out, seconds; it is accepted for as long again.
const SLOT: u64 = 300;

/// Makes and knows the nonces of one server, until it is started again.
pub struct Nonces {
    key: [u8; 32],
}

impl std::fmt::Debug for Nonces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nonces(…)")
    }
}

impl Nonces {
    pub fn new() -> Result<Self, RandomError> {
        Ok(Self { key: random()? })
    }

    /// The nonce to send in `DPoP-Nonce` at `now` (seconds).
    pub fn current(&self, now: u64) -> String {
        self.of(now / SLOT)
    }

    /// Whether the nonce is the current one or the one before.
    pub fn accepts(&self, nonce: &str, now: u64) -> bool {
        let slot = now / SLOT;
        let is = |slot| bool::from(nonce.as_bytes().ct_eq(self.of(slot).as_bytes()));
        is(slot) | slot.checked_sub(1).is_some_and(is)
    }

    /// The key comes first and last and all lengths are fixed: nothing can be appended.
    fn of(&self, slot: u64) -> String {
        let digest = Sha256::new().chain_update(self.key).chain_update(slot.to_be_bytes()).chain_update(self.key);
        b64::encode(digest.finalize().as_slice().get(..16).unwrap_or_default())
    }
}
