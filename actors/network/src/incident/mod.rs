//! Incidents, from their report to their end, and the alerts that tell of them.
//!
//! One actor owns both: what changes an incident may publish, update or cancel its alert, in one batch.

mod access;
mod act;
mod actor;
mod alerts;
mod archive;
mod change;
mod checks;
mod documents;
mod edit;
mod events;
mod import;
mod kind;
mod messages;
mod moves;
mod parts;
mod places;
mod plan;
mod priority;
mod publish;
mod read;
mod record;
mod report;
mod resources;
mod service;
mod settings;
mod shape;
mod sight;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod tick;
mod timeline;
mod warn;
mod write;

pub use act::{CLOSE_AFTER, MAX_SILENCE, More, Move, REOPEN_WITHIN};
pub use actor::{IncidentActor, Options};
pub use change::{MAX_TIMELINE, ResourceAct};
pub use edit::{Edit, Set};
pub use import::Fate;
pub use kind::IncidentKind;
pub use messages::{AlertFilter, Answer};
pub use moves::{Action, State};
pub use parts::{Ack, Attachment, CapLink, Casualties, Geocode, PriorityOverride, Via, Visibility};
pub use priority::priority;
pub use record::{Audience, Incident};
pub use report::Report;
pub use resources::{MAX_RESOURCES, NewResource, Resource, ResourceChange, ResourceStatus};
pub use service::Incidents;
pub use settings::Settings;
pub use state::Filter;
pub use timeline::Entry;
pub use warn::Draft;
