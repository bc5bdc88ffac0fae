//! Which devices are let in, by tokens that they sign themselves: a published view, so that it costs no hop.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_queue::ArrayQueue;
use muster_auth::device::{peek, verify};
use muster_auth::{PublicKey, TokenCache, TokenError};
use tokio::sync::watch;

use super::changes::Changes;
use super::entry::Entry;
use muster_core::{Clock, Error, Kind, Millis};

/// Bad signatures that wait to be counted; more are only counted together.
const MAX_NOTED: usize = 1_024;

/// What is needed to let a device in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Credential {
    keys: Vec<(Box<str>, [u8; 32], Option<Millis>)>,
    trusted: bool,
}

impl Credential {
    /// `None` of a device whose credentials are destroyed.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        let keys = entry.keys.iter().filter_map(|key| Some((key.kid.as_str().into(), key.bytes()?, key.until)));
        let keys: Vec<_> = keys.collect();
        (!keys.is_empty()).then(|| Self { keys, trusted: entry.device.status.trusted() })
    }

    fn key(&self, kid: &str, now: Millis) -> Option<&[u8; 32]> {
        self.held(kid, now).map(|(key, _)| key)
    }

    /// The key, and when it ends where it does.
    fn held(&self, kid: &str, now: Millis) -> Option<(&[u8; 32], Option<Millis>)> {
        let held = self.keys.iter().find(|(held, _, until)| &**held == kid && until.is_none_or(|until| now < until));
        held.map(|(_, key, until)| (key, *until))
    }
}

/// Every device that may have a credential.
pub(super) type Directory = HashMap<Arc<str>, Arc<Credential>>;

/// A device that was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetIn {
    pub device: Arc<str>,
    /// The thumbprint of the key that signed.
    pub kid: Arc<str>,
    /// The token's end.
    pub exp: Millis,
}

/// Lets devices in.
#[derive(Debug, Clone)]
pub struct DeviceDirectory {
    present: watch::Receiver<Arc<Directory>>,
    cache: Arc<TokenCache<LetIn>>,
    changes: Arc<Changes>,
    noted: Arc<Noted>,
}

/// Signatures that did not verify, under names of devices that exist.
#[derive(Debug)]
pub(super) struct Noted {
    devices: ArrayQueue<Arc<str>>,
    beyond: AtomicU64,
}

impl Noted {
    pub(super) fn new() -> Self {
        Self { devices: ArrayQueue::new(MAX_NOTED), beyond: AtomicU64::new(0) }
    }

    fn note(&self, device: &Arc<str>) {
        if self.devices.push(Arc::clone(device)).is_err() {
            self.beyond.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many of each device came since it was last asked.
    pub(super) fn take(&self) -> HashMap<Arc<str>, u32> {
        let mut counts = HashMap::new();
        for _ in 0..MAX_NOTED {
            let Some(device) = self.devices.pop() else { break };
            *counts.entry(device).or_insert(0) += 1;
        }
        let beyond = self.beyond.swap(0, Ordering::Relaxed);
        if beyond > 0 {
            tracing::warn!(beyond, "more bad signatures of devices than are counted one by one");
        }
        counts
    }
}

impl DeviceDirectory {
    pub(super) fn new(present: watch::Receiver<Arc<Directory>>, changes: Arc<Changes>, noted: Arc<Noted>) -> Self {
        Self { present, cache: Arc::default(), changes, noted }
    }

    /// The device whose token it is: `Authorization: Bearer <JWT>` of typ `dev+jwt`. A hash and two look-ups where the
    /// token was seen before, a signature's verification where it was not.
    ///
    /// # Errors
    /// `Unauthenticated`. A quarantined device that proves its key is told so (code `device_quarantined`); to anyone
    /// else, an unknown device, an unknown key and a bad signature look the same.
    pub fn authenticate(&self, token: &str, now: Millis) -> Result<Arc<str>, Error> {
        self.let_in(token, now).map(|seen| Arc::clone(&seen.device))
    }

    /// As [`Self::authenticate`], with the token's end.
    ///
    /// # Errors
    /// As there.
    pub fn let_in(&self, token: &str, now: Millis) -> Result<Arc<LetIn>, Error> {
        if let Some(seen) = self.cache.get(token, now.seconds()) {
            let credential = self.credential(&seen.device).filter(|held| held.key(&seen.kid, now).is_some());
            return admit(seen, &*credential.ok_or_else(unknown)?);
        }
        let said = peek(token).ok_or_else(unknown)?;
        let (device, credential) = self.find(&said.sub).ok_or_else(unknown)?;
        let key = credential.key(&said.kid, now).ok_or_else(unknown)?;
        let key = PublicKey::from_bytes(key).map_err(|_| unknown())?;
        let claims = verify(token, &key, &device, now.seconds()).map_err(|error| {
            if error == TokenError::BadSignature {
                self.noted.note(&device);
                return unknown();
            }
            Error::new(Kind::Unauthenticated, format!("{error}: sign a new token of at most 5 minutes"))
        })?;
        let exp = Millis(claims.exp.saturating_mul(1_000));
        let seen = Arc::new(LetIn { device, kid: said.kid.into(), exp });
        self.cache.insert(token, Arc::clone(&seen), claims.exp);
        admit(seen, &credential)
    }

    /// Resolves once the device is not let in by that key any more: it was quarantined or retired, or the key replaced
    /// and its grace is over. What happened since it was let in counts.
    pub fn ended(&self, seen: &LetIn, clock: Clock) -> impl Future<Output = ()> + Send + 'static {
        let (directory, device, kid) = (self.clone(), Arc::clone(&seen.device), Arc::clone(&seen.kid));
        let changes = self.changes.follow(&device);
        async move {
            let Some(mut changes) = changes else { return };
            loop {
                let now = clock.now();
                let credential = directory.credential(&device).filter(|credential| credential.trusted);
                let Some(until) = credential.and_then(|held| held.held(&kid, now).map(|(_, until)| until)) else {
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

    /// How many devices may have a credential.
    pub fn len(&self) -> usize {
        self.present.borrow().len()
    }

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

fn admit(seen: Arc<LetIn>, credential: &Credential) -> Result<Arc<LetIn>, Error> {
    if credential.trusted {
        return Ok(seen);
    }
    let message = "this device is quarantined, its credentials are blocked: an operator must release it";
    Err(Error::new(Kind::Unauthenticated, message).coded("device_quarantined"))
}

fn unknown() -> Error {
    let message = "no device of this server signed this token: send `Authorization: Bearer <JWT>` of typ dev+jwt, with \
                   the device's id as sub and its key's thumbprint as kid";
    Error::new(Kind::Unauthenticated, message)
}
