//! The same tests of the live feed on its other lane: clients see no difference.
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
    pub(super) use crate::realtime::world::{STALLED_KIB, publish, publish_with};
    use crate::support::server::Muster;

    pub(super) fn server(settings: &str) -> Muster {
        crate::realtime::world::server_on("actix", settings)
    }
}
