//! Geofences: areas that devices and incidents enter and leave.
//!
//! Features report the locations of their subjects ([`Geofences::observe`], which never waits). The actor compares each
//! location with the stored memberships and publishes `geofence.entered` and `geofence.left`. The memberships are
//! stored together with each event, so a restart publishes nothing twice. A subject that is inside a fence when the
//! fence is created, changed or activated enters it; one that is inside a fence that is deleted or deactivated leaves
//! it.

mod actor;
mod checks;
mod handlers;
mod inbox;
mod messages;
mod record;
mod service;
mod state;
#[cfg(test)]
mod tests;

pub use actor::GeofenceOptions;
pub use messages::{CreatedFence, FencePatch, NewFence};
pub use record::{AppliesTo, Audience, Fence, Observation, Subject, SubjectInside, SubjectKind};
pub use service::{Geofences, LocationObserver};
