//! Who is let in: what the feed needs of whoever knows tokens and sessions.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::{Clock, Error, Kind, Millis};
use muster_identity::keys::{Keys, Scope};
use muster_identity::{Identity, Person, Scheme, Shown};
use muster_network::device::DeviceDirectory;
use tokio::sync::watch;

use super::protocol::{Refusal, Subject, Who};

/// Checks tokens of sessions and of devices, and keys.
pub trait Admission: Send + Sync + std::fmt::Debug {
    /// Whom a token lets in. `scheme` is the one that it came under, `dpop` is the proof of a token that is bound to a key, and `url` the address of the
    /// handshake, which the proof names.
    fn authenticate(
        &self,
        scheme: Scheme,
        token: String,
        dpop: Option<String>,
        url: &str,
    ) -> BoxFuture<'static, Result<Admitted, Refusal>>;

    /// What becomes of a session; `None` where it does not live.
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
        // A socket opens with GET, and later frames prove the same address.
        let shown = Shown { scheme, token: &token, proof: dpop.as_deref(), method: "GET", url };
        let admitted = match self.admit(&shown) {
            Ok(admitted) => self
                .watch(&admitted.person.session_id)
                .map(|watch| Admitted {
                    who: Who { subject: Subject::Person(admitted.person), exp: admitted.exp },
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

/// People by their sessions, devices by tokens that they sign, API keys with the scope `agents` by themselves.
#[derive(Debug)]
pub struct Doors {
    pub people: Identity,
    pub keys: Keys,
    pub devices: DeviceDirectory,
    pub clock: Clock,
}

impl Admission for Doors {
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
        let admitted = self.devices.let_in(&token, self.clock.now()).map(|seen| {
            let revoked = self.devices.ended(&seen, self.clock.clone()).boxed();
            let subject = Subject::Device(Arc::clone(&seen.device));
            Admitted { who: Who { subject, exp: seen.exp }, watch: Watch { revoked, grant: None } }
        });
        std::future::ready(admitted.map_err(|error| refusal(&error))).boxed()
    }

    fn watch(&self, sid: &str) -> Option<Watch> {
        Admission::watch(&self.people, sid)
    }
}

/// A key without an end has one by which every clock will have been replaced: 9999-12-31T23:59:59Z.
const NO_END: Millis = Millis(253_402_300_799_000);

impl Doors {
    fn key(&self, scheme: Scheme, token: &str) -> Result<Admitted, Refusal> {
        // A key is bound to nothing that could be proven.
        if scheme != Scheme::Bearer {
            return Err(Refusal::Invalid);
        }
        let key = self.keys.authenticate(token).map_err(|_| Refusal::Invalid)?;
        if !key.has(Scope::Agents) {
            return Err(Refusal::Forbidden);
        }
        let exp = key.expires_at.unwrap_or(NO_END);
        let watch = Watch { revoked: self.keys.ended(token).boxed(), grant: None };
        Ok(Admitted { who: Who { subject: Subject::of_key(key), exp }, watch })
    }
}

fn refusal(error: &Error) -> Refusal {
    if error.kind == Kind::Unavailable { Refusal::Unavailable } else { Refusal::Invalid }
}

/// A person or a device that was let in.
pub struct Admitted {
    pub who: Who,
    pub watch: Watch,
}

/// What becomes of the session, or of the device, while its socket is open.
pub struct Watch {
    /// Resolves once the session is revoked, or the device not let in any more.
    pub revoked: BoxFuture<'static, ()>,
    /// The person as its role and grants stand; a device has none.
    pub grant: Option<watch::Receiver<Arc<Person>>>,
}

impl std::fmt::Debug for Admitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admitted").field("who", &self.who).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}
