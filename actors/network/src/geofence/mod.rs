//! Geofences: areas that devices and incidents enter and leave.
//!
//! Features report where their subjects are ([`Geofences::observe`], which never waits); the actor compares with who was
//! inside, and publishes `geofence.entered` and `geofence.left`. Who is inside is stored together with each event, so that
//! a restart publishes nothing twice. A subject that is inside a fence when that is made, changed or switched on enters it;
//! one that is inside a fence that is deleted or switched off leaves it.

mod actor;
mod checks;
mod inbox;
mod messages;
mod record;
mod requests;
mod service;
mod state;
#[cfg(test)]
mod tests;

pub use actor::GeofenceOptions;
pub use messages::{Change, Created, NewFence};
pub use record::{AppliesTo, Audience, Fence, Inside, Observation, Subject, SubjectKind};
pub use service::{Geofences, Watcher};
