//! The stored and public record of an incident.

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

/// An incident. Its timeline is stored separately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// Identifier, `inc_…`.
    pub id: String,
    /// Number for people: year and number within the year, such as `2026-000123`.
    pub number: String,
    /// Key by which further reports of the open incident are attached to it.
    pub dedup_key: Option<String>,
    /// Title, one line.
    pub title: String,
    /// Summary.
    pub summary: String,
    /// Kind.
    pub kind: IncidentKind,
    /// CAP categories.
    pub category: Vec<Category>,
    /// Severity; `None` until it is assessed.
    pub severity: Option<Severity>,
    /// Urgency; `None` until it is assessed.
    pub urgency: Option<Urgency>,
    /// Certainty; `None` until it is assessed.
    pub certainty: Option<Certainty>,
    /// FEMA incident type: 5 (one or two resources) to 1 (national).
    pub ics_type: u8,
    /// Priority, 0 to 100, computed or set.
    pub priority: u8,
    /// Priority set by a person.
    pub priority_override: Option<PriorityOverride>,
    /// CAP status: actual, exercise, test …
    pub status: Status,
    /// State.
    pub state: State,
    /// Time of the last change of state.
    pub state_since: Millis,
    /// Readers.
    pub visibility: Visibility,
    /// Users (`usr_…`) that may see a private incident besides those assigned to it.
    pub addresses: Vec<String>,
    /// Area or point.
    pub geometry: Option<Geometry>,
    /// Description of the area.
    pub area_desc: Option<String>,
    /// Codes of the area.
    pub geocodes: Vec<Geocode>,
    /// Bounding box, derived from the geometry.
    pub bbox: Option<BBox>,
    /// H3 cells that the geometry touches, derived from it.
    pub h3: Vec<String>,
    /// Expected onset.
    pub onset: Option<Millis>,
    /// Start of validity.
    pub effective: Option<Millis>,
    /// End of validity.
    pub expires: Option<Millis>,
    /// Instruction for the people affected.
    pub instruction: Option<String>,
    /// Principal that reported it.
    pub reported_by: String,
    /// How it was reported.
    pub reported_via: ReportedVia,
    /// Identifier in the reporter's system.
    pub source_ref: Option<String>,
    /// Number of reports.
    pub reports: u64,
    /// Commander, `usr_…`.
    pub commander: Option<String>,
    /// Assignees, `usr_…`.
    pub assignees: Vec<String>,
    /// Organisations involved.
    pub organisations: Vec<String>,
    /// Resources.
    pub resources: Vec<Resource>,
    /// Devices concerned.
    pub device_ids: Vec<String>,
    /// Incident of which this one is a part.
    pub parent_id: Option<String>,
    /// Incident of which this one is a duplicate.
    pub duplicate_of: Option<String>,
    /// Chain of its CAP messages.
    pub cap: CapLink,
    /// Casualties.
    pub casualties: Casualties,
    /// Tags.
    pub tags: Vec<String>,
    /// Attachments.
    pub attachments: Vec<Attachment>,
    /// Current acknowledgement.
    pub ack: Option<Ack>,
    /// End of the silence: until then its events are not urgent.
    pub silenced_until: Option<Millis>,
    /// Sequence number of the last timeline entry.
    pub timeline_seq: u64,
    /// Version of the record for `If-Match`; starts at 1.
    pub version: u64,
    /// Time of creation.
    pub created_at: Millis,
    /// Time of the last change.
    pub updated_at: Millis,
    /// Time at which it was closed or ended otherwise.
    pub closed_at: Option<Millis>,
}

impl Record for Incident {
    const TREE: Tree = Tree::Incidents;
    const SCHEMA: u16 = 1;
    // JSON, so that people can read the records and fields can be added over the years.
    const ENCODING: Encoding = Encoding::Json;
}

/// Readers of an incident, by visibility and status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Everyone who may read incidents.
    Public,
    /// Everyone who may write incidents.
    Restricted,
    /// The users named in it.
    Private,
}

impl Incident {
    /// Returns the readers. An incident that is not actual is never public, whatever its visibility.
    pub fn audience(&self) -> Audience {
        match (self.visibility, self.status) {
            (Visibility::Private, _) => Audience::Private,
            (Visibility::Restricted, _) => Audience::Restricted,
            (Visibility::Public, Status::Actual) => Audience::Public,
            (Visibility::Public, _) => Audience::Restricted,
        }
    }

    /// Returns whether a user is named in it: assigned, addressed or its reporter.
    pub fn mentions(&self, id: &str) -> bool {
        self.is_assigned(id) || self.reported_by == id || self.addresses.iter().any(|named| named == id)
    }

    /// Returns whether it is assigned to, or commanded by, a user.
    pub fn is_assigned(&self, id: &str) -> bool {
        self.commander.as_deref() == Some(id) || self.assignees.iter().any(|named| named == id)
    }

    /// Returns the copy that a change starts from, with the next version and timeline number.
    pub(super) fn next_version(&self, now: Millis) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.timeline_seq += 1;
        next.updated_at = now;
        next
    }

    /// Computes the priority unless a person set it.
    pub(super) fn prioritize(&mut self) {
        let computed = priority(self.severity, self.urgency, self.certainty);
        self.priority = self.priority_override.as_ref().map_or(computed, |set| set.value);
    }

    pub(super) fn enter(&mut self, state: State, now: Millis) {
        self.state = state;
        self.state_since = now;
    }
}
