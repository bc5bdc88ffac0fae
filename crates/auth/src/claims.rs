//! What our tokens say.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::TokenError;

/// How far two clocks may be apart, seconds.
pub const LEEWAY: u64 = 30;

/// Whose key a token is bound to (RFC 7800, RFC 9449 §6.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The thumbprint of the key that must prove itself with each request.
    pub jkt: String,
}

/// An access token: who it is and in which session. What they may do is looked up, never read from here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessClaims {
    pub iss: String,
    pub aud: String,
    pub sub: String,
    pub sid: String,
    pub jti: String,
    pub iat: u64,
    pub nbf: u64,
    pub exp: u64,
    pub role: String,
    /// The version of the user's permissions when the token was made.
    pub pv: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnf: Option<Confirmation>,
}

/// A refresh token: generation `generation` of the family `fam` of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshClaims {
    pub iss: String,
    pub aud: String,
    pub sub: String,
    pub sid: String,
    pub fam: String,
    /// `gen` on the wire; the word is Rust's.
    #[serde(rename = "gen")]
    pub generation: u64,
    pub jti: String,
    pub iat: u64,
    pub exp: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnf: Option<Confirmation>,
}

/// The last second of the year 9999: no date of ours is later, and no sum with it overflows.
const LAST_DATE: u64 = 253_402_300_799;

/// When a token was made and ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub iat: u64,
    pub exp: u64,
}

/// Checks `exp`, `iat` and `nbf` against `now`: whole seconds, not negative, within [`LEEWAY`].
pub(crate) fn times(claims: &Map<String, Value>, now: u64) -> Result<Times, TokenError> {
    let exp = date(claims, "exp")?.ok_or(TokenError::Malformed("it has no exp"))?;
    let iat = date(claims, "iat")?.ok_or(TokenError::Malformed("it has no iat"))?;
    let nbf = date(claims, "nbf")?.unwrap_or(iat);
    if now >= exp + LEEWAY {
        return Err(TokenError::Expired);
    }
    if iat.max(nbf) > now.saturating_add(LEEWAY) {
        return Err(TokenError::NotYet);
    }
    Ok(Times { iat, exp })
}

fn date(claims: &Map<String, Value>, name: &str) -> Result<Option<u64>, TokenError> {
    match claims.get(name) {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(at) if at <= LAST_DATE => Ok(Some(at)),
            _ => Err(TokenError::Malformed("a date of it is no whole number of seconds since 1970")),
        },
    }
}

/// A claim that must be there, a text and not empty.
pub(crate) fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Result<&'a str, TokenError> {
    match claims.get(name).and_then(Value::as_str) {
        Some(value) if !value.is_empty() => Ok(value),
        _ => Err(TokenError::Malformed("iss, aud, sub or jti is not there, empty or no text")),
    }
}
