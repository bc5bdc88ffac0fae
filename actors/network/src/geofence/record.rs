//! Fences, who is seen where, and who is inside.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_geo::{BBox, Geometry, Point};
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use muster_core::Millis;

/// Whom a fence looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppliesTo {
    #[default]
    Devices,
    Incidents,
    Both,
}

impl AppliesTo {
    pub const fn takes(self, kind: SubjectKind) -> bool {
        matches!(
            (self, kind),
            (Self::Both, _) | (Self::Devices, SubjectKind::Device) | (Self::Incidents, SubjectKind::Incident)
        )
    }
}

/// A fence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fence {
    /// `gf_…`.
    pub id: String,
    /// 1 to 200 characters.
    pub name: String,
    /// What it is for, in the operators' own words, such as `evacuation`.
    pub kind: Option<String>,
    pub geometry: Geometry,
    /// Derived from the geometry.
    pub bbox: Option<BBox>,
    pub applies_to: AppliesTo,
    /// Only subjects that have one of these; every subject where there are none.
    pub tags: Vec<String>,
    /// Whether anybody enters or leaves it.
    pub active: bool,
    /// Counts up with each change.
    pub version: u64,
    pub created_by: String,
    pub created_at: Millis,
    pub updated_at: Millis,
}

/// Where fences stand in their tree; who is inside stands under [`Member::PREFIX`].
pub(super) const FENCES: &[u8] = b"f/";

impl Fence {
    pub(super) fn key(id: &str) -> Vec<u8> {
        [FENCES, id.as_bytes()].concat()
    }

    pub(super) fn takes(&self, observation: &Observation) -> bool {
        let tagged = self.tags.is_empty() || self.tags.iter().any(|tag| observation.tags.contains(tag));
        self.active && tagged && self.applies_to.takes(observation.subject.kind)
    }
}

impl Record for Fence {
    const TREE: Tree = Tree::Geofences;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    Device,
    Incident,
}

impl SubjectKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Incident => "incident",
        }
    }

    /// The channel of all of them.
    const fn channel(self) -> &'static str {
        match self {
            Self::Device => "devices",
            Self::Incident => "incidents",
        }
    }
}

/// Who enters and leaves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Subject {
    pub kind: SubjectKind,
    /// `dev_…` or `inc_…`.
    pub id: Arc<str>,
}

/// Who may know where a subject is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// Everybody who may read its kind.
    #[default]
    All,
    /// Only those who may read what is restricted.
    Restricted,
    /// Only those who may follow the subject itself: a private incident.
    Own,
}

/// Where a subject is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub subject: Subject,
    /// `None` where it is nowhere any more, such as a retired device or a closed incident.
    pub point: Option<Point>,
    pub tags: Arc<[String]>,
    pub audience: Audience,
    /// One older than what was seen before is not looked at.
    pub at: Millis,
}

impl Observation {
    pub fn of(kind: SubjectKind, id: &Arc<str>, point: Option<Point>, at: Millis) -> Self {
        let subject = Subject { kind, id: Arc::clone(id) };
        Self { subject, point, tags: Arc::default(), audience: Audience::All, at }
    }

    #[must_use]
    pub fn tagged(mut self, tags: &[String]) -> Self {
        self.tags = tags.into();
        self
    }

    #[must_use]
    pub fn to(mut self, audience: Audience) -> Self {
        self.audience = audience;
        self
    }

    /// The subject's own channel, and that of all of its kind where all may know.
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

/// What a subject is inside of; stored while that is anything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Member {
    /// Where it was when it last entered or left.
    pub seen: Observation,
    /// Since when, by fence.
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
pub struct Inside {
    pub subject: Subject,
    pub since: Millis,
    /// Where it was last seen.
    pub point: Option<Point>,
    pub seen_at: Millis,
}
