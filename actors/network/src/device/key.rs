//! The keys that devices sign their tokens with. Only public ones are kept.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_auth::{PrivateKey, PublicKey, Secret};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::Credentials;
use muster_core::{Error, Kind, Millis};

/// A public key of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Its RFC 7638 thumbprint.
    pub kid: String,
    /// Its 32 bytes in base64url, as a JWK's `x`.
    pub x: String,
    /// Until when it is taken, of a key that was replaced.
    pub until: Option<Millis>,
}

impl Key {
    pub fn of(key: &PublicKey) -> Self {
        Self { kid: key.thumbprint(), x: key.x(), until: None }
    }

    /// Its bytes; `None` where the record does not hold 32.
    pub fn bytes(&self) -> Option<[u8; 32]> {
        URL_SAFE_NO_PAD.decode(&self.x).ok()?.try_into().ok()
    }

    /// As the device's record shows it.
    pub fn credentials(&self, rotated_at: Millis) -> Credentials {
        Credentials { kid: self.kid.clone(), jkt: self.kid.clone(), alg: "EdDSA".to_owned(), rotated_at }
    }
}

/// A device's key and, where this server made it, its private half: to be shown once and written nowhere.
#[derive(Debug, Clone)]
pub struct Given {
    pub key: Key,
    pub private: Option<Secret<Value>>,
}

impl Given {
    /// The key of a public JWK, or a new one.
    ///
    /// # Errors
    /// `Invalid` says what is wrong with the JWK.
    pub fn take(jwk: Option<&Value>) -> Result<Self, Error> {
        if let Some(jwk) = jwk {
            let wrong = |error: muster_auth::JwkError| {
                Error::field(Kind::Invalid, &["body", "public_key"], error.to_string(), Value::Null)
            };
            return Ok(Self { key: Key::of(&PublicKey::from_jwk(jwk).map_err(wrong)?), private: None });
        }
        let made = PrivateKey::generate().map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        Ok(Self { key: Key::of(&made.public()), private: Some(made.to_jwk()) })
    }
}
