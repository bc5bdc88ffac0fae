//! Stored records of sessions.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::refresh::Lifetimes;
use muster_core::Millis;

/// Information that a client sends about itself at login. It is displayed but never trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedClient {
    /// Name of the client program.
    pub user_agent: Option<String>,
    /// Address of the client in its own network.
    pub ip_address: Option<String>,
}

/// The origin of a login.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// Client address as the server sees it.
    pub ip: Option<IpAddr>,
    /// Header `User-Agent` of the login.
    pub user_agent: Option<String>,
    /// Information in the body of the login.
    pub claimed: Option<ClaimedClient>,
    /// Thumbprint of the device key that the session is bound to (RFC 7638, base64url).
    pub jkt: Option<String>,
}

/// The refresh tokens of a session. Each is identified by its generation; its `jti` is derived from the seed, so that a
/// successor whose response was lost can be created again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Family {
    /// Identifier of the family.
    pub(crate) fam: String,
    /// The present generation; the first is 0.
    pub(crate) generation: u64,
    /// Secret that the `jti`s are derived from.
    pub(super) seed: [u8; 32],
    /// SHA-256 of the present token's `jti`.
    pub(super) last: [u8; 32],
    /// SHA-256 of the previous token's `jti`.
    pub(super) previous: Option<[u8; 32]>,
    /// Time at which the present generation was issued.
    pub(crate) rotated_at: Millis,
}

impl std::fmt::Debug for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Family").field("fam", &self.fam).field("generation", &self.generation).finish_non_exhaustive()
    }
}

impl Family {
    pub(crate) fn new(fam: String, seed: [u8; 32], now: Millis) -> Self {
        let mut family = Self { fam, generation: 0, seed, last: [0; 32], previous: None, rotated_at: now };
        family.last = hash(&family.jti());
        family
    }

    /// Returns the `jti` of the present refresh token.
    pub(crate) fn jti(&self) -> String {
        self.derive(b"refresh", self.generation)
    }

    /// Returns the `jti` of the access token that is issued with it.
    pub(crate) fn access_jti(&self) -> String {
        self.derive(b"access", self.generation)
    }

    fn derive(&self, kind: &[u8], generation: u64) -> String {
        let digest = Sha256::new().chain_update(self.seed).chain_update(kind).chain_update(generation.to_be_bytes());
        URL_SAFE_NO_PAD.encode(digest.finalize().get(..16).unwrap_or_default())
    }

    /// Returns the next generation.
    #[must_use]
    pub(super) fn rotated(&self, now: Millis) -> Self {
        let mut next = Self { generation: self.generation + 1, rotated_at: now, ..self.clone() };
        next.previous = Some(self.last);
        next.last = hash(&next.jti());
        next
    }
}

/// Returns the SHA-256 of a `jti`, in which form it is stored.
pub(super) fn hash(jti: &str) -> [u8; 32] {
    Sha256::digest(jti.as_bytes()).into()
}

/// The stored record of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Session identifier, `ses_…`.
    pub id: String,
    /// Identifier of the user or service account.
    pub user: String,
    /// Time of the login.
    pub created_at: Millis,
    /// Time of the last refresh, or of the last request where sessions are listed.
    pub last_used: Millis,
    /// Client address as the server saw it.
    pub ip: Option<String>,
    /// Header `User-Agent` of the login.
    pub user_agent: Option<String>,
    /// Information in the body of the login.
    pub claimed: Option<ClaimedClient>,
    /// Thumbprint of the key that the tokens are bound to (RFC 7638, base64url).
    pub jkt: Option<String>,
    pub(crate) refresh: Family,
    /// Time at which the session was ended; `None` if it was not.
    pub revoked_at: Option<Millis>,
    /// Name of the reason for which it was ended.
    pub revoke_reason: Option<String>,
    /// Expiry of the service account that it belongs to; `None` for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_expires_at: Option<Millis>,
}

impl SessionRecord {
    /// Absolute end of the session: after its longest lifetime, or with its account.
    pub(crate) fn ends(&self, lifetimes: &Lifetimes) -> Millis {
        let ends = self.created_at.plus(lifetimes.absolute);
        self.account_expires_at.map_or(ends, |expires| expires.min(ends))
    }

    /// Returns when the session ends if its refresh token is not used.
    pub(crate) fn idles_out(&self, lifetimes: &Lifetimes) -> Millis {
        self.refresh.rotated_at.plus(lifetimes.idle).min(self.ends(lifetimes))
    }

    /// Returns the lifetime of the present refresh token.
    pub(crate) fn refresh_lifetime(&self, lifetimes: &Lifetimes) -> Duration {
        self.idles_out(lifetimes).since(self.refresh.rotated_at)
    }

    /// Returns whether the session was neither ended nor has expired.
    pub(crate) fn is_live(&self, lifetimes: &Lifetimes, now: Millis) -> bool {
        self.revoked_at.is_none() && now < self.idles_out(lifetimes)
    }
}

impl Record for SessionRecord {
    const TREE: Tree = Tree::Sessions;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
