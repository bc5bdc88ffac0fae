//! Authentication of connections to the feed.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::{Clock, Error, Kind, Millis};
use muster_identity::keys::{Keys, Scope};
use muster_identity::{Credential, Identity, Person, Scheme};
use muster_network::device::DeviceDirectory;
use tokio::sync::watch;

use super::protocol::{Authenticated, Refusal, Subject};

/// Checks tokens of sessions and of devices, and API keys.
pub trait Admission: Send + Sync + std::fmt::Debug {
    /// Authenticates a token. `scheme` is the one that it was sent with, `dpop` the proof of a token that is bound to a
    /// key, and `url` the URL of the handshake, which the proof names.
    fn authenticate(
        &self,
        scheme: Scheme,
        token: String,
        dpop: Option<String>,
        url: &str,
    ) -> BoxFuture<'static, Result<Admitted, Refusal>>;

    /// Returns a watch on a session; `None` if it has ended.
    fn watch(&self, sid: &str) -> Option<Watch>;
}

impl Admission for Identity {
    fn authenticate(
        &self,
        scheme: Scheme,
        token: String,
        dpop: Option<String>,
        url: &str,
    ) -> BoxFuture<'static, Result<Admitted, Refusal>> {
        // A socket opens with GET, and proofs in later frames name the same URL.
        let credential = Credential { scheme, token: &token, proof: dpop.as_deref(), method: "GET", url };
        let admitted = match self.admit(&credential) {
            Ok(admitted) => self
                .watch(&admitted.person.session_id)
                .map(|watch| Admitted {
                    client: Authenticated { subject: Subject::Person(admitted.person), exp: admitted.exp },
                    watch,
                })
                .ok_or(Refusal::Invalid),
            Err(error) => Err(refusal(&error)),
        };
        std::future::ready(admitted).boxed()
    }

    fn watch(&self, sid: &str) -> Option<Watch> {
        let watch = self.watch_session(sid)?;
        Some(Watch { revoked: watch.revoked.cancelled_owned().boxed(), grant: Some(watch.grant) })
    }
}

/// Authenticates users by their sessions, devices by tokens that they sign, and API keys with the scope `agents`.
#[derive(Debug)]
pub struct FeedAuthenticator {
    pub people: Identity,
    pub keys: Keys,
    pub devices: DeviceDirectory,
    pub clock: Clock,
}

impl Admission for FeedAuthenticator {
    fn authenticate(
        &self,
        scheme: Scheme,
        token: String,
        dpop: Option<String>,
        url: &str,
    ) -> BoxFuture<'static, Result<Admitted, Refusal>> {
        if Keys::is_key(&token) {
            return std::future::ready(self.key(scheme, &token)).boxed();
        }
        if muster_auth::device::peek(&token).is_none() {
            return self.people.authenticate(scheme, token, dpop, url);
        }
        let admitted = self.devices.authenticate_token(&token, self.clock.now()).map(|seen| {
            let revoked = self.devices.revoked(&seen, self.clock.clone()).boxed();
            let subject = Subject::Device(Arc::clone(&seen.device));
            Admitted { client: Authenticated { subject, exp: seen.exp }, watch: Watch { revoked, grant: None } }
        });
        std::future::ready(admitted.map_err(|error| refusal(&error))).boxed()
    }

    fn watch(&self, sid: &str) -> Option<Watch> {
        Admission::watch(&self.people, sid)
    }
}

/// Expiry time of a key without one: 9999-12-31T23:59:59Z.
const NO_END: Millis = Millis(253_402_300_799_000);

impl FeedAuthenticator {
    fn key(&self, scheme: Scheme, token: &str) -> Result<Admitted, Refusal> {
        // A key is not bound to anything that could be proven.
        if scheme != Scheme::Bearer {
            return Err(Refusal::Invalid);
        }
        let key = self.keys.authenticate(token).map_err(|_| Refusal::Invalid)?;
        if !key.has(Scope::Agents) {
            return Err(Refusal::Forbidden);
        }
        let exp = key.expires_at.unwrap_or(NO_END);
        let watch = Watch { revoked: self.keys.ended(token).boxed(), grant: None };
        Ok(Admitted { client: Authenticated { subject: Subject::of_key(key), exp }, watch })
    }
}

fn refusal(error: &Error) -> Refusal {
    if error.kind == Kind::Unavailable { Refusal::Unavailable } else { Refusal::Invalid }
}

/// An authenticated user or device.
pub struct Admitted {
    pub client: Authenticated,
    pub watch: Watch,
}

/// A watch on the session or the device of an open connection.
pub struct Watch {
    /// Resolves once the session is revoked, or the device is no longer admitted.
    pub revoked: BoxFuture<'static, ()>,
    /// The user with its present role and grants; a device has none.
    pub grant: Option<watch::Receiver<Arc<Person>>>,
}

impl std::fmt::Debug for Admitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admitted").field("client", &self.client).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}
