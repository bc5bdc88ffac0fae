//! Passwords as argon2id hashes (RFC 9106) in PHC form.

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use unicode_normalization::UnicodeNormalization;

use crate::error::random;

/// Longest password, bytes, as it is typed and as it is hashed.
pub const MAX_PASSWORD: usize = 1024;

/// Why a password cannot be hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    #[error("the password is longer than 1,024 bytes: choose a shorter one")]
    TooLong,
    #[error("the password has a NUL in it: choose one without")]
    Nul,
    #[error("the parameters of argon2 do not fit: m_kib must be at least 8 for each of p, t and p at least 1")]
    Parameters,
    #[error(transparent)]
    Random(#[from] crate::RandomError),
}

/// What a comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Match,
    /// The password is right, and its hash was made with other parameters: hash it again.
    MatchRehash,
    Mismatch,
}

/// The cost of a hash. OWASP's first choice: 19 MiB, two passes, one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hasher {
    /// Memory, KiB.
    pub m_kib: u32,
    /// Passes over it.
    pub t: u32,
    /// Lanes.
    pub p: u32,
}

impl Default for Hasher {
    fn default() -> Self {
        Self { m_kib: 19_456, t: 2, p: 1 }
    }
}

impl Hasher {
    /// The PHC text of a password. Slow on purpose, and takes `m_kib` of memory: never on a thread that serves.
    pub fn hash(&self, password: &str) -> Result<String, PasswordError> {
        let password = prepare(password)?;
        let salt = SaltString::encode_b64(&random::<16>()?).map_err(|_| PasswordError::Parameters)?;
        let hash = self.argon2()?.hash_password(password.as_bytes(), &salt).map_err(|_| PasswordError::Parameters)?;
        Ok(hash.to_string())
    }

    /// Compares in constant time. A text that is no hash of ours, one that costs far more than ours (16 times, or
    /// 256 MiB once), or a password that could never have been hashed, is a mismatch.
    pub fn verify(&self, password: &str, phc: &str) -> Verdict {
        let (Ok(password), Ok(hash)) = (prepare(password), PasswordHash::new(phc)) else { return Verdict::Mismatch };
        let Ok(params) = Params::try_from(&hash) else { return Verdict::Mismatch };
        // A hash from a foreign place must not take all memory of the machine.
        let cost = |m: u32, t: u32| u64::from(m) * u64::from(t);
        if cost(params.m_cost(), params.t_cost()) > cost(self.m_kib, self.t).saturating_mul(16).max(1 << 18) {
            return Verdict::Mismatch;
        }
        match Argon2::default().verify_password(password.as_bytes(), &hash) {
            Ok(()) if self.made(&hash, &params) => Verdict::Match,
            Ok(()) => Verdict::MatchRehash,
            Err(_) => Verdict::Mismatch,
        }
    }

    /// A hash that no password matches, at this cost: an unknown name is verified against it, so that it takes as long
    /// as a known one. Make it once, at start.
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

/// The password as it is hashed: NFC, so that it does not depend on the keyboard how an accent is written. The bound is
/// checked before the work and after it, for some texts grow.
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

/// Whether a password can be hashed, without hashing it.
pub fn check(password: &str) -> Result<(), PasswordError> {
    prepare(password).map(drop)
}
