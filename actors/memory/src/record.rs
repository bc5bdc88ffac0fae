//! What is stored of semantic memory.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use muster_store::{Record, Tree};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

use muster_core::Millis;
use muster_core::ids::{IdKind, new_id};

/// Whose entries: a principal's identifier (`usr_…`, `key_…`), or [`Owner::SHARED`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner(Arc<str>);

impl Owner {
    /// Who owns the entries of shared namespaces: no principal has this identifier.
    pub const SHARED: &'static str = "shared";

    pub fn new(id: &str) -> Self {
        Self(Arc::from(id))
    }

    pub fn shared() -> Self {
        Self::new(Self::SHARED)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One owner's namespace: what a search ranks together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Space {
    pub owner: Owner,
    pub namespace: Arc<str>,
}

impl Space {
    pub fn new(owner: Owner, namespace: &str) -> Self {
        Self { owner, namespace: Arc::from(namespace) }
    }
}

/// Where an entry stands: one key of a space holds one entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    pub space: Space,
    pub key: Arc<str>,
}

impl Place {
    pub fn new(space: Space, key: &str) -> Self {
        Self { space, key: Arc::from(key) }
    }
}

/// `mem_` and a ULID: stays over an entry's versions, greater than each that was made before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u128);

impl EntryId {
    /// A new identifier.
    pub(super) fn fresh() -> Self {
        new_id(IdKind::Memory).parse().unwrap_or(Self(0))
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", IdKind::Memory.prefix(), Ulid(self.0))
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Not an entry's identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be `mem_` and a ULID")]
pub struct NoEntryId;

impl FromStr for EntryId {
    type Err = NoEntryId;

    fn from_str(text: &str) -> Result<Self, NoEntryId> {
        let ulid = text.strip_prefix(IdKind::Memory.prefix()).and_then(|rest| rest.strip_prefix('_'));
        let read = ulid.and_then(|ulid| Ulid::from_string(ulid).ok()).map(|ulid| Self(ulid.0)).ok_or(NoEntryId)?;
        // One text for one entry: ULIDs are read in lower case, too, and with look-alike letters.
        if read.to_string() == text { Ok(read) } else { Err(NoEntryId) }
    }
}

impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { to.collect_str(self) } else { to.serialize_bytes(&self.0.to_be_bytes()) }
    }
}

impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            String::deserialize(from)?.parse().map_err(D::Error::custom)
        } else {
            let bytes = <&[u8]>::deserialize(from)?;
            bytes.try_into().map(|bytes| Self(u128::from_be_bytes(bytes))).map_err(D::Error::custom)
        }
    }
}

/// A replaced version that is still kept, as the present one knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub version: u32,
    pub expires_at: Option<Millis>,
}

/// One version of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryRecord {
    pub id: EntryId,
    pub place: Place,
    pub value: Arc<str>,
    /// In the order given, none twice.
    pub tags: Vec<String>,
    pub thread: Option<String>,
    /// 0 to 1.
    pub importance: Option<f32>,
    /// A language tag (BCP 47), in lower case.
    pub language: Option<String>,
    /// Of the first version.
    pub created_at: Millis,
    /// Of this version.
    pub stored_at: Millis,
    /// From then on it is gone, whether it was swept or not.
    pub expires_at: Option<Millis>,
    /// From 1.
    pub version: u32,
    /// The version that brought the present value, tags and language: what a model made of them stands from it on.
    pub text_version: u32,
    /// The change that brought this version.
    pub seq: u64,
    /// Replaced versions that are kept, oldest first. Only the present version tells them.
    pub kept: Vec<Kept>,
}

impl EntryRecord {
    pub fn owner(&self) -> &Owner {
        &self.place.space.owner
    }

    pub fn namespace(&self) -> &str {
        &self.place.space.namespace
    }

    pub fn key(&self) -> &str {
        &self.place.key
    }

    /// Whether its time is over: from that millisecond on it is never shown.
    pub fn expired(&self, now: Millis) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Whether what a model made of that version still stands for this one.
    pub fn stands(&self, version: u32) -> bool {
        (self.text_version..=self.version).contains(&version)
    }

    /// Key, value and tags, in bytes: what figures count.
    pub fn bytes(&self) -> u64 {
        (self.key().len() + self.value.len() + self.tags.iter().map(String::len).sum::<usize>()) as u64
    }
}

impl Record for EntryRecord {
    const TREE: Tree = Tree::Memory;
    const SCHEMA: u16 = 1;
}

/// What a model made of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VectorRecord {
    /// Of the entry, as it was when its text was given to the model.
    pub version: u32,
    /// The weights that made it.
    pub model: Arc<str>,
    /// A unit vector.
    pub vector: Vec<f32>,
}

impl VectorRecord {
    pub fn dimensions(&self) -> usize {
        self.vector.len()
    }
}

impl Record for VectorRecord {
    const TREE: Tree = Tree::MemoryVectors;
    const SCHEMA: u16 = 1;
}

/// What happened, as `Tree::MemoryChanges` tells it: an index that missed it brings itself up by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A version was stored: read the entry at its place. It may be at a later version by now, or gone.
    Put {
        place: Place,
        id: EntryId,
        version: u32,
    },
    /// A vector was stored: read it by its entry.
    Vector {
        place: Place,
        id: EntryId,
        version: u32,
    },
    Deleted {
        place: Place,
        id: EntryId,
    },
    /// Nothing of that owner is left.
    OwnerGone {
        owner: Owner,
    },
}

impl Change {
    pub fn owner(&self) -> &Owner {
        match self {
            Self::Put { place, .. } | Self::Vector { place, .. } | Self::Deleted { place, .. } => &place.space.owner,
            Self::OwnerGone { owner } => owner,
        }
    }
}

impl Record for Change {
    const TREE: Tree = Tree::MemoryChanges;
    const SCHEMA: u16 = 1;
}

/// What a space, or all of an owner, holds. Expired entries count until they are swept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub entries: u64,
    /// Replaced versions that are kept.
    pub versions: u64,
    /// Of the present versions: keys, values and tags.
    pub bytes: u64,
}

impl Record for Tally {
    const TREE: Tree = Tree::MemoryIds;
    const SCHEMA: u16 = 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_has_one_text() {
        // The ULID specification's example.
        let id: EntryId = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        assert_eq!(id.to_string(), "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV");
        for other in
            ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "mem_01arz3ndektsv4rrffq69g5fav", "mem_01ARZ3NDEKTSV4RRFFQ69G5FA", ""]
        {
            assert_eq!(other.parse::<EntryId>(), Err(NoEntryId), "{other}");
        }
        assert!(EntryId::fresh() < EntryId::fresh());
    }

    #[test]
    fn an_identifier_is_text_for_people_and_bytes_in_records() {
        let id: EntryId = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"mem_01ARZ3NDEKTSV4RRFFQ69G5FAV\"");
        let bytes = postcard::to_allocvec(&id).unwrap();
        assert_eq!(bytes.len(), 17);
        assert_eq!(postcard::from_bytes::<EntryId>(&bytes).unwrap(), id);
    }

    #[test]
    fn a_vector_stands_while_the_text_does() {
        let place = Place::new(Space::new(Owner::new("key_1"), "default"), "k");
        let record = EntryRecord {
            id: EntryId(1),
            place,
            value: Arc::from("v"),
            tags: vec![],
            thread: None,
            importance: None,
            language: None,
            created_at: Millis(1),
            stored_at: Millis(5),
            expires_at: Some(Millis(9)),
            version: 5,
            text_version: 3,
            seq: 1,
            kept: vec![],
        };
        assert!(record.stands(3) && record.stands(5) && !record.stands(2) && !record.stands(6));
        assert!(!record.expired(Millis(8)) && record.expired(Millis(9)), "gone from its time on");
    }
}
