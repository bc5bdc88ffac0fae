//! Compact serialization of a JWS (RFC 7515 §3.1): three parts separated by dots.

use serde_json::{Map, Value};

use crate::error::TokenError;
use crate::{b64, strict};

/// The parts of a token that has not been verified.
#[derive(Clone, Copy)]
pub struct CompactJws<'a> {
    header: &'a str,
    payload: &'a str,
    pub signature: &'a str,
    /// The signing input.
    pub signed: &'a str,
}

/// Splits `token` into its parts. A token longer than `max` bytes is rejected without being decoded.
pub fn split(token: &str, max: usize) -> Result<CompactJws<'_>, TokenError> {
    const SHAPE: TokenError = TokenError::Malformed("it does not have three parts");
    if token.len() > max {
        return Err(TokenError::TooLong);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(SHAPE)?;
    let (header, payload) = signed.split_once('.').ok_or(SHAPE)?;
    if payload.contains('.') || header.is_empty() || payload.is_empty() {
        return Err(SHAPE);
    }
    Ok(CompactJws { header, payload, signature, signed })
}

impl CompactJws<'_> {
    pub fn header(&self) -> Result<Map<String, Value>, TokenError> {
        b64::decode(self.header)
            .and_then(|bytes| strict::object(&bytes, strict::FLAT))
            .ok_or(TokenError::Malformed("its header is not a flat JSON object without duplicate names"))
    }

    pub fn payload(&self) -> Result<Vec<u8>, TokenError> {
        b64::decode(self.payload).ok_or(TokenError::Malformed("its payload is not base64url"))
    }

    pub fn claims(&self) -> Result<Map<String, Value>, TokenError> {
        strict::object(&self.payload()?, strict::FLAT)
            .ok_or(TokenError::Malformed("its claims are not a flat JSON object without duplicate names"))
    }

    /// Decodes the signature: 64 bytes for both Ed25519 and P-256.
    pub fn signature(&self) -> Result<[u8; 64], TokenError> {
        b64::decode_exact(self.signature).ok_or(TokenError::Malformed("its signature is not 64 bytes long"))
    }

    /// Returns the header's `kid`, provided that the header consists of `alg`, `typ` and `kid` only and the first two
    /// have the required values. This rejects `jku`, `x5u`, `jwk`, `crit` and any future member, so that nothing is
    /// ever fetched.
    pub fn kid(&self, typ: &str) -> Result<String, TokenError> {
        let mut header = self.header()?;
        if header.get("alg").and_then(Value::as_str) != Some("EdDSA") {
            return Err(TokenError::WrongAlgorithm);
        }
        if header.get("typ").and_then(Value::as_str) != Some(typ) {
            return Err(TokenError::WrongType);
        }
        match header.remove("kid") {
            Some(Value::String(kid)) if header.len() == 2 && kid.len() <= MAX_KID => Ok(kid),
            _ => Err(TokenError::Malformed("its header must have alg, typ and kid, and nothing else")),
        }
    }
}

/// Maximum length of a `kid`, in bytes; a thumbprint has 43.
const MAX_KID: usize = 128;

/// Returns the signing input for a header and a payload; the caller appends a dot and the signature.
pub fn signing_input(header: &Value, payload: &[u8]) -> String {
    format!("{}.{}", b64::encode(header.to_string()), b64::encode(payload))
}
