//! What is sent and shown of alerts.

use muster_core::{Error, Kind};
use muster_network::incident::Draft;
use serde_json::Value;
use utoipa::ToSchema;

use crate::body::{Fields, FromJson};

/// What an alert is to say; what is left out follows from the incident.
#[derive(Debug, ToSchema)]
#[schema(as = AlertDraft)]
#[allow(dead_code, reason = "describes what is read")]
pub struct DraftSchema {
    /// `Public` (default), `Restricted` (needs `restriction`) or `Private` (needs `addresses`).
    pub scope: Option<String>,
    pub restriction: Option<String>,
    pub addresses: Option<Vec<String>>,
    pub note: Option<String>,
    /// `en-US` where it is left out.
    pub language: Option<String>,
    /// `Shelter`, `Evacuate`, `Prepare`, `Execute`, `Avoid`, `Monitor`, `Assess`, `AllClear`, `None`.
    pub response_types: Option<Vec<String>>,
    pub audience: Option<String>,
    /// The incident's title where it is left out.
    pub headline: Option<String>,
    /// The incident's summary where it is left out.
    pub description: Option<String>,
    pub instruction: Option<String>,
    /// RFC 3339; the incident's, else 24 h from now, where it is left out.
    pub expires: Option<String>,
    pub web: Option<String>,
    pub contact: Option<String>,
}

/// What an alert is to say.
#[derive(Debug)]
pub struct DraftBody(pub Draft);

impl FromJson for DraftBody {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self(Draft {
            scope: fields.choice("scope"),
            restriction: fields.string("restriction"),
            addresses: fields.choice("addresses").unwrap_or_default(),
            note: fields.string("note"),
            language: fields.string("language"),
            response_types: fields.choice("response_types").unwrap_or_default(),
            audience: fields.string("audience"),
            headline: fields.string("headline"),
            description: fields.string("description"),
            instruction: fields.string("instruction"),
            expires: fields.choice("expires"),
            web: fields.string("web"),
            contact: fields.string("contact"),
        })
    }
}

/// A confirmation says nothing but that.
#[derive(Debug, ToSchema)]
pub struct ConfirmBody {}

impl FromJson for ConfirmBody {
    const MAY_BE_EMPTY: bool = true;

    fn read(_: &mut Fields<'_>) -> Self {
        Self {}
    }
}

/// Why an alert is not to be published.
#[derive(Debug, ToSchema)]
pub struct RejectBody {
    #[schema(value_type = String)]
    pub reason: Option<String>,
}

impl FromJson for RejectBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self { reason: fields.string("reason") }
    }
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
