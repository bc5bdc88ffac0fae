//! The data model of a CAP alert. The order within lists is preserved; elements that occur at most once in the standard
//! are single values here.

use serde::{Deserialize, Serialize};

use crate::{CapTime, Category, Certainty, MsgType, ResponseType, Scope, Severity, Status, Urgency};

/// An alert message (section 3.2.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// Identifier, unique per sender. Must not contain white space, commas, `<` or `&`.
    pub identifier: String,
    /// Originator of the alert. Must not contain white space, commas, `<` or `&`.
    pub sender: String,
    /// Time of origin of the message.
    pub sent: CapTime,
    /// Intended handling.
    pub status: Status,
    /// Type of the message.
    pub msg_type: MsgType,
    /// Source of the alert, such as an operator or a device.
    pub source: Option<String>,
    /// Intended distribution.
    pub scope: Scope,
    /// Rule that limits distribution; required if the scope is `Restricted`.
    pub restriction: Option<String>,
    /// Recipients; required if the scope is `Private`.
    pub addresses: Vec<String>,
    /// Special handling codes.
    pub codes: Vec<String>,
    /// Purpose or significance of the message, for recipients of updates, cancellations and exercises.
    pub note: Option<String>,
    /// Earlier messages that this one refers to.
    pub references: Vec<Reference>,
    /// Names of the incidents that this message belongs to.
    pub incidents: Vec<String>,
    /// Information about the event, one block per language or phase.
    pub infos: Vec<Info>,
}

/// Identifies an earlier message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reference {
    /// Sender of the earlier message.
    pub sender: String,
    /// Identifier of the earlier message.
    pub identifier: String,
    /// Time of origin of the earlier message, exactly as it was written.
    pub sent: CapTime,
}

/// Information about the event in one language (section 3.2.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// Language code (RFC 3066). Defaults to `en-US` when a document has none.
    pub language: String,
    /// Categories of the event; at least one.
    pub categories: Vec<Category>,
    /// Type of the event, as text.
    pub event: String,
    /// Recommended actions.
    pub response_types: Vec<ResponseType>,
    /// Time available to prepare.
    pub urgency: Urgency,
    /// Intensity of the impact.
    pub severity: Severity,
    /// Confidence in the observation or prediction.
    pub certainty: Certainty,
    /// Intended audience.
    pub audience: Option<String>,
    /// System-specific codes of the event type.
    pub event_codes: Vec<NamedValue>,
    /// Time at which the information takes effect.
    pub effective: Option<CapTime>,
    /// Expected begin of the event.
    pub onset: Option<CapTime>,
    /// Time at which the information expires.
    pub expires: Option<CapTime>,
    /// Human-readable name of the issuer.
    pub sender_name: Option<String>,
    /// Short headline.
    pub headline: Option<String>,
    /// Description of the hazard.
    pub description: Option<String>,
    /// Recommended action, as text.
    pub instruction: Option<String>,
    /// URL with further information.
    pub web: Option<String>,
    /// Contact for follow-up.
    pub contact: Option<String>,
    /// System-specific additional values.
    pub parameters: Vec<NamedValue>,
    /// Attached files.
    pub resources: Vec<Resource>,
    /// Affected areas.
    pub areas: Vec<Area>,
}

impl Info {
    /// Creates an `Info` with the mandatory elements only, in `en-US`.
    pub fn new(
        category: Category,
        event: impl Into<String>,
        urgency: Urgency,
        severity: Severity,
        certainty: Certainty,
    ) -> Self {
        Self {
            language: "en-US".to_owned(),
            categories: vec![category],
            event: event.into(),
            response_types: Vec::new(),
            urgency,
            severity,
            certainty,
            audience: None,
            event_codes: Vec::new(),
            effective: None,
            onset: None,
            expires: None,
            sender_name: None,
            headline: None,
            description: None,
            instruction: None,
            web: None,
            contact: None,
            parameters: Vec::new(),
            resources: Vec::new(),
            areas: Vec::new(),
        }
    }
}

/// The `valueName` and `value` of an event code, a parameter or a geocode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedValue {
    /// The `valueName` element: the name of the value's domain.
    pub name: String,
    /// The `value` element.
    pub value: String,
}

/// A file attached to an [`Info`] (section 3.2.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Human-readable description of the content.
    pub description: String,
    /// MIME type of the content (RFC 2046).
    pub mime_type: String,
    /// Size in bytes.
    pub size: Option<u64>,
    /// URL of the content.
    pub uri: Option<String>,
    /// Content of the resource, base64-encoded.
    pub deref_uri: Option<String>,
    /// SHA-1 digest of the content, in hexadecimal.
    pub digest: Option<String>,
}

/// The affected area (section 3.2.4). Positions are latitude, longitude in degrees on WGS 84: the reverse of GeoJSON's
/// order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Area {
    /// Human-readable description of the area.
    pub description: String,
    /// Polygons that delimit the area.
    pub polygons: Vec<Polygon>,
    /// Circles that delimit the area.
    pub circles: Vec<Circle>,
    /// Codes of the area in other systems, such as SAME.
    pub geocodes: Vec<NamedValue>,
    /// Lower or only altitude, in feet above mean sea level.
    pub altitude: Option<f64>,
    /// Upper altitude, in feet above mean sea level; requires `altitude`.
    pub ceiling: Option<f64>,
}

impl Area {
    /// Creates an area with a description only.
    pub fn new(description: impl Into<String>) -> Self {
        Self {
            description: description.into(),
            polygons: Vec::new(),
            circles: Vec::new(),
            geocodes: Vec::new(),
            altitude: None,
            ceiling: None,
        }
    }
}

/// A closed ring of at least four `(latitude, longitude)` positions, of which the last equals the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Polygon(pub Vec<(f64, f64)>);

/// A circle around a position.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Circle {
    /// Latitude of the centre, in degrees on WGS 84.
    pub latitude: f64,
    /// Longitude of the centre, in degrees on WGS 84.
    pub longitude: f64,
    /// Radius in kilometres.
    pub radius_km: f64,
}

impl Alert {
    /// Returns the reference by which later messages identify this alert.
    pub fn reference(&self) -> Reference {
        Reference { sender: self.sender.clone(), identifier: self.identifier.clone(), sent: self.sent.clone() }
    }
}
