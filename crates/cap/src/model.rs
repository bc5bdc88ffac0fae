//! A CAP alert as values. Order within a list is kept; what the standard makes single is single here.

use serde::{Deserialize, Serialize};

use crate::{CapTime, Category, Certainty, MsgType, ResponseType, Scope, Severity, Status, Urgency};

/// Section 3.2.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// Unique for its sender: no space, comma, `<` or `&`.
    pub identifier: String,
    /// Whose it is: no space, comma, `<` or `&`.
    pub sender: String,
    pub sent: CapTime,
    pub status: Status,
    pub msg_type: MsgType,
    pub source: Option<String>,
    pub scope: Scope,
    /// The rule for a `Restricted` alert.
    pub restriction: Option<String>,
    /// Whom a `Private` alert is for.
    pub addresses: Vec<String>,
    pub codes: Vec<String>,
    pub note: Option<String>,
    /// Earlier messages that this one is about.
    pub references: Vec<Reference>,
    /// Names of incidents.
    pub incidents: Vec<String>,
    pub infos: Vec<Info>,
}

/// Names an earlier message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reference {
    pub sender: String,
    pub identifier: String,
    pub sent: CapTime,
}

/// Section 3.2.2: what is told, in one language.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// RFC 3066; `en-US` where a document says none.
    pub language: String,
    /// At least one.
    pub categories: Vec<Category>,
    pub event: String,
    pub response_types: Vec<ResponseType>,
    pub urgency: Urgency,
    pub severity: Severity,
    pub certainty: Certainty,
    pub audience: Option<String>,
    pub event_codes: Vec<NamedValue>,
    pub effective: Option<CapTime>,
    pub onset: Option<CapTime>,
    pub expires: Option<CapTime>,
    pub sender_name: Option<String>,
    pub headline: Option<String>,
    pub description: Option<String>,
    pub instruction: Option<String>,
    pub web: Option<String>,
    pub contact: Option<String>,
    pub parameters: Vec<NamedValue>,
    pub resources: Vec<Resource>,
    pub areas: Vec<Area>,
}

impl Info {
    /// What must be told, and no more.
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

/// `valueName` and `value` of an event code, a parameter or a geocode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedValue {
    pub name: String,
    pub value: String,
}

/// Section 3.2.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    pub description: String,
    pub mime_type: String,
    /// In bytes.
    pub size: Option<u64>,
    pub uri: Option<String>,
    /// The content in base64.
    pub deref_uri: Option<String>,
    /// SHA-1, in hexadecimal.
    pub digest: Option<String>,
}

/// Section 3.2.4. Positions are latitude, longitude in degrees on WGS 84, the other way round than GeoJSON's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Area {
    pub description: String,
    pub polygons: Vec<Polygon>,
    pub circles: Vec<Circle>,
    pub geocodes: Vec<NamedValue>,
    /// In feet above mean sea level.
    pub altitude: Option<f64>,
    /// In feet above mean sea level; only with an altitude.
    pub ceiling: Option<f64>,
}

impl Area {
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

/// At least four positions `(latitude, longitude)`, the last one the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Polygon(pub Vec<(f64, f64)>);

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Circle {
    pub latitude: f64,
    pub longitude: f64,
    pub radius_km: f64,
}

impl Alert {
    /// How other messages name this one.
    pub fn reference(&self) -> Reference {
        Reference { sender: self.sender.clone(), identifier: self.identifier.clone(), sent: self.sent.clone() }
    }
}
