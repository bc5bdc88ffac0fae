//! The same suite of the live feed with sockets under TLS, and what only they do.
#![allow(clippy::duplicate_mod, reason = "the same tests, with another server")]

#[path = "realtime/channels.rs"]
mod channels;
#[path = "realtime/faults.rs"]
mod faults;
#[path = "realtime/limits.rs"]
mod limits;
#[path = "realtime/sessions.rs"]
mod sessions;
#[path = "realtime/tls.rs"]
mod tls;

mod world {
    pub(super) use crate::realtime::world::{STALLED_KIB, publish, publish_with};
    use crate::support::server::Muster;

    /// Number of clients that reconnect at the same time: each also costs both sides a TLS handshake.
    pub(super) const RECONNECTS: usize = 50;

    pub(super) fn server(settings: &str) -> Muster {
        crate::realtime::world::with_sources(Muster::start_under_tls(settings))
    }
}
