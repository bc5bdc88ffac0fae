//! Tokens that devices sign themselves.
//!
//! Header `{typ: "dev+jwt", alg: "EdDSA", kid}`, claims `{sub, aud: "muster-device", iat, exp, jti}`, valid for at most
//! five minutes. The server keeps the public key only.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::claims::{text, times};
use crate::error::{RandomError, TokenError, random};
use crate::jwk::{PrivateKey, PublicKey};
use crate::{b64, jws};

/// The public key of a device.
pub type DeviceKey = PublicKey;

const TYP: &str = "dev+jwt";
const AUDIENCE: &str = "muster-device";
/// Longest token of a device, bytes.
const MAX: usize = 2 * 1024;
/// Longest life of a device's token, seconds.
pub const MAX_LIFE: u64 = 300;

/// What a token says of itself before anything of it was checked: good for finding the key, for nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peek {
    pub kid: String,
    pub sub: String,
}

/// What a checked token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceClaims {
    pub sub: String,
    pub aud: String,
    pub iat: u64,
    pub exp: u64,
    pub jti: String,
}

/// Who the token says it is of; nothing when it is no device's token by its shape.
pub fn peek(token: &str) -> Option<Peek> {
    let parts = jws::split(token, MAX).ok()?;
    let kid = parts.kid(TYP).ok()?;
    let sub = text(&parts.claims().ok()?, "sub").ok()?.to_owned();
    Some(Peek { kid, sub })
}

/// The claims of a token that `expect_sub` signed with `key`, at `now` (seconds).
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
    let when = times(&claims, now)?;
    if when.exp.saturating_sub(when.iat) > MAX_LIFE {
        return Err(TokenError::TooLongLived);
    }
    if !key.verifies(parts.signed.as_bytes(), &signature) {
        return Err(TokenError::BadSignature);
    }
    serde_json::from_value(Value::Object(claims)).map_err(|_| TokenError::Malformed("a claim is missing or of no use"))
}

/// A device's token from `now` (seconds) for `life` seconds, at most [`MAX_LIFE`]; as the device itself makes it.
pub fn sign(key: &PrivateKey, sub: &str, now: u64, life: u64) -> Result<String, RandomError> {
    let jti = b64::encode(random::<16>()?);
    let header = json!({"typ": TYP, "alg": "EdDSA", "kid": key.public().thumbprint()});
    let exp = now.saturating_add(life.min(MAX_LIFE));
    let claims = json!({"sub": sub, "aud": AUDIENCE, "iat": now, "exp": exp, "jti": jti});
    Ok(key.sign_compact(&header, claims.to_string().as_bytes()))
}
