//! Stored records: fences, observations and memberships.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_geo::{BBox, Geometry, Point};
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use muster_core::Millis;

/// Kinds of subjects that a fence applies to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppliesTo {
    /// Devices only.
    #[default]
    Devices,
    /// Incidents only.
    Incidents,
    /// Devices and incidents.
    Both,
}

impl AppliesTo {
    /// Returns whether subjects of a kind are included.
    pub const fn matches(self, kind: SubjectKind) -> bool {
        matches!(
            (self, kind),
            (Self::Both, _) | (Self::Devices, SubjectKind::Device) | (Self::Incidents, SubjectKind::Incident)
        )
    }
}

/// A geofence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fence {
    /// Identifier, `gf_…`.
    pub id: String,
    /// Name, 1 to 200 characters.
    pub name: String,
    /// Purpose in the operators' own words, such as `evacuation`.
    pub kind: Option<String>,
    /// Area.
    pub geometry: Geometry,
    /// Bounding box, derived from the geometry.
    pub bbox: Option<BBox>,
    /// Kinds of subjects.
    pub applies_to: AppliesTo,
    /// Tags of which a subject must have one; if empty, the fence applies to every subject.
    pub tags: Vec<String>,
    /// Whether subjects enter and leave it.
    pub active: bool,
    /// Version of the record for `If-Match`; starts at 1.
    pub version: u64,
    /// Principal that created it.
    pub created_by: String,
    /// When it was created.
    pub created_at: Millis,
    /// When it was last changed.
    pub updated_at: Millis,
}

/// Key prefix of fences; memberships are stored under [`Member::PREFIX`].
pub(super) const FENCES: &[u8] = b"f/";

impl Fence {
    pub(super) fn key(id: &str) -> Vec<u8> {
        [FENCES, id.as_bytes()].concat()
    }

    pub(super) fn matches(&self, observation: &Observation) -> bool {
        let tagged = self.tags.is_empty() || self.tags.iter().any(|tag| observation.tags.contains(tag));
        self.active && tagged && self.applies_to.matches(observation.subject.kind)
    }
}

impl Record for Fence {
    const TREE: Tree = Tree::Geofences;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// Kind of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// A device.
    Device,
    /// An incident.
    Incident,
}

impl SubjectKind {
    /// Returns the name of the kind in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Incident => "incident",
        }
    }

    /// Returns the channel of all subjects of the kind.
    const fn channel(self) -> &'static str {
        match self {
            Self::Device => "devices",
            Self::Incident => "incidents",
        }
    }
}

/// Something that enters and leaves fences.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// Kind.
    pub kind: SubjectKind,
    /// Identifier, `dev_…` or `inc_…`.
    pub id: Arc<str>,
}

/// Readers to whom the location of a subject may be disclosed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// All readers of its kind.
    #[default]
    All,
    /// Readers of restricted subjects only.
    Restricted,
    /// Followers of the subject itself only: a private incident.
    Own,
}

/// Location of a subject at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The subject.
    pub subject: Subject,
    /// Location; `None` for a subject that no longer has one, such as a retired device or a closed incident.
    pub point: Option<Point>,
    /// Tags of the subject.
    pub tags: Arc<[String]>,
    /// Readers to whom the location may be disclosed.
    pub audience: Audience,
    /// Time of the observation; one that is older than the last of its subject is ignored.
    pub at: Millis,
}

impl Observation {
    /// Creates an observation without tags, for all readers.
    pub fn of(kind: SubjectKind, id: &Arc<str>, point: Option<Point>, at: Millis) -> Self {
        let subject = Subject { kind, id: Arc::clone(id) };
        Self { subject, point, tags: Arc::default(), audience: Audience::All, at }
    }

    /// Sets the tags of the subject.
    #[must_use]
    pub fn tagged(mut self, tags: &[String]) -> Self {
        self.tags = tags.into();
        self
    }

    /// Sets the readers to whom the location may be disclosed.
    #[must_use]
    pub fn to(mut self, audience: Audience) -> Self {
        self.audience = audience;
        self
    }

    /// Returns the channels of events of the subject: its own, and that of its kind if all readers may know.
    pub(super) fn channels(&self) -> Vec<String> {
        let Subject { kind, id } = &self.subject;
        let own = format!("{}:{id}", kind.channel());
        match (self.audience, kind) {
            (Audience::All, _) => vec![kind.channel().to_owned(), own],
            (Audience::Restricted, SubjectKind::Incident) => vec!["incidents.restricted".to_owned(), own],
            (Audience::Own, _) | (Audience::Restricted, SubjectKind::Device) => vec![own],
        }
    }
}

/// Memberships of a subject; stored while there are any.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Member {
    /// Observation with which it last entered or left a fence.
    pub seen: Observation,
    /// Time of entry by fence.
    pub fences: BTreeMap<String, Millis>,
}

impl Member {
    pub(super) const PREFIX: &[u8] = b"m/";

    pub(super) fn key(subject: &Subject) -> Vec<u8> {
        [Self::PREFIX, subject.kind.name().as_bytes(), b"/", subject.id.as_bytes()].concat()
    }
}

impl Record for Member {
    const TREE: Tree = Tree::Geofences;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// A subject inside a fence.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectInside {
    /// The subject.
    pub subject: Subject,
    /// When it entered.
    pub since: Millis,
    /// Last known location.
    pub point: Option<Point>,
    /// Time of the last observation.
    pub seen_at: Millis,
}
