//! An immutable snapshot of the keys, for signing and verifying without a lock.

use std::sync::Arc;

use ed25519_dalek::pkcs8::EncodePrivateKey;
use jsonwebtoken::{DecodingKey, EncodingKey};
use serde_json::{Value, json};

use crate::claims::LEEWAY;
use crate::error::TokenError;
use crate::jwk::PrivateKey;

/// When a retired key stopped signing, and until when tokens signed by it are accepted, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Retired {
    pub at: u64,
    pub until: u64,
}

/// A signing key and its times.
pub struct SigningKey {
    kid: String,
    pub(crate) private: PrivateKey,
    encoding: EncodingKey,
    decoding: DecodingKey,
    pub(super) use_from: u64,
    pub(super) retired: Option<Retired>,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey")
            .field("kid", &self.kid)
            .field("use_from", &self.use_from)
            .field("retired", &self.retired)
            .finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Creates a key. Returns `None` if it cannot be encoded as PKCS #8, which does not happen for Ed25519 keys.
    pub(super) fn new(private: PrivateKey, use_from: u64, retired: Option<Retired>) -> Option<Self> {
        let public = private.public();
        let encoding = EncodingKey::from_ed_der(private.dalek().to_pkcs8_der().ok()?.as_bytes());
        let decoding = DecodingKey::from_ed_der(public.as_bytes());
        Some(Self { kid: public.thumbprint(), private, encoding, decoding, use_from, retired })
    }

    pub(super) fn with_times(&self, use_from: u64, retired: Option<Retired>) -> Self {
        Self {
            kid: self.kid.clone(),
            private: self.private.clone(),
            encoding: self.encoding.clone(),
            decoding: self.decoding.clone(),
            use_from,
            retired,
        }
    }

    /// Returns the identifier of the key: its thumbprint.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the time from which the key signs, in seconds.
    pub fn use_from(&self) -> u64 {
        self.use_from
    }

    pub(crate) fn encoding(&self) -> &EncodingKey {
        &self.encoding
    }

    pub(crate) fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }
}

/// All keys at one moment. Cheap to clone.
#[derive(Debug, Clone)]
pub struct KeySet {
    pub(super) current: Arc<SigningKey>,
    pub(super) next: Option<Arc<SigningKey>>,
    pub(super) retired: Vec<Arc<SigningKey>>,
}

impl KeySet {
    /// Returns the key that signs.
    pub fn current(&self) -> &SigningKey {
        &self.current
    }

    /// Returns the published key that will sign next.
    pub fn next(&self) -> Option<&SigningKey> {
        self.next.as_deref()
    }

    /// Returns the keys that no longer sign but whose tokens are still accepted.
    pub fn retired(&self) -> impl Iterator<Item = &SigningKey> {
        self.retired.iter().map(Arc::as_ref)
    }

    /// Returns the key of a token issued at `iat` and verified at `now` (seconds). Rejects a next key before its use, a
    /// retired key for tokens issued after its retirement, and a retired key whose tokens have all expired. The current
    /// key is accepted regardless of the clock, which may have been set back since the key was created.
    pub(crate) fn in_use(&self, kid: &str, iat: u64, now: u64) -> Result<&SigningKey, TokenError> {
        let key = self.all().find(|key| key.kid == kid).ok_or(TokenError::UnknownKey)?;
        let early = !Arc::ptr_eq(key, &self.current) && now.min(iat).saturating_add(LEEWAY) < key.use_from;
        let late = key.retired.is_some_and(|retired| now > retired.until || iat > retired.at.saturating_add(LEEWAY));
        if early || late { Err(TokenError::KeyNotInUse) } else { Ok(key) }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<SigningKey>> {
        std::iter::once(&self.current).chain(&self.next).chain(&self.retired)
    }

    /// Returns the JWK Set (RFC 7517 §5) for `/.well-known/jwks.json`: current, next and retired keys.
    pub fn jwks(&self) -> Value {
        let keys: Vec<Value> = self
            .all()
            .map(|key| {
                let x = key.private.public().x();
                json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": key.kid, "alg": "EdDSA", "use": "sig"})
            })
            .collect();
        json!({ "keys": keys })
    }
}
