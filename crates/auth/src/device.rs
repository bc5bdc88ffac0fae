//! Tokens signed by devices themselves.
//!
//! Header `{typ: "dev+jwt", alg: "EdDSA", kid}`, claims `{sub, aud: "muster-device", iat, exp, jti}`, valid for at most
//! five minutes. The server stores the public key only.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::claims::{check_times, text};
use crate::error::{RandomError, TokenError, random};
use crate::jwk::{PrivateKey, PublicKey};
use crate::{b64, jws};

/// Public key of a device.
pub type DeviceKey = PublicKey;

const TYP: &str = "dev+jwt";
const AUDIENCE: &str = "muster-device";
/// Maximum length of a device token, in bytes.
const MAX: usize = 2 * 1024;
/// Maximum lifetime of a device token, in seconds.
pub const MAX_LIFE: u64 = 300;

/// Unverified content of a token, for finding the key to verify it with and for nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiedDevice {
    /// Thumbprint of the key that the token names.
    pub kid: String,
    /// Device that the token names.
    pub sub: String,
}

/// Claims of a verified device token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceClaims {
    /// Identifier of the device.
    pub sub: String,
    /// Audience: `muster-device`.
    pub aud: String,
    /// Time of issue, in seconds.
    pub iat: u64,
    /// Expiry time, in seconds.
    pub exp: u64,
    /// Identifier of the token.
    pub jti: String,
}

/// Reads the key and the device that a token names, without verifying it. Returns `None` if the token does not have the
/// form of a device token.
pub fn peek(token: &str) -> Option<UnverifiedDevice> {
    let parts = jws::split(token, MAX).ok()?;
    let kid = parts.kid(TYP).ok()?;
    let sub = text(&parts.claims().ok()?, "sub").ok()?.to_owned();
    Some(UnverifiedDevice { kid, sub })
}

/// Verifies a token signed by `expect_sub` with `key`, at `now` (seconds).
///
/// # Errors
///
/// Returns the first reason for which the token is not accepted.
pub fn verify(token: &str, key: &DeviceKey, expect_sub: &str, now: u64) -> Result<DeviceClaims, TokenError> {
    let parts = jws::split(token, MAX)?;
    let kid = parts.kid(TYP)?;
    let signature = parts.signature()?;
    let claims = parts.claims()?;
    if kid != key.thumbprint() {
        return Err(TokenError::UnknownKey);
    }
    if text(&claims, "aud")? != AUDIENCE {
        return Err(TokenError::WrongAudience);
    }
    if text(&claims, "sub")? != expect_sub {
        return Err(TokenError::WrongSubject);
    }
    text(&claims, "jti")?;
    let when = check_times(&claims, now)?;
    if when.exp.saturating_sub(when.iat) > MAX_LIFE {
        return Err(TokenError::TooLongLived);
    }
    if !key.verifies(parts.signed.as_bytes(), &signature) {
        return Err(TokenError::BadSignature);
    }
    serde_json::from_value(Value::Object(claims)).map_err(|_| TokenError::Malformed("a claim is missing or invalid"))
}

/// Creates a device token that is valid from `now` (seconds) for `lifetime` seconds, at most [`MAX_LIFE`].
///
/// # Errors
///
/// Fails if the operating system provides no randomness.
pub fn sign(key: &PrivateKey, sub: &str, now: u64, lifetime: u64) -> Result<String, RandomError> {
    let jti = b64::encode(random::<16>()?);
    let header = json!({"typ": TYP, "alg": "EdDSA", "kid": key.public().thumbprint()});
    let exp = now.saturating_add(lifetime.min(MAX_LIFE));
    let claims = json!({"sub": sub, "aud": AUDIENCE, "iat": now, "exp": exp, "jti": jti});
    Ok(key.sign_compact(&header, claims.to_string().as_bytes()))
}
