//! Incidents, from their report to their closure, and the alerts published for them.
//!
//! One actor owns both, because a change of an incident may publish, update or cancel its alert in the same batch.

mod access;
mod actor;
mod alert_builder;
mod alert_changes;
mod alert_queries;
mod alert_texts;
mod archive;
mod change;
mod checks;
mod critical;
mod documents;
mod edit;
mod events;
mod expiry;
mod fields;
mod geometry;
mod import;
mod kind;
mod lifecycle;
mod locations;
mod messages;
mod plan;
mod priority;
mod publish;
mod read_handlers;
mod record;
mod release;
mod report;
mod resources;
mod restrictions;
mod service;
mod settings;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod timeline;
mod transition;
mod write_handlers;

pub use actor::{IncidentActor, IncidentOptions};
pub use alert_builder::Draft;
pub use alert_texts::AlertTexts;
pub use change::{MAX_TIMELINE, ResourceRequest};
pub use critical::CriticalIncidents;
pub use documents::ImportedDocument;
pub use edit::{Clearable, EditRequest, IncidentEdit};
pub use fields::{Ack, Attachment, CapLink, Casualties, Geocode, PriorityOverride, ReportedVia, Visibility};
pub use import::ImportOutcome;
pub use kind::IncidentKind;
pub use lifecycle::{Action, State};
pub use messages::{AlertFilter, IncidentDetails, IncidentResponse};
pub use priority::priority;
pub use record::{Audience, Incident};
pub use report::NewReport;
pub use resources::{MAX_RESOURCES, NewResource, Resource, ResourceChange, ResourceStatus};
pub use service::Incidents;
pub use settings::{IncidentSettings, PointRadii};
pub use state::IncidentFilter;
pub use timeline::TimelineEntry;
pub use transition::{CLOSE_AFTER, IncidentTransition, MAX_SILENCE, REOPEN_WITHIN, TransitionDetails};
