//! The server's own tokens: signed by the current key, verified by every key that is or was in use.

use jsonwebtoken::{Algorithm, Header, Validation};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::claims::{check_times, text};
use crate::error::TokenError;
use crate::jws;
use crate::keys::KeySet;

/// Maximum length of a token, in bytes; a longer one is rejected without being decoded.
pub const MAX_TOKEN: usize = 8 * 1024;

/// Types of tokens. One type is never accepted as the other (RFC 8725 §3.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenType {
    /// An access token.
    Access,
    /// A refresh token.
    Refresh,
}

impl TokenType {
    /// Returns the header's `typ`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Access => "at+jwt",
            Self::Refresh => "rt+jwt",
        }
    }

    /// Returns the audience of this type.
    pub const fn audience(self) -> &'static str {
        match self {
            Self::Access => "muster",
            Self::Refresh => "muster-refresh",
        }
    }
}

/// Requirements for accepting a token.
#[derive(Debug, Clone, Copy)]
pub struct TokenRequirements<'a> {
    /// Required type.
    pub typ: TokenType,
    /// Required audience.
    pub aud: &'a str,
    /// Required issuer.
    pub iss: &'a str,
}

impl<'a> TokenRequirements<'a> {
    /// Requires an access token issued by `iss`.
    pub const fn access(iss: &'a str) -> Self {
        Self { typ: TokenType::Access, aud: TokenType::Access.audience(), iss }
    }

    /// Requires a refresh token issued by `iss`.
    pub const fn refresh(iss: &'a str) -> Self {
        Self { typ: TokenType::Refresh, aud: TokenType::Refresh.audience(), iss }
    }
}

/// The claims cannot be serialized as JSON, or the token would be too long to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the claims are not a JSON object of at most 6 KiB")]
pub struct MintError;

/// Creates a token with these claims, signed by the current key. Takes about 50 µs.
///
/// # Errors
///
/// Fails if the claims are not a JSON object or are too large.
pub fn mint<C: Serialize>(keys: &KeySet, typ: TokenType, claims: &C) -> Result<String, MintError> {
    let key = keys.current();
    let mut header = Header::new(Algorithm::EdDSA);
    header.typ = Some(typ.as_str().to_owned());
    header.kid = Some(key.kid().to_owned());
    let token = jsonwebtoken::encode(&header, claims, key.encoding()).map_err(|_| MintError)?;
    if token.len() > MAX_TOKEN { Err(MintError) } else { Ok(token) }
}

/// Verifies a token against the requirements at `now` (seconds) and returns its claims. Takes about 60 µs; use a
/// [`crate::TokenCache`] in front of it.
///
/// Everything that needs no cryptography is checked first, so that invalid tokens are cheap. Times are checked here
/// rather than by the library, which would read the system clock.
///
/// # Errors
///
/// Returns the first reason for which the token is not accepted.
pub fn verify<C: DeserializeOwned>(
    keys: &KeySet,
    token: &str,
    requirements: TokenRequirements<'_>,
    now: u64,
) -> Result<C, TokenError> {
    let parts = jws::split(token, MAX_TOKEN)?;
    let kid = parts.kid(requirements.typ.as_str())?;
    parts.signature()?;
    let claims = parts.claims()?;
    let when = check_times(&claims, now)?;
    let key = keys.in_use(&kid, when.iat, now)?;
    if text(&claims, "aud")? != requirements.aud {
        return Err(TokenError::WrongAudience);
    }
    if text(&claims, "iss")? != requirements.iss {
        return Err(TokenError::WrongIssuer);
    }
    text(&claims, "sub")?;
    jsonwebtoken::decode::<Value>(token, key.decoding(), &validation(requirements))
        .map_err(|_| TokenError::BadSignature)?;
    serde_json::from_value(Value::Object(claims)).map_err(|_| TokenError::Malformed("a claim is missing or invalid"))
}

fn validation(requirements: TokenRequirements<'_>) -> Validation {
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.set_audience(&[requirements.aud]);
    validation.set_issuer(&[requirements.iss]);
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation
}
