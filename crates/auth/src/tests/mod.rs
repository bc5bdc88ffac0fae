//! Published test vectors, attacks and properties.

mod cache;
mod device;
mod dpop;
mod dpop_attacks;
mod keys;
mod manifest;
mod password;
mod token;
mod token_attacks;
mod vectors;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::jwk::PrivateKey;
use crate::keys::{KeyRing, KeySet, RotationPolicy};
use crate::{AccessClaims, Confirmation, RefreshClaims, b64};

/// A time in the year 2026.
pub const NOW: u64 = 1_780_000_000;
pub const ISS: &str = "https://muster.test";

pub struct TestIssuer {
    _folder: TempDir,
    pub ring: KeyRing,
}

impl TestIssuer {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ring = KeyRing::open(folder.path().join("keys"), RotationPolicy::default(), NOW).unwrap();
        Self { _folder: folder, ring }
    }

    pub fn set(&self) -> std::sync::Arc<KeySet> {
        self.ring.set()
    }

    /// Returns the private key, so that forged tokens have a valid signature and only the rest of them is wrong.
    pub fn signer(&self) -> PrivateKey {
        self.set().current().private.clone()
    }

    pub fn header(&self) -> Value {
        json!({"alg": "EdDSA", "typ": "at+jwt", "kid": self.set().current().kid()})
    }

    /// Creates a token with arbitrary header and claims and a valid signature.
    pub fn forge(&self, header: &Value, claims: &Value) -> String {
        self.forge_text(&header.to_string(), &claims.to_string())
    }

    pub fn forge_text(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", b64::encode(header), b64::encode(claims));
        let signature = b64::encode(self.signer().sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

pub fn access(sid: &str) -> AccessClaims {
    AccessClaims {
        iss: ISS.into(),
        aud: "muster".into(),
        sub: "usr_1".into(),
        sid: sid.into(),
        jti: "j1".into(),
        iat: NOW,
        nbf: NOW,
        exp: NOW + 900,
        role: "operator".into(),
        pv: 3,
        cnf: Some(Confirmation { jkt: "thumb".into() }),
    }
}

pub fn refresh() -> RefreshClaims {
    RefreshClaims {
        iss: ISS.into(),
        aud: "muster-refresh".into(),
        sub: "usr_1".into(),
        sid: "ses_1".into(),
        fam: "fam_1".into(),
        generation: 7,
        jti: "j2".into(),
        iat: NOW,
        exp: NOW + 7 * 86_400,
        cnf: None,
    }
}

pub fn claims() -> Value {
    serde_json::to_value(access("ses_1")).unwrap()
}

/// Returns `claims()` with one claim replaced or removed.
pub fn with(name: &str, value: Option<Value>) -> Value {
    let mut claims = claims();
    let members = claims.as_object_mut().unwrap();
    members.remove(name);
    members.extend(value.map(|value| (name.to_owned(), value)));
    claims
}
