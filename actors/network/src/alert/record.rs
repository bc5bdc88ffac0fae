//! The stored and public record of an alert.

use muster_geo::{BBox, Geometry};
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};
use serde_json::json;

use muster_cap::{Category, Certainty, MsgType, ResponseType, Scope, Severity, Status, Urgency};
use muster_core::{Error, Kind, Millis};

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

/// State of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// Proposed; a second person has to confirm it.
    PendingSecond,
    /// Published.
    Published,
    /// Superseded by a later message of its chain.
    Superseded,
    /// Expired.
    Expired,
    /// Rejected by a person.
    Rejected,
    /// Not confirmed in time, or parked too long.
    Lapsed,
    /// Withdrawn: its incident changed before it was confirmed.
    Withdrawn,
    /// Imported and stored.
    Stored,
    /// Imported; the message that it refers to is unknown so far.
    Parked,
}

impl AlertState {
    /// All states.
    pub const ALL: [Self; 9] = [
        Self::PendingSecond,
        Self::Published,
        Self::Superseded,
        Self::Expired,
        Self::Rejected,
        Self::Lapsed,
        Self::Withdrawn,
        Self::Stored,
        Self::Parked,
    ];

    /// Returns the name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PendingSecond => "pending_second",
            Self::Published => "published",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
            Self::Lapsed => "lapsed",
            Self::Withdrawn => "withdrawn",
            Self::Stored => "stored",
            Self::Parked => "parked",
        }
    }
}

/// What an alert that waits to be published lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    /// A person with the permission `alerts:publish`: who caused the message does not have it.
    Permission,
    /// A second person with the permission `alerts:publish`: a message of its chain is public and Severe or Extreme.
    SecondPerson,
}

/// Action of a person on an alert. Its name is the last part of its path, `POST /api/v1/alerts/{id}/{name}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlertAction {
    /// Publish an alert that waits.
    Confirm,
    /// Drop an alert that waits.
    Reject,
    /// End the alert by a CAP Cancel.
    Cancel,
    /// End the alert by a CAP Update with the response AllClear.
    AllClear,
}

impl AlertAction {
    /// All actions.
    pub const ALL: [Self; 4] = [Self::Confirm, Self::Reject, Self::Cancel, Self::AllClear];

    /// Returns the name in JSON and in the path.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Reject => "reject",
            Self::Cancel => "cancel",
            Self::AllClear => "all-clear",
        }
    }
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

    /// Returns the actions that the alert takes.
    pub fn allowed(&self) -> Vec<AlertAction> {
        match self.state {
            AlertState::PendingSecond => vec![AlertAction::Confirm, AlertAction::Reject],
            _ if self.is_live() => vec![AlertAction::Cancel, AlertAction::AllClear],
            _ => Vec::new(),
        }
    }

    /// # Errors
    /// `Conflict` with the allowed actions.
    pub fn require(&self, action: AlertAction) -> Result<(), Error> {
        let allowed = self.allowed();
        if allowed.contains(&action) {
            return Ok(());
        }
        let names: Vec<_> = allowed.iter().map(|action| action.name()).collect();
        let state = self.state.name();
        let message = if names.is_empty() {
            format!("the alert is {state}: it takes no `{}`", action.name())
        } else {
            format!("the alert is {state}: it takes {}, no `{}`", names.join(" and "), action.name())
        };
        let details = json!({ "state": self.state, "allowed": allowed });
        Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(details))
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
