//! A single proof: created by the client, verified by the server.

use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::htu::normalize;
use super::nonce::Nonces;
use crate::b64;
use crate::claims::text;
use crate::error::{RandomError, TokenError, random};
use crate::jwk::{self, JwkError, PrivateKey, PublicKey};
use crate::jws::{self, CompactJws};

/// Maximum difference between a proof's `iat` and the server's clock, in seconds.
pub const WINDOW: u64 = 60;
/// Maximum length of a proof, in bytes.
const MAX: usize = 4 * 1024;
/// Maximum length of a `jti`, in bytes.
const MAX_JTI: usize = 256;
const TYP: &str = "dpop+jwt";

/// The request that a proof must match.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// Method of the request, in upper case.
    pub htm: &'a str,
    /// URL of the request as known to the client; query and fragment are ignored.
    pub htu: &'a str,
    /// Access token sent with the request; `None` at login.
    pub access_token: Option<&'a str>,
    /// Nonces that the proof must use; `None` if no nonce is required.
    pub nonces: Option<&'a Nonces>,
}

/// A verified proof. It is not marked as used yet: see [`super::JtiStore::admit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// JWK thumbprint of the key that signed the proof.
    pub jkt: String,
    /// Identifier of the proof, unique per key.
    pub jti: String,
    /// Time of issue, in seconds.
    pub iat: u64,
}

/// Reason for which a proof is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The proof is not a valid token of its type.
    #[error("invalid proof: {0}")]
    Form(#[from] TokenError),
    /// The embedded key cannot be used.
    #[error("invalid key of the proof: {0}")]
    Key(#[from] JwkError),
    /// The embedded key is of an unsupported type.
    #[error("the proof's key is neither an Ed25519 key with alg EdDSA nor a P-256 key with alg ES256")]
    UnknownKey,
    /// `htm` is not the method of the request.
    #[error("the proof is for another method")]
    WrongMethod,
    /// `htu` is not the URL of the request.
    #[error("the proof is for another URL")]
    WrongAddress,
    /// `iat` is outside the accepted window.
    #[error("the proof is older than a minute or from the future: check the machine's clock")]
    WrongTime,
    /// `ath` is not the hash of the access token.
    #[error("the proof is not for this access token: ath must be the base64url SHA-256 of it")]
    WrongToken,
    /// A current nonce is required.
    #[error("the proof requires the nonce from the response's DPoP-Nonce header")]
    UseNonce,
}

/// Verifies a proof at `now` (seconds) according to RFC 9449 §4.3, except for replay.
///
/// # Errors
///
/// Returns the first requirement that the proof does not meet.
pub fn check(proof: &str, expected: Expected<'_>, now: u64) -> Result<Proof, ProofError> {
    let parts = jws::split(proof, MAX)?;
    let key = Key::of(parts.header()?)?;
    let claims = parts.claims()?;
    let found = matches(&claims, expected, now)?;
    key.verify(&parts)?;
    // Checked last: only a client whose proof is otherwise valid should retry with a nonce.
    if let Some(nonces) = expected.nonces {
        let nonce = claims.get("nonce").and_then(Value::as_str).ok_or(ProofError::UseNonce)?;
        if !nonces.accepts(nonce, now) {
            return Err(ProofError::UseNonce);
        }
    }
    Ok(Proof { jkt: key.jkt(), ..found })
}

/// Compares the claims with the request. The returned proof has no thumbprint yet.
fn matches(claims: &Map<String, Value>, expected: Expected<'_>, now: u64) -> Result<Proof, ProofError> {
    if text(claims, "htm")? != expected.htm {
        return Err(ProofError::WrongMethod);
    }
    match (normalize(text(claims, "htu")?), normalize(expected.htu)) {
        (Some(sent), Some(expected)) if sent == expected => {}
        _ => return Err(ProofError::WrongAddress),
    }
    let iat = claims.get("iat").and_then(Value::as_u64).ok_or(TokenError::Malformed("iat is missing"))?;
    if iat.abs_diff(now) > WINDOW {
        return Err(ProofError::WrongTime);
    }
    let jti = text(claims, "jti")?;
    if jti.len() > MAX_JTI {
        return Err(TokenError::Malformed("its jti is too long").into());
    }
    if let Some(token) = expected.access_token {
        let ath = claims.get("ath").and_then(Value::as_str).ok_or(ProofError::WrongToken)?;
        if !bool::from(ath.as_bytes().ct_eq(ath_of(token).as_bytes())) {
            return Err(ProofError::WrongToken);
        }
    }
    Ok(Proof { jkt: String::new(), jti: jti.to_owned(), iat })
}

fn ath_of(token: &str) -> String {
    b64::encode(Sha256::digest(token))
}

enum Key {
    Ed25519(PublicKey),
    P256 { x: [u8; 32], y: [u8; 32] },
}

impl Key {
    /// Reads the key from a proof's header, which must be `{typ, alg, jwk}` and nothing else.
    fn of(header: Map<String, Value>) -> Result<Self, ProofError> {
        if header.get("typ").and_then(Value::as_str) != Some(TYP) {
            return Err(TokenError::WrongType.into());
        }
        let (Some(alg), Some(jwk), 3) = (header.get("alg"), header.get("jwk"), header.len()) else {
            return Err(TokenError::Malformed("its header must have typ, alg and jwk, and nothing else").into());
        };
        jwk::reject_private(jwk)?;
        match alg.as_str() {
            Some("EdDSA") => Ok(Self::Ed25519(PublicKey::from_jwk(jwk)?)),
            Some("ES256") => Self::p256(jwk).ok_or(ProofError::UnknownKey),
            _ => Err(TokenError::WrongAlgorithm.into()),
        }
    }

    fn p256(jwk: &Value) -> Option<Self> {
        let member = |name: &str| jwk.get(name).and_then(Value::as_str);
        if member("kty")? != "EC" || member("crv")? != "P-256" {
            return None;
        }
        Some(Self::P256 { x: b64::decode_exact(member("x")?)?, y: b64::decode_exact(member("y")?)? })
    }

    fn jkt(&self) -> String {
        match self {
            Self::Ed25519(key) => key.thumbprint(),
            Self::P256 { x, y } => {
                jwk::thumbprint(&[("crv", "P-256"), ("kty", "EC"), ("x", &b64::encode(x)), ("y", &b64::encode(y))])
            }
        }
    }

    fn verify(&self, parts: &CompactJws<'_>) -> Result<(), ProofError> {
        let signature = parts.signature()?;
        let signed = parts.signed.as_bytes();
        let holds = match self {
            Self::Ed25519(key) => key.verifies(signed, &signature),
            // A point that is not on the curve is rejected when the library reads the key.
            Self::P256 { x, y } => {
                let key = DecodingKey::from_ec_components(&b64::encode(x), &b64::encode(y))
                    .map_err(|_| ProofError::UnknownKey)?;
                jsonwebtoken::crypto::verify(parts.signature, signed, &key, Algorithm::ES256)
                    .map_err(|_| ProofError::UnknownKey)?
            }
        };
        if holds { Ok(()) } else { Err(TokenError::BadSignature.into()) }
    }
}

/// Creates a client's proof for one request at `now` (seconds), with a new `jti`.
///
/// # Errors
///
/// Fails if the operating system provides no randomness.
pub fn sign_proof(
    key: &PrivateKey,
    htm: &str,
    htu: &str,
    access_token: Option<&str>,
    nonce: Option<&str>,
    now: u64,
) -> Result<String, RandomError> {
    let header = json!({"typ": TYP, "alg": "EdDSA", "jwk": key.public().to_jwk()});
    let address = htu.split(['?', '#']).next().unwrap_or(htu);
    let mut claims = json!({"jti": b64::encode(random::<16>()?), "htm": htm, "htu": address, "iat": now});
    if let Some(members) = claims.as_object_mut() {
        members.extend(access_token.map(|token| ("ath".to_owned(), ath_of(token).into())));
        members.extend(nonce.map(|nonce| ("nonce".to_owned(), nonce.into())));
    }
    Ok(key.sign_compact(&header, claims.to_string().as_bytes()))
}
