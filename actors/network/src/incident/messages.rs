//! Requests to the actor of incidents and alerts, and its answers.

use std::sync::Arc;

use actix::Message;
use muster_geo::BBox;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::alert_builder::Draft;
use super::change::ResourceRequest;
use super::edit::IncidentEdit;
use super::import::ImportOutcome;
use super::record::Incident;
use super::report::NewReport;
use super::state::IncidentFilter;
use super::transition::IncidentTransition;
use crate::alert::{AlertRecord, Severity};
use muster_core::Error;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageAsk};
use muster_core::precondition::IfMatch;
use muster_feed::{Denied, SnapshotRequest, StateItem};
use muster_identity::By;

/// A change.
#[derive(Debug)]
pub(super) enum IncidentRequest {
    Report(Box<NewReport>),
    Transition { id: String, if_match: IfMatch, transition: Box<IncidentTransition> },
    Edit { id: String, if_match: IfMatch, edit: Box<IncidentEdit>, note: Option<String> },
    Resources { id: String, if_match: IfMatch, what: ResourceRequest },
    Note { id: String, text: String, data: Value },
    Publish { id: String, draft: Box<Draft> },
    Confirm { alert: String },
    Reject { alert: String, reason: String },
    Import { message: Box<AlertRecord>, xml: String },
}

impl IncidentRequest {
    /// The incident that it names.
    pub(super) fn incident(&self) -> Option<&str> {
        match self {
            Self::Transition { id, .. }
            | Self::Edit { id, .. }
            | Self::Resources { id, .. }
            | Self::Note { id, .. }
            | Self::Publish { id, .. } => Some(id),
            Self::Report(_) | Self::Confirm { .. } | Self::Reject { .. } | Self::Import { .. } => None,
        }
    }
}

/// Changes something; answered when it is durable.
#[derive(Debug, Message)]
#[rtype(result = "Result<IncidentResponse, Error>")]
pub(super) struct WriteIncident {
    pub by: By,
    pub idempotency: Option<Idempotency>,
    pub what: IncidentRequest,
}

/// What became of a change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IncidentResponse {
    /// The incident as it is now.
    pub incident: Option<Arc<Incident>>,
    /// The alert that it was about.
    pub alert: Option<Arc<AlertRecord>>,
    /// The report was one more of an incident that was there.
    pub attached: bool,
    /// Of an import.
    #[serde(rename = "fate")]
    pub outcome: Option<ImportOutcome>,
    /// This answer was given before, to the same `Idempotency-Key`.
    #[serde(skip)]
    pub replayed: bool,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<Incident>, Error>")]
pub(super) struct GetIncident {
    pub id: String,
    pub by: By,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Page<Arc<Incident>>, Error>")]
pub(super) struct ListIncidents {
    pub filter: IncidentFilter,
    pub page: PageAsk,
    pub by: By,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<AlertRecord>, Error>")]
pub(super) struct GetAlert {
    pub id: String,
    pub by: By,
}

/// Which alerts a list shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AlertFilter {
    /// Says what is to be done now, or does not.
    pub active: Option<bool>,
    /// This or graver.
    pub severity: Option<Severity>,
    pub bbox: Option<BBox>,
    pub incident: Option<String>,
    /// What the public's feed shows, and nothing else.
    pub public: Option<bool>,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Page<Arc<AlertRecord>>, Error>")]
pub(super) struct ListAlerts {
    pub filter: AlertFilter,
    pub page: PageAsk,
    pub by: By,
}

/// The newest message of an incident; a draft of one where there is none.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<AlertRecord>, Error>")]
pub(super) struct GetNewestAlert {
    pub id: String,
    pub by: By,
}

/// A request for the state of a channel. Dropped unanswered, it answers `Unavailable`.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct TakeSnapshot(pub(super) Option<SnapshotRequest>);

impl TakeSnapshot {
    pub(super) fn answer(mut self, state: Result<Vec<StateItem>, Denied>) {
        if let Some(ask) = self.0.take() {
            ask.reply.send(state);
        }
    }
}

impl Drop for TakeSnapshot {
    fn drop(&mut self) {
        if let Some(ask) = self.0.take() {
            ask.reply.send(Err(Denied::Unavailable));
        }
    }
}
