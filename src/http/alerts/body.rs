//! What is sent and shown of alerts.

use muster_core::{Error, Kind, Millis};
use muster_network::alert::{ResponseType, Scope};
use muster_network::incident::Draft;
use muster_request::Request;
use serde_json::Value;
use utoipa::ToSchema;

/// What an alert is to say; what is left out follows from the incident.
#[derive(Debug, Request)]
#[request(schema = AlertDraft, may_be_empty, into = Draft, example = {
    "headline": "Flood: leave the lower town", "instruction": "Go to the school on the hill.",
    "response_types": ["Evacuate"], "language": "en-US"
})]
pub struct DraftBody {
    /// `Public` (default), `Restricted` (needs `restriction`) or `Private` (needs `addresses`).
    #[request(schema = String)]
    scope: Option<Scope>,
    restriction: Option<String>,
    #[request(default)]
    addresses: Vec<String>,
    note: Option<String>,
    /// `en-US` where it is left out.
    language: Option<String>,
    /// `Shelter`, `Evacuate`, `Prepare`, `Execute`, `Avoid`, `Monitor`, `Assess`, `AllClear`, `None`.
    #[request(default, schema = Vec<String>)]
    response_types: Vec<ResponseType>,
    audience: Option<String>,
    /// The incident's title where it is left out.
    headline: Option<String>,
    /// The incident's summary where it is left out.
    description: Option<String>,
    instruction: Option<String>,
    /// RFC 3339; the incident's, else 24 h from now, where it is left out.
    #[request(schema = String)]
    expires: Option<Millis>,
    web: Option<String>,
    contact: Option<String>,
}

/// Confirms an alert; it has no members.
#[derive(Debug, Request)]
#[request(may_be_empty)]
pub struct ConfirmBody {}

/// Why an alert is not to be published.
#[derive(Debug, Request)]
pub struct RejectBody {
    #[request(example = "the area is too large")]
    #[schema(value_type = String)]
    pub reason: Option<String>,
}

/// A CAP message.
#[derive(Debug, ToSchema)]
#[schema(as = Alert)]
#[allow(dead_code, reason = "describes what the record's own serialisation says")]
pub struct AlertBody {
    pub id: String,
    pub incident_id: Option<String>,
    /// `published` here, or `imported`.
    pub origin: String,
    /// `pending_second`, `published`, `superseded`, `expired`, `rejected`, `lapsed`, `withdrawn`, `stored`, `parked`.
    pub state: String,
    pub identifier: String,
    pub sender: String,
    pub sent: String,
    /// `Alert`, `Update`, `Cancel`, `Ack` or `Error`.
    pub msg_type: String,
    pub status: String,
    pub scope: String,
    pub restriction: Option<String>,
    pub addresses: Vec<String>,
    /// `{sender, identifier, sent}` of every message of its chain before it, oldest first.
    #[schema(value_type = Vec<Object>)]
    pub references: Vec<Value>,
    pub note: Option<String>,
    /// What it says: event, category, urgency, severity, certainty, headline, area and the rest of CAP's `info`.
    #[schema(value_type = Option<Object>)]
    pub info: Option<Value>,
    /// Who published, proposed or imported it.
    pub made_by: String,
    pub made_at: String,
    /// Who confirmed or rejected it.
    pub decided_by: Option<String>,
    pub reason: Option<String>,
    /// Until when it waits for a second person, or for the message that it refers to.
    pub waits_until: Option<String>,
    pub version: u64,
}

/// A page of alerts.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes what is answered")]
pub struct AlertList {
    pub alerts: Vec<AlertBody>,
    /// For the next page; null at the end.
    pub next_cursor: Option<String>,
}

/// What became of an imported document.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes what is answered")]
pub struct Imported {
    pub alert: AlertBody,
    /// The incident that it opened or changed.
    pub incident_id: Option<String>,
    /// `taken`: it opened or changed an incident; `stored`: it changes nothing; `known`: it was here already.
    pub fate: String,
}

/// The refusal of an answer that lacks what it was about.
pub fn missing() -> Error {
    Error::new(Kind::Internal, "a change was answered without its alert")
}
