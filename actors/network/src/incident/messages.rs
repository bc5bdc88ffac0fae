//! Messages of the incident actor and their responses.

use std::sync::Arc;

use actix::Message;
use muster_geo::BBox;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::alert_builder::Draft;
use super::alert_texts::AlertTexts;
use super::change::ResourceRequest;
use super::edit::IncidentEdit;
use super::import::ImportOutcome;
use super::record::Incident;
use super::report::NewReport;
use super::state::IncidentFilter;
use super::transition::IncidentTransition;
use crate::alert::{AlertAction, AlertRecord, AlertState, Severity};
use muster_core::guard::ApprovalStep;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;
use muster_core::{Error, Millis};
use muster_feed::{Denied, SnapshotRequest, StateItem};
use muster_identity::By;

/// A requested change of incidents or alerts.
#[derive(Debug)]
pub(super) enum IncidentRequest {
    Report(Box<NewReport>),
    Transition {
        id: String,
        if_match: IfMatch,
        transition: Box<IncidentTransition>,
    },
    Edit {
        id: String,
        if_match: IfMatch,
        edit: Box<IncidentEdit>,
        note: Option<String>,
        alert: Box<AlertTexts>,
    },
    Resources {
        id: String,
        if_match: IfMatch,
        what: ResourceRequest,
    },
    Note {
        id: String,
        text: String,
        data: Value,
    },
    Publish {
        id: String,
        draft: Box<Draft>,
    },
    EndAlert {
        alert: String,
        action: AlertAction,
        note: Option<String>,
        texts: Box<AlertTexts>,
    },
    EditAlert {
        alert: String,
        if_match: IfMatch,
        texts: Box<AlertTexts>,
    },
    Confirm {
        alert: String,
        if_match: IfMatch,
    },
    Reject {
        alert: String,
        note: String,
    },
    /// A proposal's approval has ended without an execution.
    EndWaiting {
        alert: String,
        approval: String,
        why: String,
    },
    Import {
        message: Box<AlertRecord>,
        xml: String,
    },
}

/// Whether a change is made or only shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// The change is made.
    #[default]
    Apply,
    /// The change is checked and its response is returned; nothing is stored.
    DryRun,
}

impl IncidentRequest {
    /// Returns the incident that the request names.
    pub(super) fn incident(&self) -> Option<&str> {
        match self {
            Self::Transition { id, .. }
            | Self::Edit { id, .. }
            | Self::Resources { id, .. }
            | Self::Note { id, .. }
            | Self::Publish { id, .. } => Some(id),
            Self::EndAlert { .. } | Self::EditAlert { .. } | Self::Confirm { .. } | Self::Reject { .. } => None,
            Self::EndWaiting { .. } | Self::Report(_) | Self::Import { .. } => None,
        }
    }

    /// Returns the alert that the request names.
    pub(super) fn alert(&self) -> Option<&str> {
        match self {
            Self::EndAlert { alert, .. }
            | Self::EditAlert { alert, .. }
            | Self::Confirm { alert, .. }
            | Self::Reject { alert, .. }
            | Self::EndWaiting { alert, .. } => Some(alert),
            _ => None,
        }
    }

    /// Returns whether the request decides on a proposal, rather than making one.
    pub(super) fn decides(&self) -> bool {
        matches!(self, Self::Confirm { .. } | Self::Reject { .. })
    }
}

/// Applies a change; answered when it is durable.
#[derive(Debug, Message)]
#[rtype(result = "Result<IncidentResponse, Error>")]
pub(super) struct WriteIncident {
    pub by: By,
    pub idempotency: Option<Idempotency>,
    pub mode: WriteMode,
    pub what: IncidentRequest,
    /// The change of the approval that a proposal waits for.
    pub step: Option<ApprovalStep>,
}

/// Response to a change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IncidentResponse {
    /// The incident after the change.
    pub incident: Option<Arc<Incident>>,
    /// The alert concerned.
    pub alert: Option<Arc<AlertRecord>>,
    /// The message that the change published, if it published one.
    #[serde(default)]
    pub published_alert: Option<Arc<AlertRecord>>,
    /// The message of the incident that waits to be confirmed.
    #[serde(default)]
    pub pending_alert: Option<Arc<AlertRecord>>,
    /// Whether the report was attached to an existing incident.
    pub attached: bool,
    /// Outcome of an import.
    #[serde(rename = "fate")]
    pub outcome: Option<ImportOutcome>,
    /// Whether this repeats the response to an earlier request with the same idempotency key.
    #[serde(skip)]
    pub replayed: bool,
}

/// An incident with what waits for it.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentDetails {
    /// The incident.
    pub incident: Arc<Incident>,
    /// Its message that waits to be confirmed, if the caller may see it.
    pub pending_alert: Option<Arc<AlertRecord>>,
}

/// Returns the approval that a proposal waits for.
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<String>, Error>")]
pub(super) struct GetAwaitedApproval {
    pub alert: String,
}

/// Lists the proposals that wait for an approval, with that approval.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<(String, String)>, Error>")]
pub(super) struct ListAwaitedApprovals;

/// Returns an incident.
#[derive(Debug, Message)]
#[rtype(result = "Result<IncidentDetails, Error>")]
pub(super) struct GetIncident {
    pub id: String,
    pub by: By,
}

/// Returns a page of incidents.
#[derive(Debug, Message)]
#[rtype(result = "Result<Page<Arc<Incident>>, Error>")]
pub(super) struct ListIncidents {
    pub filter: IncidentFilter,
    pub page: PageParams,
    pub by: By,
}

/// Returns an alert.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<AlertRecord>, Error>")]
pub(super) struct GetAlert {
    pub id: String,
    pub by: By,
}

/// Filter of alerts; all fields that are set must match.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AlertFilter {
    /// Whether the alert is in force.
    pub active: Option<bool>,
    /// Least severity.
    pub severity: Option<Severity>,
    /// Bounding box that the alert's area must touch.
    pub bbox: Option<BBox>,
    /// Incident.
    pub incident: Option<String>,
    /// State.
    pub state: Option<AlertState>,
}

/// Returns the entries of the public feed, newest first, and the time of its last change.
#[derive(Debug, Message)]
#[rtype(result = "Result<(Vec<Arc<AlertRecord>>, Millis), Error>")]
pub(super) struct GetAlertFeed {
    /// Largest number of entries.
    pub limit: usize,
    pub by: By,
}

/// Returns a page of alerts.
#[derive(Debug, Message)]
#[rtype(result = "Result<Page<Arc<AlertRecord>>, Error>")]
pub(super) struct ListAlerts {
    pub filter: AlertFilter,
    pub page: PageParams,
    pub by: By,
}

/// Returns the newest message of an incident, or a draft if there is none.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<AlertRecord>, Error>")]
pub(super) struct GetNewestAlert {
    pub id: String,
    pub by: By,
}

/// Takes a snapshot of the state behind a channel. If it is dropped unanswered, it answers `Unavailable`.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct TakeSnapshot(pub(super) Option<SnapshotRequest>);

impl TakeSnapshot {
    pub(super) fn answer(mut self, state: Result<Vec<StateItem>, Denied>) {
        if let Some(params) = self.0.take() {
            params.reply.send(state);
        }
    }
}

impl Drop for TakeSnapshot {
    fn drop(&mut self) {
        if let Some(params) = self.0.take() {
            params.reply.send(Err(Denied::Unavailable));
        }
    }
}
