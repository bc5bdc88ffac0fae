//! The stored and public record of an alert.

use muster_geo::{BBox, Geometry};
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::state::{AlertState, WaitsFor};
use muster_cap::{Category, Certainty, MsgType, ResponseType, Scope, Severity, Status, Urgency};
use muster_core::Millis;

/// Reference to a CAP message: the triple of its `references`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Reference {
    /// Sender.
    pub sender: String,
    /// Identifier.
    pub identifier: String,
    /// Time of sending, to the second.
    pub sent: Millis,
}

/// Origin of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Published here.
    Published,
    /// Imported from elsewhere.
    Imported,
}

/// Content of an alert in one language (CAP `info`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertInfo {
    /// Language tag (RFC 3066), such as `en-US`.
    pub language: String,
    /// Event.
    pub event: String,
    /// Categories.
    pub category: Vec<Category>,
    /// Recommended responses.
    pub response_types: Vec<ResponseType>,
    /// Urgency.
    pub urgency: Urgency,
    /// Severity.
    pub severity: Severity,
    /// Certainty.
    pub certainty: Certainty,
    /// Intended audience.
    pub audience: Option<String>,
    /// Start of validity.
    pub effective: Option<Millis>,
    /// Expected onset.
    pub onset: Option<Millis>,
    /// End of validity.
    pub expires: Option<Millis>,
    /// Name of the sender for people.
    pub sender_name: Option<String>,
    /// Headline.
    pub headline: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Instruction.
    pub instruction: Option<String>,
    /// Address of further information.
    pub web: Option<String>,
    /// Contact.
    pub contact: Option<String>,
    /// Description of the area.
    pub area_desc: Option<String>,
    /// Area.
    pub geometry: Option<Geometry>,
    /// Bounding box, derived from the geometry.
    pub bbox: Option<BBox>,
    /// Codes of the area: scheme and value.
    pub geocodes: Vec<(String, String)>,
}

/// A CAP message, published here or imported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertRecord {
    /// Identifier, `alr_…`.
    pub id: String,
    /// Incident.
    pub incident_id: Option<String>,
    /// Origin.
    pub origin: Origin,
    /// State.
    pub state: AlertState,
    /// CAP identifier.
    pub identifier: String,
    /// CAP sender.
    pub sender: String,
    /// Time of sending, to the second.
    pub sent: Millis,
    /// CAP message type.
    pub msg_type: MsgType,
    /// CAP status.
    pub status: Status,
    /// CAP scope.
    pub scope: Scope,
    /// Restriction of the scope Restricted.
    pub restriction: Option<String>,
    /// Addressees of the scope Private.
    pub addresses: Vec<String>,
    /// Earlier messages of its chain, oldest first.
    pub references: Vec<Reference>,
    /// Note.
    pub note: Option<String>,
    /// Incidents as named by the sender (CAP `incidents`).
    #[serde(default)]
    pub incidents: Vec<String>,
    /// Content in the first language; `None` for a Cancel without content.
    pub info: Option<AlertInfo>,
    /// Principal that published, proposed or imported it.
    pub made_by: String,
    /// Time of creation.
    pub made_at: Millis,
    /// The second person, who confirmed or rejected it.
    pub decided_by: Option<String>,
    /// Reason of a rejection or withdrawal.
    pub reason: Option<String>,
    /// Time until which a proposal waits or a parked message is kept.
    pub waits_until: Option<Millis>,
    /// What a proposal lacks; absent in records of servers before it was stored.
    #[serde(default)]
    pub waits_for: Option<WaitsFor>,
    /// Approval (`apr_…`) of a proposal that broadcasts an extreme alert: its decisions are those of the proposal.
    #[serde(default)]
    pub approval_id: Option<String>,
    /// Version of the record.
    pub version: u64,
}

impl Record for AlertRecord {
    const TREE: Tree = Tree::Alerts;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl AlertRecord {
    /// Returns the reference by which other messages name this one.
    pub fn reference(&self) -> Reference {
        Reference { sender: self.sender.clone(), identifier: self.identifier.clone(), sent: self.sent }
    }

    /// Returns whether the message was sent, from here or to here.
    pub fn is_sent(&self) -> bool {
        use AlertState::{Expired, Published, Stored, Superseded};
        matches!(self.state, Published | Superseded | Expired | Stored)
    }

    /// Returns whether the message was made here and is not published: a proposal or what became of one.
    pub fn is_draft(&self) -> bool {
        self.origin == Origin::Published && !self.is_sent()
    }

    /// Returns whether the alert was published here, is public and actual. Only such alerts reach the public channel
    /// and feed.
    pub fn is_public(&self) -> bool {
        self.origin == Origin::Published
            && self.is_sent()
            && self.scope == Scope::Public
            && self.status == Status::Actual
    }

    /// Returns whether the alert is in force: no Cancel, not superseded, not expired.
    pub fn is_active(&self, now: Millis) -> bool {
        let stands = matches!(self.state, AlertState::Published | AlertState::Stored);
        let says = matches!(self.msg_type, MsgType::Alert | MsgType::Update) && self.status == Status::Actual;
        stands && says && self.expires().is_none_or(|expires| expires > now)
    }

    /// Returns whether the alert is an entry of the public feed: in force, or a Cancel until it expires.
    pub fn is_listed(&self, now: Millis) -> bool {
        let stands = self.state == AlertState::Published && self.expires().is_none_or(|expires| expires > now);
        self.is_public() && stands
    }

    /// Returns the time at which the alert last changed the public feed: it was published, or it expired.
    pub fn feed_changed(&self) -> Option<Millis> {
        let expired = self.expires().filter(|_| self.state == AlertState::Expired);
        self.is_public().then(|| expired.unwrap_or(self.sent).max(self.sent))
    }

    /// Returns whether further messages of its chain may follow: a published alert that is neither ended nor all-clear.
    pub fn is_live(&self) -> bool {
        let stands = self.origin == Origin::Published && self.state == AlertState::Published;
        stands && matches!(self.msg_type, MsgType::Alert | MsgType::Update) && !self.is_end()
    }

    /// Returns whether the message ends its chain: a Cancel or an all-clear.
    pub fn is_end(&self) -> bool {
        self.msg_type == MsgType::Cancel || self.is_all_clear()
    }

    fn is_all_clear(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.response_types.contains(&ResponseType::AllClear))
    }

    /// Returns whether the message is public and Severe or Extreme.
    pub fn is_grave(&self) -> bool {
        let severe = self.severity().is_some_and(|severity| severity.rank() >= Severity::Severe.rank());
        severe && self.scope == Scope::Public
    }

    /// Returns whether the message warns the public of an extreme danger that is real. What ends such a warning is none.
    pub fn is_extreme_broadcast(&self) -> bool {
        let extreme = self.severity() == Some(Severity::Extreme);
        extreme && self.scope == Scope::Public && self.status == Status::Actual && !self.is_end()
    }

    /// Returns the severity.
    pub fn severity(&self) -> Option<Severity> {
        self.info.as_ref().map(|info| info.severity)
    }

    /// Returns the bounding box.
    pub fn bbox(&self) -> Option<BBox> {
        self.info.as_ref().and_then(|info| info.bbox)
    }

    /// Returns the end of validity.
    pub fn expires(&self) -> Option<Millis> {
        self.info.as_ref().and_then(|info| info.expires)
    }

    /// Returns the time at which the alert changes by itself.
    pub fn due(&self) -> Option<Millis> {
        match self.state {
            AlertState::PendingSecond | AlertState::Parked => self.waits_until,
            AlertState::Published | AlertState::Stored => self.expires(),
            _ => None,
        }
    }
}

/// A new or changed alert.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertChange {
    /// The alert after the change.
    pub after: AlertRecord,
    /// Time of the change.
    pub at: Millis,
    /// Name of the event; `None` if none is published.
    pub event: Option<&'static str>,
    /// Identifiers of the alerts that it supersedes.
    pub supersedes: Vec<String>,
    /// The imported document.
    pub document: Option<String>,
}

impl AlertChange {
    /// Creates a change without document.
    pub fn new(after: AlertRecord, at: Millis, event: Option<&'static str>) -> Self {
        Self { after, at, event, supersedes: Vec::new(), document: None }
    }

    /// Creates a change to another state.
    pub fn moved(alert: &AlertRecord, state: AlertState, at: Millis, event: Option<&'static str>) -> Self {
        let version = alert.version + 1;
        let after = AlertRecord { state, version, waits_until: None, waits_for: None, ..alert.clone() };
        Self::new(after, at, event)
    }
}

/// An imported document, as it was received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The XML text.
    pub xml: String,
}

impl Record for Document {
    const TREE: Tree = Tree::Alerts;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl Document {
    /// Returns the key of the document, apart from the keys of records.
    pub fn key(alert: &str) -> Vec<u8> {
        format!("xml/{alert}").into_bytes()
    }
}
