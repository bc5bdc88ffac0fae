//! What is stored of an incident, and shown of it.

use muster_geo::{BBox, Geometry};
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::fields::{Ack, Attachment, CapLink, Casualties, Geocode, PriorityOverride, ReportedVia, Visibility};
use super::kind::IncidentKind;
use super::lifecycle::State;
use super::priority::priority;
use super::resources::Resource;
use crate::alert::{Category, Certainty, Severity, Status, Urgency};
use muster_core::Millis;

/// An incident. Its timeline is kept beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    pub id: String,
    /// For people: year and number within it, such as `2026-000123`.
    pub number: String,
    /// Reports with the key of an open incident attach to it.
    pub dedup_key: Option<String>,
    pub title: String,
    pub summary: String,
    pub kind: IncidentKind,
    pub category: Vec<Category>,
    /// `None` until it is assessed.
    pub severity: Option<Severity>,
    pub urgency: Option<Urgency>,
    pub certainty: Option<Certainty>,
    /// FEMA's incident type: 5 (one or two resources) to 1 (national).
    pub ics_type: u8,
    /// 0 to 100, computed or set.
    pub priority: u8,
    pub priority_override: Option<PriorityOverride>,
    pub status: Status,
    pub state: State,
    pub state_since: Millis,
    pub visibility: Visibility,
    /// Who may see a private one besides those at work on it: `usr_…`.
    pub addresses: Vec<String>,
    pub geometry: Option<Geometry>,
    pub area_desc: Option<String>,
    pub geocodes: Vec<Geocode>,
    /// West, south, east, north; derived.
    pub bbox: Option<BBox>,
    /// Cells of H3 that the geometry touches; derived.
    pub h3: Vec<String>,
    pub onset: Option<Millis>,
    pub effective: Option<Millis>,
    pub expires: Option<Millis>,
    /// What those concerned are to do.
    pub instruction: Option<String>,
    pub reported_by: String,
    pub reported_via: ReportedVia,
    /// What the reporter calls it.
    pub source_ref: Option<String>,
    /// Reports that came of it.
    pub reports: u64,
    pub commander: Option<String>,
    pub assignees: Vec<String>,
    pub organisations: Vec<String>,
    pub resources: Vec<Resource>,
    pub device_ids: Vec<String>,
    pub parent_id: Option<String>,
    pub duplicate_of: Option<String>,
    pub cap: CapLink,
    pub casualties: Casualties,
    pub tags: Vec<String>,
    pub attachments: Vec<Attachment>,
    pub ack: Option<Ack>,
    /// A flag: it notifies nobody until then.
    pub silenced_until: Option<Millis>,
    /// The `seq` of the timeline's last entry.
    pub timeline_seq: u64,
    /// One more with each change.
    pub version: u64,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub closed_at: Option<Millis>,
}

impl Record for Incident {
    const TREE: Tree = Tree::Incidents;
    const SCHEMA: u16 = 1;
    // A person may have to read what happened; and fields are added over the years.
    const ENCODING: Encoding = Encoding::Json;
}

/// Who gets to know of it at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    Public,
    Restricted,
    Private,
}

impl Incident {
    /// What is no actual incident is never for the public, whatever its visibility says.
    pub fn audience(&self) -> Audience {
        match (self.visibility, self.status) {
            (Visibility::Private, _) => Audience::Private,
            (Visibility::Restricted, _) => Audience::Restricted,
            (Visibility::Public, Status::Actual) => Audience::Public,
            (Visibility::Public, _) => Audience::Restricted,
        }
    }

    /// Whether somebody is named in it: at work on it, or addressed by it.
    pub fn mentions(&self, id: &str) -> bool {
        self.is_assigned(id) || self.reported_by == id || self.addresses.iter().any(|named| named == id)
    }

    /// Whether it is assigned to somebody.
    pub fn is_assigned(&self, id: &str) -> bool {
        self.commander.as_deref() == Some(id) || self.assignees.iter().any(|named| named == id)
    }

    /// The copy that a change starts from: one version and one entry of the timeline on.
    pub(super) fn next_version(&self, now: Millis) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.timeline_seq += 1;
        next.updated_at = now;
        next
    }

    /// Computes the priority anew, unless a person set it.
    pub(super) fn prioritize(&mut self) {
        let computed = priority(self.severity, self.urgency, self.certainty);
        self.priority = self.priority_override.as_ref().map_or(computed, |set| set.value);
    }

    pub(super) fn enter(&mut self, state: State, now: Millis) {
        self.state = state;
        self.state_since = now;
    }
}
