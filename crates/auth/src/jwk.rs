//! Ed25519 keys as JSON Web Keys (RFC 8037), and their thumbprints (RFC 7638).

use std::fmt;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::error::{RandomError, random};
use crate::{Secret, b64};

/// Reason for which a JWK cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwkError {
    /// The JWK is not an Ed25519 public key.
    #[error("the key is not a JWK with kty OKP, crv Ed25519 and an x of 32 bytes in base64url")]
    NotEd25519,
    #[error(
        "the JWK contains a private part: send the public key only, and generate a new key pair, because this one has been disclosed"
    )]
    /// The JWK contains a private part.
    Private,
    /// The JWK has no matching private part.
    #[error("the JWK contains no private part d that matches its x")]
    NotPrivate,
    /// The key is of low order.
    #[error("the key has a low order, so anyone can sign for it: generate a new key pair")]
    Weak,
}

/// Members that only private and symmetric keys have (RFC 7518 §6, RFC 8037 §2).
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Rejects a JWK that contains a secret.
pub(crate) fn reject_private(jwk: &Value) -> Result<(), JwkError> {
    match PRIVATE_MEMBERS.iter().any(|name| jwk.get(name).is_some()) {
        true => Err(JwkError::Private),
        false => Ok(()),
    }
}

/// Computes the RFC 7638 thumbprint over a key's required members, which must be in lexicographic order.
pub(crate) fn thumbprint(members: &[(&str, &str)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{}", Value::from(*name), Value::from(*value))).collect();
    b64::encode(Sha256::digest(format!("{{{}}}", members.join(","))))
}

/// A public Ed25519 key that is not of low order.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.thumbprint())
    }
}

impl PublicKey {
    /// Creates a key from its 32 bytes. Keys of low order are rejected: a signature for them is valid for every
    /// message.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, JwkError> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| JwkError::NotEd25519)?;
        if key.is_weak() { Err(JwkError::Weak) } else { Ok(Self(key)) }
    }

    /// Reads a public JWK. Members other than kty, crv and x are ignored, but private ones are rejected.
    pub fn from_jwk(jwk: &Value) -> Result<Self, JwkError> {
        reject_private(jwk)?;
        Self::from_members(jwk)
    }

    fn from_members(jwk: &Value) -> Result<Self, JwkError> {
        let member = |name: &str| jwk.get(name).and_then(Value::as_str);
        if member("kty") != Some("OKP") || member("crv") != Some("Ed25519") {
            return Err(JwkError::NotEd25519);
        }
        let x = member("x").and_then(b64::decode_exact).ok_or(JwkError::NotEd25519)?;
        Self::from_bytes(&x)
    }

    /// Returns the JWK with the members kty, crv and x.
    pub fn to_jwk(&self) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "x": self.x()})
    }

    /// Returns the 32 bytes in base64url, as in a JWK's `x`.
    pub fn x(&self) -> String {
        b64::encode(self.0.as_bytes())
    }

    /// Returns the 32 bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Returns the RFC 7638 thumbprint, which is used as `kid` and `jkt`.
    pub fn thumbprint(&self) -> String {
        thumbprint(&[("crv", "Ed25519"), ("kty", "OKP"), ("x", &self.x())])
    }

    /// Verifies a signature strictly (RFC 8032 with points of small order rejected, without cofactor), so that all
    /// verifiers agree.
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }
}

/// A private Ed25519 key. It is zeroized on drop; its `Debug` output is its thumbprint.
#[derive(Clone)]
pub struct PrivateKey(SigningKey);

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.public().thumbprint())
    }
}

impl PrivateKey {
    /// Generates a key.
    pub fn generate() -> Result<Self, RandomError> {
        Ok(Self::from_seed(&random()?))
    }

    /// Creates a key from the 32 secret bytes of RFC 8032.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// Reads a private JWK, whose x must match its d.
    pub fn from_jwk(jwk: &Value) -> Result<Self, JwkError> {
        let public = PublicKey::from_members(jwk)?;
        let d = jwk.get("d").and_then(Value::as_str).and_then(b64::decode_exact).ok_or(JwkError::NotPrivate)?;
        let key = Self::from_seed(&d);
        if key.public() == public { Ok(key) } else { Err(JwkError::NotPrivate) }
    }

    /// Returns the private JWK with the members kty, crv, x and d.
    pub fn to_jwk(&self) -> Secret<Value> {
        let mut jwk = self.public().to_jwk();
        if let Some(members) = jwk.as_object_mut() {
            members.insert("d".to_owned(), Value::String(b64::encode(self.0.as_bytes())));
        }
        Secret::new(jwk)
    }

    /// Returns the public key.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// Creates a compact JWS over `payload` with the given header.
    pub(crate) fn sign_compact(&self, header: &Value, payload: &[u8]) -> String {
        let signed = crate::jws::signing_input(header, payload);
        let signature = b64::encode(self.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    pub(crate) fn seed(&self) -> Secret<String> {
        Secret::new(b64::encode(self.0.as_bytes()))
    }

    pub(crate) fn dalek(&self) -> &SigningKey {
        &self.0
    }
}
