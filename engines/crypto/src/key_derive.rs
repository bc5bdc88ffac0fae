//! q207: keys from secrets, and hashes of passwords.

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm as Argon2Algorithm, Argon2, Params, Version};
use hkdf::Hkdf;
use muster_engine::prelude::*;
use sha2_11::Sha256;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    algorithm: Algorithm,
    secret: Bytes,
    salt: Bytes,
    info: Option<Bytes>,
    length_bytes: usize,
    iterations: Option<u32>,
    memory_kib: Option<u32>,
    parallelism: Option<u32>,
    phc: Option<String>,
}

/// Functions that derive keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Algorithm {
    #[wire(name = "hkdf-sha256")]
    Hkdf,
    #[wire(name = "pbkdf2-sha256")]
    Pbkdf2,
    #[wire(name = "scrypt")]
    Scrypt,
    #[wire(name = "argon2id")]
    Argon2id,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    key: Option<Bytes>,
    phc: Option<String>,
    verified: Option<bool>,
    milliseconds_ms: f64,
}

/// Work that a call may ask for: iterations of PBKDF2, and KiB of memory times passes.
const MAX_ITERATIONS: u32 = 2_000_000;
const MAX_MEMORY: u32 = 131_072;
const MAX_WORK: u64 = 262_144;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let begun = cx.elapsed();
    let ended = |key, phc, verified| {
        let milliseconds_ms = cx.elapsed().saturating_sub(begun).as_secs_f64() * 1000.0;
        Output { key, phc, verified, milliseconds_ms }
    };
    if let Some(phc) = &input.phc {
        let verified = verify(phc, &input.secret.0)?;
        return Ok(ended(None, None, Some(verified)));
    }
    let mut key = vec![0; input.length_bytes];
    let mut phc = None;
    match input.algorithm {
        Algorithm::Hkdf => {
            let info = input.info.as_ref().map(|info| info.0.as_slice()).unwrap_or_default();
            Hkdf::<Sha256>::new(Some(&input.salt.0), &input.secret.0)
                .expand(info, &mut key)
                .map_err(|_| Failure::invalid(&["length"], "must be at most 8160 bytes"))?;
        }
        Algorithm::Pbkdf2 => {
            let iterations = input.iterations.unwrap_or(600_000);
            let blocks = input.length_bytes.div_ceil(32) as u64;
            if u64::from(iterations) * blocks > u64::from(MAX_ITERATIONS) {
                return Err(Failure::too_large(format!("iterations times blocks of 32 bytes may be {MAX_ITERATIONS}")));
            }
            pbkdf2::pbkdf2_hmac::<Sha256>(&input.secret.0, &input.salt.0, iterations, &mut key);
        }
        Algorithm::Scrypt => scrypt(&input, &mut key)?,
        Algorithm::Argon2id => phc = argon2id(&input, &mut key)?,
    }
    if matches!(input.algorithm, Algorithm::Hkdf) {
        cx.assume("the secret is random: HKDF protects no password");
    }
    Ok(ended(Some(Bytes(key)), phc, None))
}

/// scrypt with blocks of 8: `memory_kib` is N, since each of N rows has 1 KiB; `iterations` is not used.
fn scrypt(input: &Input, key: &mut [u8]) -> Result<(), Failure> {
    let memory = input.memory_kib.unwrap_or(16_384);
    let lanes = input.parallelism.unwrap_or(1);
    if memory > MAX_MEMORY || u64::from(memory) * u64::from(lanes) > MAX_WORK {
        return Err(Failure::too_large(format!("memory may be {MAX_MEMORY} KiB, memory times parallelism {MAX_WORK}")));
    }
    if !memory.is_power_of_two() {
        return Err(Failure::invalid(&["memory_kib"], "must be a power of two for scrypt"));
    }
    let params = ::scrypt::Params::new(memory.trailing_zeros() as u8, 8, lanes).map_err(Failure::internal)?;
    ::scrypt::scrypt(&input.secret.0, &input.salt.0, &params, key)
        .map_err(|_| Failure::invalid(&["length"], "is not possible for scrypt"))
}

/// Argon2id; returns the PHC string if the salt and length allow one.
fn argon2id(input: &Input, key: &mut [u8]) -> Result<Option<String>, Failure> {
    let (memory, passes) = (input.memory_kib.unwrap_or(19_456), input.iterations.unwrap_or(2));
    let lanes = input.parallelism.unwrap_or(1);
    if memory > MAX_MEMORY || u64::from(memory) * u64::from(passes) > MAX_WORK {
        return Err(Failure::too_large(format!("memory may be {MAX_MEMORY} KiB, memory times iterations {MAX_WORK}")));
    }
    let wrong =
        |error: argon2::Error| Failure::invalid(&["memory_kib"], format!("Argon2 refuses the parameters: {error}"));
    let params = Params::new(memory, passes, lanes, Some(key.len())).map_err(wrong)?;
    let argon2 = Argon2::new(Argon2Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into(&input.secret.0, &input.salt.0, key).map_err(wrong)?;
    let Ok(salt) = SaltString::encode_b64(&input.salt.0) else { return Ok(None) };
    Ok(argon2.hash_password(&input.secret.0, &salt).ok().map(|hash| hash.to_string()))
}

fn verify(phc: &str, secret: &[u8]) -> Result<bool, Failure> {
    let wrong = |message: &str| Failure::invalid(&["phc"], message.to_owned());
    let hash = PasswordHash::new(phc).map_err(|error| wrong(&format!("is no PHC string: {error}")))?;
    if hash.algorithm.as_str() != "argon2id" {
        return Err(wrong("must begin with $argon2id$"));
    }
    let params = Params::try_from(&hash).map_err(|error| wrong(&format!("has other parameters: {error}")))?;
    if params.m_cost() > MAX_MEMORY || u64::from(params.m_cost()) * u64::from(params.t_cost()) > MAX_WORK {
        return Err(Failure::too_large(format!("memory may be {MAX_MEMORY} KiB, memory times iterations {MAX_WORK}")));
    }
    Ok(Argon2::default().verify_password(secret, &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(algorithm: Algorithm) -> Input {
        Input {
            algorithm,
            secret: Bytes(b"password".to_vec()),
            salt: Bytes(b"somesalt".to_vec()),
            info: None,
            length_bytes: 32,
            iterations: Some(2),
            memory_kib: Some(64),
            parallelism: Some(1),
            phc: None,
        }
    }

    #[test]
    fn a_hash_verifies_its_password_only() {
        let made = run(input(Algorithm::Argon2id), &Context::default()).unwrap();
        let verify = |secret: &[u8]| {
            let input = Input { secret: Bytes(secret.to_vec()), phc: made.phc.clone(), ..input(Algorithm::Argon2id) };
            run(input, &Context::default()).unwrap().verified
        };
        assert_eq!((verify(b"password"), verify(b"passwort")), (Some(true), Some(false)));
    }

    #[test]
    fn too_much_work_is_refused() {
        let heavy = Input { memory_kib: Some(262_144), ..input(Algorithm::Argon2id) };
        assert!(matches!(run(heavy, &Context::default()), Err(Failure::TooLarge { .. })));
        let long = Input { iterations: Some(4_000_000_000), ..input(Algorithm::Pbkdf2) };
        assert!(matches!(run(long, &Context::default()), Err(Failure::TooLarge { .. })));
    }
}
