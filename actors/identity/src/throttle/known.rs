//! Where accounts have logged in from before. Derived from the stored sessions, so that a restart forgets nothing.

use std::collections::HashMap;
use std::sync::Arc;

use muster_core::Millis;

use super::source::{LoginSource, SourceKey, SourceKind};

/// Number of sources that are kept of one user, those of the latest logins.
const PER_USER: usize = 32;

/// How well an account knows the source of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acquaintance {
    /// It has logged in with this device.
    Device,
    /// It has logged in from this address.
    Address,
    /// It has logged in from another address of this network.
    Network,
    /// It has not logged in from there.
    None,
}

#[derive(Debug, Clone, Copy)]
struct KnownSource {
    address: SourceKey,
    network: SourceKey,
    device: Option<SourceKey>,
    /// Time from which the source is not known any more.
    until: Millis,
}

/// The sources from which users have logged in.
#[derive(Debug, Default)]
pub(crate) struct KnownSources(HashMap<Arc<str>, Vec<KnownSource>>);

impl KnownSources {
    /// Records a login.
    pub(crate) fn insert(&mut self, user: &str, source: LoginSource, until: Millis) {
        if source.kind != SourceKind::Address {
            return;
        }
        let LoginSource { address, network, device, .. } = source;
        let known = KnownSource { address, network, device, until };
        let sources = match self.0.get_mut(user) {
            Some(sources) => sources,
            None => self.0.entry(Arc::from(user)).or_default(),
        };
        sources.retain(|other| (other.address, other.device) != (address, device));
        sources.push(known);
        sources.sort_by_key(|source| source.until);
        let excess = sources.len().saturating_sub(PER_USER);
        sources.drain(..excess);
    }

    /// Forgets a user.
    pub(crate) fn remove(&mut self, user: &str) {
        self.0.remove(user);
    }

    /// Returns how well a user's account knows a source.
    pub(crate) fn acquaintance(&self, user: &str, source: &LoginSource, now: Millis) -> Acquaintance {
        let known = || self.0.get(user).into_iter().flatten().filter(|known| now < known.until);
        let of_device = || source.device.is_some() && known().any(|known| known.device == source.device);
        if source.kind == SourceKind::Session || of_device() {
            return Acquaintance::Device;
        }
        if source.kind == SourceKind::Unknown {
            return Acquaintance::None;
        }
        if known().any(|known| known.address == source.address) {
            return Acquaintance::Address;
        }
        if known().any(|known| known.network == source.network) { Acquaintance::Network } else { Acquaintance::None }
    }
}
