//! Authentication of devices by tokens that they sign. The credentials are a published view, so that it needs no
//! message to the actor.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_queue::ArrayQueue;
use muster_auth::device::{peek, verify};
use muster_auth::{PublicKey, TokenCache, TokenError};
use tokio::sync::watch;

use super::credential_changes::CredentialChanges;
use super::entry::DeviceEntry;
use muster_core::{Clock, Error, Kind, Millis};

/// Largest number of bad signatures that wait to be attributed to a device; the rest is only counted in sum.
const MAX_QUEUED: usize = 1_024;

/// Keys by which a device is authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Credential {
    keys: Vec<(Box<str>, [u8; 32], Option<Millis>)>,
    trusted: bool,
}

impl Credential {
    /// Returns `None` for a device whose credentials are destroyed.
    pub(super) fn of(entry: &DeviceEntry) -> Option<Self> {
        let keys = entry.keys.iter().filter_map(|key| Some((key.kid.as_str().into(), key.bytes()?, key.until)));
        let keys: Vec<_> = keys.collect();
        (!keys.is_empty()).then(|| Self { keys, trusted: entry.device.status.trusted() })
    }

    fn key(&self, kid: &str, now: Millis) -> Option<&[u8; 32]> {
        self.valid(kid, now).map(|(key, _)| key)
    }

    /// Returns the key if it is valid, and when it ends.
    fn valid(&self, kid: &str, now: Millis) -> Option<(&[u8; 32], Option<Millis>)> {
        let valid = self.keys.iter().find(|(valid, _, until)| &**valid == kid && until.is_none_or(|until| now < until));
        valid.map(|(_, key, until)| (key, *until))
    }
}

/// Credentials by device.
pub(super) type Directory = HashMap<Arc<str>, Arc<Credential>>;

/// A device that was authenticated by its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticatedDevice {
    /// The device.
    pub device: Arc<str>,
    /// Thumbprint of the key that signed the token.
    pub kid: Arc<str>,
    /// When the token expires.
    pub exp: Millis,
}

/// Authenticates devices by their tokens.
#[derive(Debug, Clone)]
pub struct DeviceDirectory {
    present: watch::Receiver<Arc<Directory>>,
    cache: Arc<TokenCache<AuthenticatedDevice>>,
    changes: Arc<CredentialChanges>,
    bad_signatures: Arc<BadSignatureQueue>,
}

/// Invalid signatures under identifiers of existing devices.
#[derive(Debug)]
pub(super) struct BadSignatureQueue {
    devices: ArrayQueue<Arc<str>>,
    overflow: AtomicU64,
}

impl BadSignatureQueue {
    pub(super) fn new() -> Self {
        Self { devices: ArrayQueue::new(MAX_QUEUED), overflow: AtomicU64::new(0) }
    }

    fn note(&self, device: &Arc<str>) {
        if self.devices.push(Arc::clone(device)).is_err() {
            self.overflow.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes the number of invalid signatures by device since the last call.
    pub(super) fn take(&self) -> HashMap<Arc<str>, u32> {
        let mut counts = HashMap::new();
        for _ in 0..MAX_QUEUED {
            let Some(device) = self.devices.pop() else { break };
            *counts.entry(device).or_insert(0) += 1;
        }
        let overflow = self.overflow.swap(0, Ordering::Relaxed);
        if overflow > 0 {
            tracing::warn!(overflow, "more bad signatures of devices than are counted one by one");
        }
        counts
    }
}

impl DeviceDirectory {
    pub(super) fn new(
        present: watch::Receiver<Arc<Directory>>,
        changes: Arc<CredentialChanges>,
        bad_signatures: Arc<BadSignatureQueue>,
    ) -> Self {
        Self { present, cache: Arc::default(), changes, bad_signatures }
    }

    /// Authenticates `Authorization: Bearer <JWT>` of typ `dev+jwt` and returns the device. Costs a hash and two
    /// look-ups for a token that was used before, otherwise the verification of a signature.
    ///
    /// # Errors
    /// `Unauthenticated`, with the code `device_quarantined` for a quarantined device that proves its key. An unknown
    /// device, an unknown key and a bad signature are indistinguishable to the caller.
    pub fn authenticate(&self, token: &str, now: Millis) -> Result<Arc<str>, Error> {
        self.authenticate_token(token, now).map(|authenticated| Arc::clone(&authenticated.device))
    }

    /// Authenticates a token as [`Self::authenticate`] does and returns its key and expiry too.
    ///
    /// # Errors
    /// As [`Self::authenticate`].
    pub fn authenticate_token(&self, token: &str, now: Millis) -> Result<Arc<AuthenticatedDevice>, Error> {
        if let Some(authenticated) = self.cache.get(token, now.seconds()) {
            let credential =
                self.credential(&authenticated.device).filter(|valid| valid.key(&authenticated.kid, now).is_some());
            return admit(authenticated, &*credential.ok_or_else(unknown)?);
        }
        let claimed = peek(token).ok_or_else(unknown)?;
        let (device, credential) = self.find(&claimed.sub).ok_or_else(unknown)?;
        let key = credential.key(&claimed.kid, now).ok_or_else(unknown)?;
        let key = PublicKey::from_bytes(key).map_err(|_| unknown())?;
        let claims = verify(token, &key, &device, now.seconds()).map_err(|error| {
            if error == TokenError::BadSignature {
                self.bad_signatures.note(&device);
                return unknown();
            }
            Error::new(Kind::Unauthenticated, format!("{error}: sign a new token of at most 5 minutes"))
        })?;
        let exp = Millis(claims.exp.saturating_mul(1_000));
        let authenticated = Arc::new(AuthenticatedDevice { device, kid: claimed.kid.into(), exp });
        self.cache.insert(token, Arc::clone(&authenticated), claims.exp);
        admit(authenticated, &credential)
    }

    /// Resolves once the device can no longer authenticate with that key: it was quarantined or retired, or the key was
    /// replaced and its grace period is over. A change since the authentication counts.
    pub fn revoked(
        &self,
        authenticated: &AuthenticatedDevice,
        clock: Clock,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (directory, device, kid) =
            (self.clone(), Arc::clone(&authenticated.device), Arc::clone(&authenticated.kid));
        let changes = self.changes.subscribe(&device);
        async move {
            let Some(mut changes) = changes else { return };
            loop {
                let now = clock.now();
                let credential = directory.credential(&device).filter(|credential| credential.trusted);
                let Some(until) = credential.and_then(|valid| valid.valid(&kid, now).map(|(_, until)| until)) else {
                    return;
                };
                let over = async {
                    match until {
                        Some(until) => tokio::time::sleep(Duration::from_millis(until.0.saturating_sub(now.0))).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() { return },
                    () = over => {}
                }
            }
        }
    }

    /// Returns the number of devices with a credential.
    pub fn len(&self) -> usize {
        self.present.borrow().len()
    }

    /// Returns whether no device has a credential.
    pub fn is_empty(&self) -> bool {
        self.present.borrow().is_empty()
    }

    fn credential(&self, device: &str) -> Option<Arc<Credential>> {
        self.present.borrow().get(device).map(Arc::clone)
    }

    fn find(&self, device: &str) -> Option<(Arc<str>, Arc<Credential>)> {
        let present = self.present.borrow();
        present.get_key_value(device).map(|(id, credential)| (Arc::clone(id), Arc::clone(credential)))
    }
}

fn admit(authenticated: Arc<AuthenticatedDevice>, credential: &Credential) -> Result<Arc<AuthenticatedDevice>, Error> {
    if credential.trusted {
        return Ok(authenticated);
    }
    let message = "this device is quarantined, its credentials are blocked: an operator must release it";
    Err(Error::new(Kind::Unauthenticated, message).coded("device_quarantined"))
}

fn unknown() -> Error {
    let message = "no device of this server signed this token: send `Authorization: Bearer <JWT>` of typ dev+jwt, with \
                   the device's id as sub and its key's thumbprint as kid";
    Error::new(Kind::Unauthenticated, message)
}
