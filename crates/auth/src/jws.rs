//! The compact form of a signed text (RFC 7515 §3.1): three parts with dots between.

use serde_json::{Map, Value};

use crate::error::TokenError;
use crate::{b64, strict};

/// A token in its three parts, not yet believed.
#[derive(Clone, Copy)]
pub struct Compact<'a> {
    header: &'a str,
    payload: &'a str,
    pub signature: &'a str,
    /// What the signature is over.
    pub signed: &'a str,
}

/// The three parts of `token`, which is looked at no further when it is longer than `max` bytes.
pub fn split(token: &str, max: usize) -> Result<Compact<'_>, TokenError> {
    const SHAPE: TokenError = TokenError::Malformed("it has not three parts");
    if token.len() > max {
        return Err(TokenError::TooLong);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(SHAPE)?;
    let (header, payload) = signed.split_once('.').ok_or(SHAPE)?;
    if payload.contains('.') || header.is_empty() || payload.is_empty() {
        return Err(SHAPE);
    }
    Ok(Compact { header, payload, signature, signed })
}

impl Compact<'_> {
    pub fn header(&self) -> Result<Map<String, Value>, TokenError> {
        b64::decode(self.header)
            .and_then(|bytes| strict::object(&bytes, strict::FLAT))
            .ok_or(TokenError::Malformed("its header is not one flat JSON object with each name once"))
    }

    pub fn payload(&self) -> Result<Vec<u8>, TokenError> {
        b64::decode(self.payload).ok_or(TokenError::Malformed("its payload is not base64url"))
    }

    pub fn claims(&self) -> Result<Map<String, Value>, TokenError> {
        strict::object(&self.payload()?, strict::FLAT)
            .ok_or(TokenError::Malformed("its claims are not one flat JSON object with each name once"))
    }

    /// The 64 bytes that a signature of Ed25519 and one of P-256 have.
    pub fn signature(&self) -> Result<[u8; 64], TokenError> {
        b64::decode_exact(self.signature).ok_or(TokenError::Malformed("its signature has not 64 bytes"))
    }

    /// The header's `kid`, if the header has `alg`, `typ` and `kid` and nothing else, and the first two are as they
    /// must be. So `jku`, `x5u`, `jwk`, `crit` and whatever comes next are refused, and nothing is ever fetched.
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

/// Longest name of a key that is looked up, bytes; a thumbprint has 43.
const MAX_KID: usize = 128;

/// The signed text for a header and a payload; the caller adds a dot and the signature.
pub fn signing_input(header: &Value, payload: &[u8]) -> String {
    format!("{}.{}", b64::encode(header.to_string()), b64::encode(payload))
}
