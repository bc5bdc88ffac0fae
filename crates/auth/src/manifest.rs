//! Signed documents, such as firmware manifests: a compact JWS with EdDSA over a JSON object.

use serde_json::json;

use crate::error::TokenError;
use crate::jwk::{PrivateKey, PublicKey};
use crate::{jws, strict};

/// Maximum length of a signed document, in bytes.
pub const MAX: usize = 64 * 1024;
/// Maximum nesting depth of a document.
const DEPTH: u8 = 16;

/// Signs `payload`, a JSON object. `typ` states the kind of document, so that one kind is not accepted as another.
///
/// # Errors
///
/// Fails if the payload is not an unambiguous JSON object or the result is longer than [`MAX`].
pub fn sign(key: &PrivateKey, typ: &str, payload: &[u8]) -> Result<String, TokenError> {
    check(payload)?;
    let header = json!({"alg": "EdDSA", "typ": typ, "kid": key.public().thumbprint()});
    let jws = key.sign_compact(&header, payload);
    if jws.len() > MAX { Err(TokenError::TooLong) } else { Ok(jws) }
}

/// A verified document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedDocument {
    /// Identifier of the key that signed it.
    pub kid: String,
    /// The signed bytes: a JSON object without duplicate names.
    pub payload: Vec<u8>,
}

/// Verifies a document, which must be of type `typ` and signed by a key that `key_of` returns for its kid.
///
/// # Errors
///
/// Returns the first reason for which the document is not accepted.
pub fn verify(
    jws: &str,
    typ: &str,
    key_of: impl FnOnce(&str) -> Option<PublicKey>,
) -> Result<SignedDocument, TokenError> {
    let parts = jws::split(jws, MAX)?;
    let kid = parts.kid(typ)?;
    let signature = parts.signature()?;
    let key = key_of(&kid).ok_or(TokenError::UnknownKey)?;
    if !key.verifies(parts.signed.as_bytes(), &signature) {
        return Err(TokenError::BadSignature);
    }
    let payload = parts.payload()?;
    check(&payload)?;
    Ok(SignedDocument { kid, payload })
}

fn check(payload: &[u8]) -> Result<(), TokenError> {
    strict::object(payload, DEPTH)
        .map(drop)
        .ok_or(TokenError::Malformed("the document is not a JSON object without duplicate names"))
}
