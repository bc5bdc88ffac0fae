//! Requests and responses of alerts.

use muster_core::{Error, Kind, Millis};
use muster_network::alert::{ResponseType, Scope};
use muster_network::incident::Draft;
use muster_request::Request;
use serde_json::Value;
use utoipa::ToSchema;

/// The content of an alert. Fields that are left out are taken from the incident.
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
    /// Language of the texts; `en-US` by default.
    language: Option<String>,
    /// Recommended actions (CAP `responseType`): `Shelter`, `Evacuate`, `Prepare`, `Execute`, `Avoid`, `Monitor`,
    /// `Assess`, `AllClear`, `None`.
    #[request(default, schema = Vec<String>)]
    response_types: Vec<ResponseType>,
    audience: Option<String>,
    /// Headline; the incident's title by default.
    headline: Option<String>,
    /// Description; the incident's summary by default.
    description: Option<String>,
    instruction: Option<String>,
    /// End of validity, RFC 3339. By default that of the incident, otherwise 24 hours from now.
    #[request(schema = String)]
    expires: Option<Millis>,
    web: Option<String>,
    contact: Option<String>,
}

/// The confirmation of an alert, an object without fields.
#[derive(Debug, Request)]
#[request(may_be_empty)]
pub struct ConfirmBody {}

/// The rejection of an alert.
#[derive(Debug, Request)]
pub struct RejectBody {
    #[request(example = "the area is too large")]
    #[schema(value_type = String)]
    pub reason: Option<String>,
}

/// An alert as a CAP message.
#[derive(Debug, ToSchema)]
#[schema(as = Alert)]
#[allow(dead_code, reason = "describes the record's own serialization")]
pub struct AlertBody {
    pub id: String,
    pub incident_id: Option<String>,
    /// `published` (created on this server) or `imported`.
    pub origin: String,
    /// State: `pending_second`, `published`, `superseded`, `expired`, `rejected`, `lapsed`, `withdrawn`, `stored` or
    /// `parked`.
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
    /// `{sender, identifier, sent}` of every earlier message of the chain, oldest first.
    #[schema(value_type = Vec<Object>)]
    pub references: Vec<Value>,
    pub note: Option<String>,
    /// CAP `info`: event, category, urgency, severity, certainty, headline, area and the other elements.
    #[schema(value_type = Option<Object>)]
    pub info: Option<Value>,
    /// Identifier of the user who published, proposed or imported the alert.
    pub made_by: String,
    pub made_at: String,
    /// Identifier of the user who confirmed or rejected the alert.
    pub decided_by: Option<String>,
    pub reason: Option<String>,
    /// Time until which the alert waits for a second person, or for the message that it refers to.
    pub waits_until: Option<String>,
    pub version: u64,
}

/// A page of alerts.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a response")]
pub struct AlertList {
    pub alerts: Vec<AlertBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The outcome of an import.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a response")]
pub struct Imported {
    pub alert: AlertBody,
    /// Identifier of the incident that the document created or changed.
    pub incident_id: Option<String>,
    /// `taken`: the document created or changed an incident; `stored`: it was only stored; `known`: it was imported
    /// before.
    pub fate: String,
}

/// Returns the error of a change that was reported without its alert.
pub fn missing() -> Error {
    Error::new(Kind::Internal, "a change was answered without its alert")
}
