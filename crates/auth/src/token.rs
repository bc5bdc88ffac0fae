//! Our own tokens: made by the current key, read by every key that is or was in use.

use jsonwebtoken::{Algorithm, Header, Validation};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::claims::{text, times};
use crate::error::TokenError;
use crate::jws;
use crate::keys::KeySet;

/// Longest token that is read, bytes; what is longer is refused before anything of it is decoded.
pub const MAX_TOKEN: usize = 8 * 1024;

/// The kinds of tokens that we make. One is never taken for the other (RFC 8725 §3.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typ {
    Access,
    Refresh,
}

impl Typ {
    /// The header's `typ`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Access => "at+jwt",
            Self::Refresh => "rt+jwt",
        }
    }

    /// The audience of this kind.
    pub const fn audience(self) -> &'static str {
        match self {
            Self::Access => "muster",
            Self::Refresh => "muster-refresh",
        }
    }
}

/// What a token must be to be accepted.
#[derive(Debug, Clone, Copy)]
pub struct Expect<'a> {
    pub typ: Typ,
    pub aud: &'a str,
    pub iss: &'a str,
}

impl<'a> Expect<'a> {
    /// An access token that `iss` made.
    pub const fn access(iss: &'a str) -> Self {
        Self { typ: Typ::Access, aud: Typ::Access.audience(), iss }
    }

    /// A refresh token that `iss` made.
    pub const fn refresh(iss: &'a str) -> Self {
        Self { typ: Typ::Refresh, aud: Typ::Refresh.audience(), iss }
    }
}

/// The claims could not be written as JSON, or the token would be too long to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the claims are no JSON object of at most 6 KiB")]
pub struct MintError;

/// A token with these claims, signed by the current key. About 50 µs.
pub fn mint<C: Serialize>(keys: &KeySet, typ: Typ, claims: &C) -> Result<String, MintError> {
    let key = keys.current();
    let mut header = Header::new(Algorithm::EdDSA);
    header.typ = Some(typ.as_str().to_owned());
    header.kid = Some(key.kid().to_owned());
    let token = jsonwebtoken::encode(&header, claims, key.encoding()).map_err(|_| MintError)?;
    if token.len() > MAX_TOKEN { Err(MintError) } else { Ok(token) }
}

/// The claims of a token that is what `expect` says, at `now` (seconds). About 60 µs; keep a [`crate::TokenCache`] in
/// front.
///
/// Everything that can be seen without cryptography is checked first, so that rubbish is cheap. The times are checked
/// here and not by the library, which would ask the system's clock.
pub fn verify<C: DeserializeOwned>(keys: &KeySet, token: &str, expect: Expect<'_>, now: u64) -> Result<C, TokenError> {
    let parts = jws::split(token, MAX_TOKEN)?;
    let kid = parts.kid(expect.typ.as_str())?;
    parts.signature()?;
    let claims = parts.claims()?;
    let when = times(&claims, now)?;
    let key = keys.in_use(&kid, when.iat, now)?;
    if text(&claims, "aud")? != expect.aud {
        return Err(TokenError::WrongAudience);
    }
    if text(&claims, "iss")? != expect.iss {
        return Err(TokenError::WrongIssuer);
    }
    text(&claims, "sub")?;
    jsonwebtoken::decode::<Value>(token, key.decoding(), &validation(expect)).map_err(|_| TokenError::BadSignature)?;
    serde_json::from_value(Value::Object(claims)).map_err(|_| TokenError::Malformed("a claim is missing or of no use"))
}

fn validation(expect: Expect<'_>) -> Validation {
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.set_audience(&[expect.aud]);
    validation.set_issuer(&[expect.iss]);
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation
}
