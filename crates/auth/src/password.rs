//! Passwords as argon2id hashes (RFC 9106) in PHC format.

use argon2::password_hash::{Output, PasswordHash, SaltString};
use argon2::{Algorithm, Argon2, Block, Params, Version};
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

/// Memory in which hashes are computed. Using it again for the next hash saves the allocation of many MiB.
#[derive(Default)]
pub struct PasswordMemory(Vec<Block>);

// Its content is derived from passwords.
impl std::fmt::Debug for PasswordMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordMemory").field("kib", &self.0.len()).finish()
    }
}

impl PasswordMemory {
    /// Returns the size, in KiB.
    #[must_use]
    pub fn kib(&self) -> usize {
        self.0.capacity()
    }

    /// Frees what hashes of these parameters do not need.
    pub fn shrink_to(&mut self, hasher: Hasher) {
        let needed = hasher.params().map_or(0, |params| params.block_count());
        if self.0.len() > needed {
            self.0.truncate(needed);
            self.0.shrink_to_fit();
        }
    }

    fn of(&mut self, params: &Params) -> &mut [Block] {
        let needed = params.block_count();
        if self.0.len() < needed {
            self.0.resize(needed, Block::default());
        }
        self.0.get_mut(..needed).unwrap_or_default()
    }
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
        self.hash_in(password, &mut PasswordMemory::default())
    }

    /// Hashes a password like [`Hasher::hash`], in memory that is used again.
    ///
    /// # Errors
    ///
    /// As for [`Hasher::hash`].
    pub fn hash_in(&self, password: &str, memory: &mut PasswordMemory) -> Result<String, PasswordError> {
        let password = prepare(password)?;
        let (salt, params) = (random::<16>()?, self.params()?);
        let salted = SaltString::encode_b64(&salt).map_err(|_| PasswordError::Parameters)?;
        let output = compute(Algorithm::Argon2id, Version::V0x13, &params, password.as_bytes(), &salt, memory)?;
        let hash = PasswordHash {
            algorithm: Algorithm::Argon2id.ident(),
            version: Some(Version::V0x13.into()),
            params: (&params).try_into().map_err(|_| PasswordError::Parameters)?,
            salt: Some(salted.as_salt()),
            hash: Some(output),
        };
        Ok(hash.to_string())
    }

    /// Compares a password with a hash in constant time. A malformed hash, a hash that costs far more than this
    /// hasher's (16 times, and at least 256 MiB in one pass), and a password that cannot be hashed are mismatches.
    pub fn verify(&self, password: &str, phc: &str) -> PasswordMatch {
        self.verify_in(password, phc, &mut PasswordMemory::default())
    }

    /// Compares a password with a hash like [`Hasher::verify`], in memory that is used again.
    pub fn verify_in(&self, password: &str, phc: &str, memory: &mut PasswordMemory) -> PasswordMatch {
        let (Ok(password), Ok(hash)) = (prepare(password), PasswordHash::new(phc)) else {
            return PasswordMatch::Mismatch;
        };
        let Ok(params) = Params::try_from(&hash) else { return PasswordMatch::Mismatch };
        // A hash of foreign origin must not exhaust the machine's memory.
        let cost = |m: u32, t: u32| u64::from(m) * u64::from(t);
        if cost(params.m_cost(), params.t_cost()) > cost(self.m_kib, self.t).saturating_mul(16).max(1 << 18) {
            return PasswordMatch::Mismatch;
        }
        match computed(&hash, &params, password.as_bytes(), memory) {
            // Outputs are compared in constant time.
            Some(output) if hash.hash == Some(output) && self.made(&hash, &params) => PasswordMatch::Match,
            Some(output) if hash.hash == Some(output) => PasswordMatch::MatchRehash,
            _ => PasswordMatch::Mismatch,
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

    fn params(&self) -> Result<Params, PasswordError> {
        Params::new(self.m_kib, self.t, self.p, None).map_err(|_| PasswordError::Parameters)
    }
}

/// Computes the hash of a password as a stored hash was computed; `None` if that one is malformed.
fn computed(
    stored: &PasswordHash<'_>,
    params: &Params,
    password: &[u8],
    memory: &mut PasswordMemory,
) -> Option<Output> {
    let algorithm = Algorithm::try_from(stored.algorithm).ok()?;
    let version = stored.version.map_or(Ok(Version::default()), Version::try_from).ok()?;
    let mut decoded = [0; 64];
    let salt = stored.salt?.decode_b64(&mut decoded).ok()?;
    compute(algorithm, version, params, password, salt, memory).ok()
}

fn compute(
    algorithm: Algorithm,
    version: Version,
    params: &Params,
    password: &[u8],
    salt: &[u8],
    memory: &mut PasswordMemory,
) -> Result<Output, PasswordError> {
    let length = params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN);
    let argon2 = Argon2::new(algorithm, version, params.clone());
    let computed = Output::init_with(length, |out| {
        Ok(argon2.hash_password_into_with_memory(password, salt, out, memory.of(params))?)
    });
    computed.map_err(|_| PasswordError::Parameters)
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
