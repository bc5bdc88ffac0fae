//! What a login attempt is counted by, in a form of constant size.

use std::net::IpAddr;

use sha2::{Digest, Sha256};

use crate::users::MAX_EMAIL;

/// Identifies an account by a hash of its normalized e-mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AccountKey(u128);

impl AccountKey {
    /// Returns the key of a normalized e-mail; `None` if no account can have it.
    pub(crate) fn of(email: &str) -> Option<Self> {
        (email.len() <= MAX_EMAIL).then(|| Self(digest("account", email.as_bytes())))
    }
}

/// Identifies an address, a network or a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SourceKey(u128);

/// The source of a login attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoginSource {
    /// The address; of IPv6 the /64 network, because that is what one customer is assigned.
    pub(super) address: SourceKey,
    /// The network: /24, of IPv6 /48.
    pub(super) network: SourceKey,
    /// The device whose key the request proved to hold, or the session that it was authenticated by.
    pub(super) device: Option<SourceKey>,
    pub(super) kind: SourceKind,
}

/// What distinguishes a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceKind {
    /// Its address.
    Address,
    /// A live session, which the request was authenticated by.
    Session,
    /// Nothing: the address is not known.
    Unknown,
}

impl LoginSource {
    /// Returns the source of a request from an address, with the thumbprint of a key that it proved to hold.
    pub(crate) fn new(address: Option<IpAddr>, proof: Option<&str>) -> Self {
        let (host, network) = match address.map(|address| address.to_canonical()) {
            None => (Vec::new(), Vec::new()),
            Some(IpAddr::V4(address)) => {
                let octets = address.octets();
                (octets.to_vec(), octets.into_iter().take(3).collect())
            }
            Some(IpAddr::V6(address)) => {
                let octets = address.octets();
                (octets.into_iter().take(8).collect(), octets.into_iter().take(6).collect())
            }
        };
        Self {
            address: SourceKey(digest("address", &host)),
            network: SourceKey(digest("network", &network)),
            device: proof.map(|proof| SourceKey(digest("device", proof.as_bytes()))),
            kind: if address.is_some() { SourceKind::Address } else { SourceKind::Unknown },
        }
    }

    /// Returns the source of a request that a live session authenticates.
    pub(crate) fn of_session(sid: &str) -> Self {
        Self { kind: SourceKind::Session, ..Self::new(None, Some(sid)) }
    }
}

/// Returns the first half of a SHA-256.
fn digest(kind: &str, bytes: &[u8]) -> u128 {
    let digest: [u8; 32] = Sha256::new().chain_update(kind).chain_update([0]).chain_update(bytes).finalize().into();
    digest.iter().take(16).fold(0, |number, byte| (number << 8) | u128::from(*byte))
}
