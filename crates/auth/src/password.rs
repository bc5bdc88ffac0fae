//! Passwords as argon2id hashes (RFC 9106) in PHC format.

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use unicode_normalization::UnicodeNormalization;

use crate::error::random;

/// Maximum length of a password, in bytes, before and after normalization.
pub const MAX_PASSWORD: usize = 1024;

/// Reason for which a password cannot be hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// The password exceeds [`MAX_PASSWORD`].
    #[error("the password is longer than 1,024 bytes: choose a shorter one")]
    TooLong,
    /// The password contains a NUL character.
    #[error("the password contains a NUL character: choose one without")]
    Nul,
    /// The argon2 parameters are invalid.
    #[error("invalid argon2 parameters: m_kib must be at least 8 for each of p, t and p at least 1")]
    Parameters,
    /// The operating system provided no randomness.
    #[error(transparent)]
    Random(#[from] crate::RandomError),
}

/// Result of comparing a password with a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordMatch {
    /// The password matches.
    Match,
    /// The password matches, but the hash was created with other parameters: hash it again.
    MatchRehash,
    /// The password does not match.
    Mismatch,
}

/// Cost parameters of the hash. The default is OWASP's first choice: 19 MiB, two passes, one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hasher {
    /// Memory, in KiB.
    pub m_kib: u32,
    /// Number of passes.
    pub t: u32,
    /// Number of lanes.
    pub p: u32,
}

impl Default for Hasher {
    fn default() -> Self {
        Self { m_kib: 19_456, t: 2, p: 1 }
    }
}

impl Hasher {
    /// Hashes a password; returns the PHC string. Slow by design, and uses `m_kib` of memory: never call it on a thread
    /// that serves requests.
    ///
    /// # Errors
    ///
    /// Fails if the password is invalid, the parameters are invalid, or there is no randomness.
    pub fn hash(&self, password: &str) -> Result<String, PasswordError> {
        let password = prepare(password)?;
        let salt = SaltString::encode_b64(&random::<16>()?).map_err(|_| PasswordError::Parameters)?;
        let hash = self.argon2()?.hash_password(password.as_bytes(), &salt).map_err(|_| PasswordError::Parameters)?;
        Ok(hash.to_string())
    }

    /// Compares a password with a hash in constant time. A malformed hash, a hash that costs far more than this
    /// hasher's (16 times, and at least 256 MiB in one pass), and a password that cannot be hashed are mismatches.
    pub fn verify(&self, password: &str, phc: &str) -> PasswordMatch {
        let (Ok(password), Ok(hash)) = (prepare(password), PasswordHash::new(phc)) else {
            return PasswordMatch::Mismatch;
        };
        let Ok(params) = Params::try_from(&hash) else { return PasswordMatch::Mismatch };
        // A hash of foreign origin must not exhaust the machine's memory.
        let cost = |m: u32, t: u32| u64::from(m) * u64::from(t);
        if cost(params.m_cost(), params.t_cost()) > cost(self.m_kib, self.t).saturating_mul(16).max(1 << 18) {
            return PasswordMatch::Mismatch;
        }
        match Argon2::default().verify_password(password.as_bytes(), &hash) {
            Ok(()) if self.made(&hash, &params) => PasswordMatch::Match,
            Ok(()) => PasswordMatch::MatchRehash,
            Err(_) => PasswordMatch::Mismatch,
        }
    }

    /// Creates a hash of this cost that no password matches. Verifying unknown user names against it makes them take as
    /// long as known ones. Create it once, at start.
    ///
    /// # Errors
    ///
    /// As for [`Hasher::hash`].
    pub fn dummy(&self) -> Result<String, PasswordError> {
        let unknown: String = random::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect();
        self.hash(&unknown)
    }

    fn made(&self, hash: &PasswordHash<'_>, params: &Params) -> bool {
        hash.algorithm == Algorithm::Argon2id.ident()
            && hash.version == Some(Version::V0x13.into())
            && (params.m_cost(), params.t_cost(), params.p_cost()) == (self.m_kib, self.t, self.p)
    }

    fn argon2(&self) -> Result<Argon2<'static>, PasswordError> {
        let params = Params::new(self.m_kib, self.t, self.p, None).map_err(|_| PasswordError::Parameters)?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }
}

/// Normalizes a password to NFC, so that the result does not depend on how a keyboard composes accents. The length is
/// checked before and after, because some text grows.
fn prepare(password: &str) -> Result<String, PasswordError> {
    if password.len() > MAX_PASSWORD {
        return Err(PasswordError::TooLong);
    }
    if password.contains('\0') {
        return Err(PasswordError::Nul);
    }
    let composed: String = password.nfc().collect();
    if composed.len() > MAX_PASSWORD { Err(PasswordError::TooLong) } else { Ok(composed) }
}

/// Checks whether a password can be hashed, without hashing it.
///
/// # Errors
///
/// Returns the reason for which it cannot.
pub fn check(password: &str) -> Result<(), PasswordError> {
    prepare(password).map(drop)
}
