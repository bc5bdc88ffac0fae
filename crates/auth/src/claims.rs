//! Claims of the tokens issued by this server.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::TokenError;

/// Maximum accepted difference between two clocks, in seconds.
pub const LEEWAY: u64 = 30;

/// The key that a token is bound to (RFC 7800, RFC 9449 §6.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// JWK thumbprint of the key whose possession must be proven with each request.
    pub jkt: String,
}

/// Claims of an access token: the user and the session. Permissions are looked up, never read from the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessClaims {
    /// Issuer.
    pub iss: String,
    /// Audience: `muster`.
    pub aud: String,
    /// Subject: the identifier of the user.
    pub sub: String,
    /// Identifier of the session.
    pub sid: String,
    /// Identifier of the token.
    pub jti: String,
    /// Time of issue, in seconds.
    pub iat: u64,
    /// Time before which the token is not valid, in seconds.
    pub nbf: u64,
    /// Expiry time, in seconds.
    pub exp: u64,
    /// Role of the user at the time of issue.
    pub role: String,
    /// Version of the user's permissions at the time of issue.
    pub pv: u64,
    /// Key that the token is bound to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnf: Option<Confirmation>,
}

/// Claims of a refresh token: generation `generation` of the token family `fam` of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshClaims {
    /// Issuer.
    pub iss: String,
    /// Audience: `muster-refresh`.
    pub aud: String,
    /// Subject: the identifier of the user.
    pub sub: String,
    /// Identifier of the session.
    pub sid: String,
    /// Identifier of the token family.
    pub fam: String,
    /// Serialized as `gen`, which is a reserved word in Rust.
    #[serde(rename = "gen")]
    pub generation: u64,
    /// Identifier of the token.
    pub jti: String,
    /// Time of issue, in seconds.
    pub iat: u64,
    /// Expiry time, in seconds.
    pub exp: u64,
    /// Key that the token is bound to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnf: Option<Confirmation>,
}

/// Last second of the year 9999. No valid date is later, and no sum with it overflows.
const LAST_DATE: u64 = 253_402_300_799;

/// Issue and expiry times of a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenTimes {
    pub iat: u64,
    pub exp: u64,
}

/// Checks `exp`, `iat` and `nbf` against `now`: whole, non-negative seconds, with a tolerance of [`LEEWAY`].
pub(crate) fn check_times(claims: &Map<String, Value>, now: u64) -> Result<TokenTimes, TokenError> {
    let exp = date(claims, "exp")?.ok_or(TokenError::Malformed("exp is missing"))?;
    let iat = date(claims, "iat")?.ok_or(TokenError::Malformed("iat is missing"))?;
    let nbf = date(claims, "nbf")?.unwrap_or(iat);
    if now >= exp + LEEWAY {
        return Err(TokenError::Expired);
    }
    if iat.max(nbf) > now.saturating_add(LEEWAY) {
        return Err(TokenError::NotYet);
    }
    Ok(TokenTimes { iat, exp })
}

fn date(claims: &Map<String, Value>, name: &str) -> Result<Option<u64>, TokenError> {
    match claims.get(name) {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(at) if at <= LAST_DATE => Ok(Some(at)),
            _ => Err(TokenError::Malformed("exp, iat or nbf is not a whole number of seconds since 1970")),
        },
    }
}

/// Returns a claim that must be a non-empty string.
pub(crate) fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Result<&'a str, TokenError> {
    match claims.get(name).and_then(Value::as_str) {
        Some(value) if !value.is_empty() => Ok(value),
        _ => Err(TokenError::Malformed("iss, aud, sub or jti is missing, empty or not a string")),
    }
}
