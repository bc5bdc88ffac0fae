//! One proof: made by the client, checked by the server.

use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::htu::normal;
use super::nonce::Nonces;
use crate::b64;
use crate::claims::text;
use crate::error::{RandomError, TokenError, random};
use crate::jwk::{self, JwkError, PrivateKey, PublicKey};
use crate::jws::{self, Compact};

/// How old or how far ahead a proof may be, seconds.
pub const WINDOW: u64 = 60;
/// Longest proof, bytes.
const MAX: usize = 4 * 1024;
/// Longest `jti`, bytes.
const MAX_JTI: usize = 256;
const TYP: &str = "dpop+jwt";

/// What a proof must be for.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The request's method, in capitals.
    pub htm: &'a str,
    /// The request's address as the client knows it; query and fragment are not compared.
    pub htu: &'a str,
    /// The token that comes with it; none at login.
    pub access_token: Option<&'a str>,
    /// Whose nonces are asked for; `None` where the server asks for none.
    pub nonces: Option<&'a Nonces>,
}

/// A proof that holds. It is not used up yet: that is [`super::JtiStore::admit`]'s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The thumbprint of the key that made it.
    pub jkt: String,
    pub jti: String,
    pub iat: u64,
}

/// A proof that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    #[error("the proof's form: {0}")]
    Form(#[from] TokenError),
    #[error("the proof's key: {0}")]
    Key(#[from] JwkError),
    #[error("the proof's key is neither an Ed25519 key with alg EdDSA nor a P-256 key with alg ES256")]
    UnknownKey,
    #[error("the proof is for another method")]
    WrongMethod,
    #[error("the proof is for another address")]
    WrongAddress,
    #[error("the proof is older than a minute or from the future: check the machine's clock")]
    WrongTime,
    #[error("the proof is not for this access token: ath must be the base64url SHA-256 of it")]
    WrongToken,
    #[error("the proof needs the nonce that the answer's DPoP-Nonce header holds")]
    UseNonce,
}

/// Checks a proof at `now` (seconds), all of RFC 9449 §4.3 but for its having been used before.
pub fn check(proof: &str, expected: Expected<'_>, now: u64) -> Result<Proof, ProofError> {
    let parts = jws::split(proof, MAX)?;
    let key = Key::of(parts.header()?)?;
    let claims = parts.claims()?;
    let found = matches(&claims, expected, now)?;
    key.verify(&parts)?;
    // Asked for last: only a client that has all the rest right is worth a second try.
    if let Some(nonces) = expected.nonces {
        let given = claims.get("nonce").and_then(Value::as_str).ok_or(ProofError::UseNonce)?;
        if !nonces.accepts(given, now) {
            return Err(ProofError::UseNonce);
        }
    }
    Ok(Proof { jkt: key.jkt(), ..found })
}

/// Compares the claims; the proof that it gives has no key yet.
fn matches(claims: &Map<String, Value>, expected: Expected<'_>, now: u64) -> Result<Proof, ProofError> {
    if text(claims, "htm")? != expected.htm {
        return Err(ProofError::WrongMethod);
    }
    match (normal(text(claims, "htu")?), normal(expected.htu)) {
        (Some(given), Some(wanted)) if given == wanted => {}
        _ => return Err(ProofError::WrongAddress),
    }
    let iat = claims.get("iat").and_then(Value::as_u64).ok_or(TokenError::Malformed("it has no iat"))?;
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
    /// The key in a proof's header `{typ, alg, jwk}`, which has nothing else.
    fn of(header: Map<String, Value>) -> Result<Self, ProofError> {
        if header.get("typ").and_then(Value::as_str) != Some(TYP) {
            return Err(TokenError::WrongType.into());
        }
        let (Some(alg), Some(jwk), 3) = (header.get("alg"), header.get("jwk"), header.len()) else {
            return Err(TokenError::Malformed("its header must have typ, alg and jwk, and nothing else").into());
        };
        jwk::refuse_private(jwk)?;
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

    fn verify(&self, parts: &Compact<'_>) -> Result<(), ProofError> {
        let signature = parts.signature()?;
        let signed = parts.signed.as_bytes();
        let holds = match self {
            Self::Ed25519(key) => key.verifies(signed, &signature),
            // A point that is not on the curve is refused when the library reads the key.
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

/// A client's proof for one request at `now` (seconds): a new `jti` each time.
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
