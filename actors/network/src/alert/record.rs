//! What is stored of an alert, and shown of it.

use muster_geo::{BBox, Geometry};
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use muster_cap::{Category, Certainty, MsgType, ResponseType, Scope, Severity, Status, Urgency};
use muster_core::Millis;

/// Names a CAP message: the triple of its `references`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Reference {
    pub sender: String,
    pub identifier: String,
    /// To the second, as CAP writes it.
    pub sent: Millis,
}

/// Where an alert stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// Proposed; a second person has to confirm it.
    PendingSecond,
    Published,
    /// A later message of its chain stands in its place.
    Superseded,
    /// Its time is over.
    Expired,
    /// A person refused it.
    Rejected,
    /// Nobody confirmed it in time.
    Lapsed,
    /// Its incident changed before it was confirmed.
    Withdrawn,
    /// Imported, and kept.
    Stored,
    /// Imported; the message that it refers to is not here yet.
    Parked,
}

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Published,
    Imported,
}

/// What an alert says, in one language.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertInfo {
    /// RFC 3066, such as `en-US`.
    pub language: String,
    pub event: String,
    pub category: Vec<Category>,
    pub response_types: Vec<ResponseType>,
    pub urgency: Urgency,
    pub severity: Severity,
    pub certainty: Certainty,
    pub audience: Option<String>,
    pub effective: Option<Millis>,
    pub onset: Option<Millis>,
    pub expires: Option<Millis>,
    pub sender_name: Option<String>,
    pub headline: Option<String>,
    pub description: Option<String>,
    pub instruction: Option<String>,
    pub web: Option<String>,
    pub contact: Option<String>,
    pub area_desc: Option<String>,
    pub geometry: Option<Geometry>,
    pub bbox: Option<BBox>,
    /// Scheme and value.
    pub geocodes: Vec<(String, String)>,
}

/// A CAP message, published here or imported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertRecord {
    pub id: String,
    pub incident_id: Option<String>,
    pub origin: Origin,
    pub state: AlertState,
    pub identifier: String,
    pub sender: String,
    pub sent: Millis,
    pub msg_type: MsgType,
    pub status: Status,
    pub scope: Scope,
    pub restriction: Option<String>,
    pub addresses: Vec<String>,
    /// The messages of its chain before it, oldest first.
    pub references: Vec<Reference>,
    pub note: Option<String>,
    /// The incidents that it is about, as its sender names them (CAP's `incidents`).
    #[serde(default)]
    pub incidents: Vec<String>,
    /// The first one, where it came in several languages; none in a bare Cancel.
    pub info: Option<AlertInfo>,
    /// Who published, proposed or imported it.
    pub made_by: String,
    pub made_at: Millis,
    /// The second person: who confirmed or rejected it.
    pub decided_by: Option<String>,
    /// Why it was rejected.
    pub reason: Option<String>,
    /// Until when a proposal waits, or what is parked is kept.
    pub waits_until: Option<Millis>,
    pub version: u64,
}

impl Record for AlertRecord {
    const TREE: Tree = Tree::Alerts;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl AlertRecord {
    pub fn reference(&self) -> Reference {
        Reference { sender: self.sender.clone(), identifier: self.identifier.clone(), sent: self.sent }
    }

    /// Left the house, or came into it.
    pub fn is_sent(&self) -> bool {
        use AlertState::{Expired, Published, Stored, Superseded};
        matches!(self.state, Published | Superseded | Expired | Stored)
    }

    /// Published here, for everybody, to be acted on: all that ever reaches the public's channel and feed.
    pub fn is_public(&self) -> bool {
        self.origin == Origin::Published
            && self.is_sent()
            && self.scope == Scope::Public
            && self.status == Status::Actual
    }

    /// Says what is to be done now: no Cancel, not replaced, not over.
    pub fn is_active(&self, now: Millis) -> bool {
        let stands = matches!(self.state, AlertState::Published | AlertState::Stored);
        let says = matches!(self.msg_type, MsgType::Alert | MsgType::Update) && self.status == Status::Actual;
        stands && says && self.expires().is_none_or(|expires| expires > now)
    }

    /// Whether a later message of its chain may follow: an actual warning of ours that stands.
    pub fn is_live(&self) -> bool {
        let stands = self.origin == Origin::Published && self.state == AlertState::Published;
        stands && matches!(self.msg_type, MsgType::Alert | MsgType::Update) && !self.is_all_clear()
    }

    fn is_all_clear(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.response_types.contains(&ResponseType::AllClear))
    }

    pub fn severity(&self) -> Option<Severity> {
        self.info.as_ref().map(|info| info.severity)
    }

    pub fn bbox(&self) -> Option<BBox> {
        self.info.as_ref().and_then(|info| info.bbox)
    }

    pub fn expires(&self) -> Option<Millis> {
        self.info.as_ref().and_then(|info| info.expires)
    }

    /// When time alone changes it.
    pub fn due(&self) -> Option<Millis> {
        match self.state {
            AlertState::PendingSecond | AlertState::Parked => self.waits_until,
            AlertState::Published | AlertState::Stored => self.expires(),
            _ => None,
        }
    }
}

/// A change of an alert, new or old.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertChange {
    pub after: AlertRecord,
    pub at: Millis,
    /// The name of its event; `None` where nobody is told.
    pub event: Option<&'static str>,
    /// Identifiers of the records that it replaces.
    pub supersedes: Vec<String>,
    /// The document as it was received.
    pub document: Option<String>,
}

impl AlertChange {
    pub fn new(after: AlertRecord, at: Millis, event: Option<&'static str>) -> Self {
        Self { after, at, event, supersedes: Vec::new(), document: None }
    }

    /// The record moved on to another state.
    pub fn moved(alert: &AlertRecord, state: AlertState, at: Millis, event: Option<&'static str>) -> Self {
        let after = AlertRecord { state, version: alert.version + 1, waits_until: None, ..alert.clone() };
        Self::new(after, at, event)
    }
}

/// An imported document, as it was received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    pub xml: String,
}

impl Record for Document {
    const TREE: Tree = Tree::Alerts;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl Document {
    /// Beside the record, and out of the way of who reads records.
    pub fn key(alert: &str) -> Vec<u8> {
        format!("xml/{alert}").into_bytes()
    }
}
