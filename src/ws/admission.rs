//! Who is let in: what the feed needs of whoever knows tokens and sessions.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_actors::Kind;
use muster_actors::identity::{Identity, Person, Scheme, Shown};
use tokio::sync::watch;

use super::protocol::{Refusal, Who};

/// Checks tokens of sessions.
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
                .map(|watch| Admitted { who: Who { person: admitted.person, exp: admitted.exp }, watch })
                .ok_or(Refusal::Invalid),
            Err(error) if error.kind == Kind::Unavailable => Err(Refusal::Unavailable),
            Err(_) => Err(Refusal::Invalid),
        };
        std::future::ready(admitted).boxed()
    }

    fn watch(&self, sid: &str) -> Option<Watch> {
        let watch = self.watch_session(sid)?;
        Some(Watch { revoked: watch.revoked.cancelled_owned().boxed(), grant: watch.grant })
    }
}

/// A person who was let in.
pub struct Admitted {
    pub who: Who,
    pub watch: Watch,
}

/// What becomes of the session while its socket is open.
pub struct Watch {
    /// Resolves once the session is revoked.
    pub revoked: BoxFuture<'static, ()>,
    /// The person as its role and grants stand.
    pub grant: watch::Receiver<Arc<Person>>,
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
