//! Ed25519 keys as JSON Web Keys (RFC 8037), and their thumbprints (RFC 7638).

use std::fmt;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::error::{RandomError, random};
use crate::{Secret, b64};

/// Why a JWK is no key for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwkError {
    #[error("the key is no JWK of kty OKP and crv Ed25519 with an x of 32 bytes in base64url")]
    NotEd25519,
    #[error("the JWK holds a private part: send the public key only, and make a new pair, for this one was shown")]
    Private,
    #[error("the JWK holds no private part d that belongs to its x")]
    NotPrivate,
    #[error("the key has a low order: everybody can sign for it; make a new pair")]
    Weak,
}

/// Members that only private and symmetric keys have (RFC 7518 §6, RFC 8037 §2).
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Refuses a JWK that shows a secret.
pub(crate) fn refuse_private(jwk: &Value) -> Result<(), JwkError> {
    match PRIVATE_MEMBERS.iter().any(|name| jwk.get(name).is_some()) {
        true => Err(JwkError::Private),
        false => Ok(()),
    }
}

/// The thumbprint of RFC 7638 over a key's required members, which are given in the order of their names.
pub(crate) fn thumbprint(members: &[(&str, &str)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{}", Value::from(*name), Value::from(*value))).collect();
    b64::encode(Sha256::digest(format!("{{{}}}", members.join(","))))
}

/// A public Ed25519 key of full order.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.thumbprint())
    }
}

impl PublicKey {
    /// The key of 32 bytes. Low orders are refused: a signature for them holds for every message.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, JwkError> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| JwkError::NotEd25519)?;
        if key.is_weak() { Err(JwkError::Weak) } else { Ok(Self(key)) }
    }

    /// The key that a public JWK holds; members beside kty, crv and x are not looked at, unless they are private.
    pub fn from_jwk(jwk: &Value) -> Result<Self, JwkError> {
        refuse_private(jwk)?;
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

    /// The JWK: kty, crv, x.
    pub fn to_jwk(&self) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "x": self.x()})
    }

    /// The 32 bytes in base64url, as a JWK's `x`.
    pub fn x(&self) -> String {
        b64::encode(self.0.as_bytes())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The RFC 7638 thumbprint: our `kid` and `jkt`.
    pub fn thumbprint(&self) -> String {
        thumbprint(&[("crv", "Ed25519"), ("kty", "OKP"), ("x", &self.x())])
    }

    /// Strict verification (RFC 8032 with small orders refused, no cofactor): what one verifier takes, all take.
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }
}

/// A private Ed25519 key. Overwritten in memory when dropped; printed as its thumbprint.
#[derive(Clone)]
pub struct PrivateKey(SigningKey);

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.public().thumbprint())
    }
}

impl PrivateKey {
    /// A new key from the system's randomness.
    pub fn generate() -> Result<Self, RandomError> {
        Ok(Self::from_seed(&random()?))
    }

    /// The key of RFC 8032's 32 secret bytes.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// The key of a private JWK, whose x must be its own.
    pub fn from_jwk(jwk: &Value) -> Result<Self, JwkError> {
        let public = PublicKey::from_members(jwk)?;
        let d = jwk.get("d").and_then(Value::as_str).and_then(b64::decode_exact).ok_or(JwkError::NotPrivate)?;
        let key = Self::from_seed(&d);
        if key.public() == public { Ok(key) } else { Err(JwkError::NotPrivate) }
    }

    /// The private JWK: kty, crv, x, d.
    pub fn to_jwk(&self) -> Secret<Value> {
        let mut jwk = self.public().to_jwk();
        if let Some(members) = jwk.as_object_mut() {
            members.insert("d".to_owned(), Value::String(b64::encode(self.0.as_bytes())));
        }
        Secret::new(jwk)
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// A compact JWS over `payload` with the header `{alg, typ, kid}`.
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
