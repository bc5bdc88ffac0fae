//! Passphrases, and the keys derived from them.

use argon2::{Algorithm, Argon2, Params, Version};
use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};

use crate::SealError;

/// Length of an accepted passphrase, in bytes.
pub(crate) const SHORTEST: usize = 12;
pub(crate) const LONGEST: usize = 4096;
const KEY: usize = 32;
/// Bytes of the header by which a wrong passphrase is recognized.
pub(crate) const CHECK: usize = 16;
/// Largest costs that a header may ask for: 1 GiB, 16 passes, 16 lanes.
const MOST: Costs = Costs { m_kib: 1 << 20, t: 16, p: 16 };

/// A passphrase, or the content of a key file. `Debug` does not show it.
#[derive(Clone)]
pub struct Passphrase(String);

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

impl Passphrase {
    /// Takes a passphrase of 12 to 4,096 bytes. White space around it does not count.
    ///
    /// # Errors
    /// [`SealError::PassphraseLength`].
    pub fn new(text: &str) -> Result<Self, SealError> {
        let text = text.trim();
        if !(SHORTEST..=LONGEST).contains(&text.len()) {
            return Err(SealError::PassphraseLength);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the text, to be sent to a server.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Costs of the key derivation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Costs {
    pub(crate) m_kib: u32,
    pub(crate) t: u32,
    pub(crate) p: u32,
}

impl Costs {
    /// The second recommended option of RFC 9106, section 4.
    pub(crate) const RECOMMENDED: Self = Self { m_kib: 64 << 10, t: 3, p: 4 };
}

/// A key of one file.
pub(crate) struct DerivedKey {
    pub(crate) key: LessSafeKey,
    pub(crate) check: [u8; CHECK],
}

/// Derives the key of a file. Takes `costs.m_kib` of memory and a good fraction of a second.
pub(crate) fn derive(passphrase: &Passphrase, salt: &[u8], costs: Costs) -> Result<DerivedKey, SealError> {
    let derived: [u8; KEY + CHECK] = derive_key(passphrase, salt, costs)?;
    let (key, rest) = derived.split_at(KEY);
    let key = UnboundKey::new(&CHACHA20_POLY1305, key).map_err(|_| SealError::Damaged)?;
    let mut check = [0; CHECK];
    check.copy_from_slice(rest);
    Ok(DerivedKey { key: LessSafeKey::new(key), check })
}

/// Derives bytes from a passphrase by argon2id.
pub(crate) fn derive_key<const N: usize>(
    passphrase: &Passphrase,
    salt: &[u8],
    costs: Costs,
) -> Result<[u8; N], SealError> {
    if costs.m_kib > MOST.m_kib || costs.t > MOST.t || costs.p > MOST.p {
        return Err(SealError::TooCostly);
    }
    let params = Params::new(costs.m_kib, costs.t, costs.p, Some(N)).map_err(|_| SealError::TooCostly)?;
    let mut derived = [0; N];
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into(passphrase.0.as_bytes(), salt, &mut derived).map_err(|_| SealError::TooCostly)?;
    Ok(derived)
}
