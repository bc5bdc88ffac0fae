//! Requests and responses of alerts.

use muster_core::{Error, Kind, Millis};
use muster_network::alert::{ResponseType, Scope};
use muster_network::incident::{AlertTexts, Draft};
use muster_request::Request;
use serde_json::Value;
use utoipa::ToSchema;

use crate::alert_texts::TextsBody;
use crate::governance::DecisionFields;
use crate::parameters::{NoteFields, RequiredNote};

/// The content of an alert. Fields that are left out are taken from the incident.
#[derive(Debug, Request)]
#[request(schema = AlertDraft, may_be_empty, example = {
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
    /// Recommended actions (CAP `responseType`): `Shelter`, `Evacuate`, `Prepare`, `Execute`, `Avoid`, `Monitor`,
    /// `Assess`, `AllClear` (ends the published alert), `None`.
    #[request(default, schema = Vec<String>)]
    response_types: Vec<ResponseType>,
    /// Radius in metres, 1 to 1,000,000, for an incident at a point. By default that of the incident's kind in the
    /// settings (`incidents.point_radius_m`).
    radius_m: Option<f64>,
    #[request(flatten)]
    texts: TextsBody,
    /// Checks the request and returns the alert as it would be published, with 200; nothing is stored.
    #[request(default = false)]
    pub dry_run: bool,
}

impl From<DraftBody> for Draft {
    fn from(body: DraftBody) -> Self {
        let DraftBody { scope, restriction, addresses, note, response_types, radius_m, texts, dry_run: _ } = body;
        Self { scope, restriction, addresses, note, response_types, radius_m, texts: texts.into() }
    }
}

/// Texts of an alert that waits. What is left out stays as it is; null removes an optional text.
#[derive(Debug, Request)]
#[request(schema = AlertPatch, example = { "headline": "Flood: leave the lower town now" })]
pub struct PatchAlertBody {
    language: Option<String>,
    audience: Option<Option<String>>,
    headline: Option<String>,
    description: Option<Option<String>>,
    instruction: Option<Option<String>>,
    /// End of validity, RFC 3339.
    #[request(schema = String)]
    expires: Option<Millis>,
    /// Address of further information, `https://…`.
    web: Option<Option<String>>,
    contact: Option<Option<String>>,
}

impl From<PatchAlertBody> for AlertTexts {
    fn from(body: PatchAlertBody) -> Self {
        let PatchAlertBody { language, audience, headline, description, instruction, expires, web, contact } = body;
        Self { language, audience, headline, description, instruction, expires, web, contact }
    }
}

/// The texts of an all-clear, and a note for recipients.
#[derive(Debug, Request)]
#[request(schema = AllClearAlert, may_be_empty, example = { "headline": "All clear for the lower town" })]
pub struct AllClearBody {
    #[request(flatten)]
    pub note: NoteFields,
    #[request(flatten)]
    pub texts: TextsBody,
}

/// The texts of a Cancel, and why the alert is called off.
#[derive(Debug, Request)]
#[request(schema = CancelAlert, example = { "note": "the wrong town" })]
pub struct CancelBody {
    #[request(flatten)]
    pub note: RequiredNote,
    #[request(flatten)]
    pub texts: TextsBody,
}

/// The confirmation of an alert. It may be empty, but for an alert that waits for an approval.
#[derive(Debug, Request)]
#[request(may_be_empty)]
pub struct ConfirmBody {
    /// At most 1,000 characters.
    #[request(chars = 0..=1000)]
    pub comment: Option<String>,
    #[request(flatten)]
    pub decision: DecisionFields,
}

/// The rejection of an alert.
#[derive(Debug, Request)]
#[request(example = { "note": "the area is too large" })]
pub struct RejectBody {
    #[request(flatten)]
    pub note: RequiredNote,
    #[request(flatten)]
    pub decision: DecisionFields,
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
    /// Incidents as the sender names them (CAP `incidents`).
    pub incidents: Vec<String>,
    pub note: Option<String>,
    /// CAP `info`: event, category, urgency, severity, certainty, headline, area and the other elements.
    #[schema(value_type = Option<Object>)]
    pub info: Option<Value>,
    /// Identifier of the user who published, proposed or imported the alert, or changed its text last.
    pub made_by: String,
    pub made_at: String,
    /// Identifier of the user who confirmed or rejected the alert.
    pub decided_by: Option<String>,
    pub reason: Option<String>,
    /// Time until which the alert waits to be confirmed, or for the message that it refers to. A Cancel or all-clear waits
    /// as long as the alert that it ends is in force.
    pub waits_until: Option<String>,
    /// What an alert that waits lacks: `second_person`, because a message of its chain is public and Severe or Extreme, or
    /// `permission`, because who caused it has no `alerts:publish`.
    pub waits_for: Option<String>,
    /// `apr_…`: the approval whose decisions are those on the alert. Null for an alert without one.
    pub approval_id: Option<String>,
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
    /// What the document contains that is valid but probably not meant, each with its place, such as a circle of radius
    /// 0, which is a point.
    pub warnings: Vec<String>,
    /// CAP message of the incident that waits to be confirmed or rejected, because the import ends or changes an alert
    /// that is published here.
    #[schema(value_type = Option<Object>)]
    pub pending_alert: Option<Value>,
}

/// Returns the error of a change that was reported without its alert.
pub fn missing() -> Error {
    Error::new(Kind::Internal, "a change was answered without its alert")
}
