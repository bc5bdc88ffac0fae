//! Signed documents, such as a firmware's manifest: a compact JWS with EdDSA over a JSON object.

use serde_json::json;

use crate::error::TokenError;
use crate::jwk::{PrivateKey, PublicKey};
use crate::{jws, strict};

/// Longest signed document, bytes.
pub const MAX: usize = 64 * 1024;
/// How deep a document may be.
const DEPTH: u8 = 16;

/// `payload`, a JSON object, signed; `typ` says what it is, so that one document is not taken for another.
pub fn sign(key: &PrivateKey, typ: &str, payload: &[u8]) -> Result<String, TokenError> {
    check(payload)?;
    let header = json!({"alg": "EdDSA", "typ": typ, "kid": key.public().thumbprint()});
    let jws = key.sign_compact(&header, payload);
    if jws.len() > MAX { Err(TokenError::TooLong) } else { Ok(jws) }
}

/// A checked document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The key that signed it.
    pub kid: String,
    /// The bytes as they were signed: a JSON object in which each name stands once.
    pub payload: Vec<u8>,
}

/// The document in `jws`, which must be of `typ` and signed by a key that `key_of` knows by its kid.
pub fn verify(jws: &str, typ: &str, key_of: impl FnOnce(&str) -> Option<PublicKey>) -> Result<Signed, TokenError> {
    let parts = jws::split(jws, MAX)?;
    let kid = parts.kid(typ)?;
    let signature = parts.signature()?;
    let key = key_of(&kid).ok_or(TokenError::UnknownKey)?;
    if !key.verifies(parts.signed.as_bytes(), &signature) {
        return Err(TokenError::BadSignature);
    }
    let payload = parts.payload()?;
    check(&payload)?;
    Ok(Signed { kid, payload })
}

fn check(payload: &[u8]) -> Result<(), TokenError> {
    strict::object(payload, DEPTH)
        .map(drop)
        .ok_or(TokenError::Malformed("the document is not one JSON object with each name once"))
}
