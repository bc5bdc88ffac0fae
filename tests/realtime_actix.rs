//! The same suite of the live feed on its other lane: whoever uses the feed cannot tell them apart.
#![allow(clippy::duplicate_mod, reason = "the same tests, with another server")]

#[path = "realtime/channels.rs"]
mod channels;
#[path = "realtime/faults.rs"]
mod faults;
#[path = "realtime/limits.rs"]
mod limits;
#[path = "realtime/sessions.rs"]
mod sessions;

mod world {
    pub(super) use crate::realtime::world::{STALLED_KIB, tell, tell_with};
    use crate::support::server::Muster;

    pub(super) fn server(settings: &str) -> Muster {
        crate::realtime::world::server_on("actix", settings)
    }
}
