//! Keys with which devices sign their tokens. Only public keys are stored.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_auth::{PrivateKey, PublicKey, Secret};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::Credentials;
use muster_core::{Error, Kind, Millis};

/// A public key of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeviceKey {
    /// RFC 7638 thumbprint.
    pub(super) kid: String,
    /// The 32 bytes of the key in base64url, as `x` of a JWK.
    pub(super) x: String,
    /// When the key ends, if it was replaced.
    pub(super) until: Option<Millis>,
}

impl DeviceKey {
    pub(super) fn of(key: &PublicKey) -> Self {
        Self { kid: key.thumbprint(), x: key.x(), until: None }
    }

    /// Returns the bytes of the key; `None` if the record does not hold 32.
    pub(super) fn bytes(&self) -> Option<[u8; 32]> {
        URL_SAFE_NO_PAD.decode(&self.x).ok()?.try_into().ok()
    }

    /// Returns the identification of the key for the device's record.
    pub(super) fn credentials(&self, rotated_at: Millis) -> Credentials {
        Credentials { kid: self.kid.clone(), jkt: self.kid.clone(), alg: "EdDSA".to_owned(), rotated_at }
    }
}

/// A new key of a device and, if this server generated it, its private half, which is returned once and never stored.
#[derive(Debug, Clone)]
pub(super) struct NewKey {
    pub(super) key: DeviceKey,
    pub(super) private: Option<Secret<Value>>,
}

impl NewKey {
    /// Reads a public JWK, or generates a key pair without one.
    ///
    /// # Errors
    /// `Invalid` with the reason why the JWK is malformed.
    pub(super) fn from_jwk(jwk: Option<&Value>) -> Result<Self, Error> {
        if let Some(jwk) = jwk {
            let wrong = |error: muster_auth::JwkError| {
                Error::field(Kind::Invalid, &["body", "public_key"], error.to_string(), Value::Null)
            };
            return Ok(Self { key: DeviceKey::of(&PublicKey::from_jwk(jwk).map_err(wrong)?), private: None });
        }
        let made = PrivateKey::generate().map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        Ok(Self { key: DeviceKey::of(&made.public()), private: Some(made.to_jwk()) })
    }
}
