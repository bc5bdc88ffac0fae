//! Stored records of semantic memory.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use muster_store::{Record, Tree};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

use muster_core::Millis;
use muster_core::ids::{IdKind, new_id};

/// Owner of entries: a principal's id (`usr_…`, `key_…`), or [`Owner::SHARED`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner(Arc<str>);

impl Owner {
    /// Owner of the entries of shared namespaces; no principal has this id.
    pub const SHARED: &'static str = "shared";

    /// Creates an owner from a principal's id.
    pub fn new(id: &str) -> Self {
        Self(Arc::from(id))
    }

    /// Returns the owner of shared namespaces.
    pub fn shared() -> Self {
        Self::new(Self::SHARED)
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One owner's namespace: the unit of ranking.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Space {
    /// The owner.
    pub owner: Owner,
    /// Name of the namespace.
    pub namespace: Arc<str>,
}

impl Space {
    /// Creates a space.
    pub fn new(owner: Owner, namespace: &str) -> Self {
        Self { owner, namespace: Arc::from(namespace) }
    }
}

/// Location of an entry: one key of a space holds one entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The space.
    pub space: Space,
    /// The key.
    pub key: Arc<str>,
}

impl Place {
    /// Creates a place.
    pub fn new(space: Space, key: &str) -> Self {
        Self { space, key: Arc::from(key) }
    }
}

/// Id of an entry, `mem_` and a ULID: constant over its versions, and greater than every earlier id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u128);

impl EntryId {
    /// Generates an id.
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

/// Error: not an entry id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be `mem_` and a ULID")]
pub struct InvalidEntryId;

impl FromStr for EntryId {
    type Err = InvalidEntryId;

    fn from_str(text: &str) -> Result<Self, InvalidEntryId> {
        let ulid = text.strip_prefix(IdKind::Memory.prefix()).and_then(|rest| rest.strip_prefix('_'));
        let read = ulid.and_then(|ulid| Ulid::from_string(ulid).ok()).map(|ulid| Self(ulid.0)).ok_or(InvalidEntryId)?;
        // One text per id: the ULID parser also accepts lower case and look-alike letters.
        if read.to_string() == text { Ok(read) } else { Err(InvalidEntryId) }
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

/// A retained replaced version, as listed by the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetainedVersion {
    /// Number of the version.
    pub version: u32,
    /// When it expires; `None` for never.
    pub expires_at: Option<Millis>,
}

/// One version of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryRecord {
    /// Id of the entry.
    pub id: EntryId,
    /// Location of the entry.
    pub place: Place,
    /// The value.
    pub value: Arc<str>,
    /// Tags in the order of the request, without duplicates.
    pub tags: Vec<String>,
    /// Thread of the entry, such as a conversation.
    pub thread: Option<String>,
    /// Importance, 0 to 1.
    pub importance: Option<f32>,
    /// A language tag (BCP 47), in lower case.
    pub language: Option<String>,
    /// When the first version was stored.
    pub created_at: Millis,
    /// When this version was stored.
    pub stored_at: Millis,
    /// From this time on the entry does not exist, whether it has been swept or not.
    pub expires_at: Option<Millis>,
    /// Version number, from 1.
    pub version: u32,
    /// Version that introduced the current value, tags and language: vectors are valid from it on.
    pub text_version: u32,
    /// Number of the change that stored this version.
    pub seq: u64,
    /// Retained replaced versions, oldest first. Only set in the current version.
    pub kept: Vec<RetainedVersion>,
}

impl EntryRecord {
    /// Returns the owner.
    pub fn owner(&self) -> &Owner {
        &self.place.space.owner
    }

    /// Returns the namespace.
    pub fn namespace(&self) -> &str {
        &self.place.space.namespace
    }

    /// Returns the key.
    pub fn key(&self) -> &str {
        &self.place.key
    }

    /// Returns whether it has expired: from that millisecond on it is never returned.
    pub fn expired(&self, now: Millis) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Returns whether a vector of that version is still valid for this one.
    pub fn is_vector_valid(&self, version: u32) -> bool {
        (self.text_version..=self.version).contains(&version)
    }

    /// Returns the size of key, value and tags in bytes, as counted in [`Usage`].
    pub fn bytes(&self) -> u64 {
        (self.key().len() + self.value.len() + self.tags.iter().map(String::len).sum::<usize>()) as u64
    }
}

impl Record for EntryRecord {
    const TREE: Tree = Tree::Memory;
    const SCHEMA: u16 = 1;
}

/// Vector of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VectorRecord {
    /// Version of the entry whose text was embedded.
    pub version: u32,
    /// Hash of the model's weights.
    pub model: Arc<str>,
    /// The vector, of length 1.
    pub vector: Vec<f32>,
}

impl VectorRecord {
    /// Returns the length of the vector.
    pub fn dimensions(&self) -> usize {
        self.vector.len()
    }
}

impl Record for VectorRecord {
    const TREE: Tree = Tree::MemoryVectors;
    const SCHEMA: u16 = 1;
}

/// A change, as stored in `Tree::MemoryChanges`; indexes that missed changes read them there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A version was stored; the entry at its place may be newer by now, or deleted.
    Put {
        /// Location of the entry.
        place: Place,
        /// Id of the entry.
        id: EntryId,
        /// The stored version.
        version: u32,
    },
    /// A vector was stored.
    Vector {
        /// Location of the entry.
        place: Place,
        /// Id of the entry.
        id: EntryId,
        /// Version whose text was embedded.
        version: u32,
    },
    /// An entry was deleted.
    Deleted {
        /// Location of the entry.
        place: Place,
        /// Id of the entry.
        id: EntryId,
    },
    /// All data of an owner was deleted.
    OwnerDeleted {
        /// The owner.
        owner: Owner,
    },
}

impl Change {
    /// Returns the owner whose data changed.
    pub fn owner(&self) -> &Owner {
        match self {
            Self::Put { place, .. } | Self::Vector { place, .. } | Self::Deleted { place, .. } => &place.space.owner,
            Self::OwnerDeleted { owner } => owner,
        }
    }
}

impl Record for Change {
    const TREE: Tree = Tree::MemoryChanges;
    const SCHEMA: u16 = 1;
}

/// Number and size of the entries of a space or an owner. Expired entries count until they are swept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Number of entries.
    pub entries: u64,
    /// Number of retained replaced versions.
    pub versions: u64,
    /// Bytes of keys, values and tags of the current versions.
    pub bytes: u64,
}

impl Record for Usage {
    const TREE: Tree = Tree::MemoryIds;
    const SCHEMA: u16 = 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_text() {
        // The ULID specification's example.
        let id: EntryId = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        assert_eq!(id.to_string(), "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV");
        for other in
            ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "mem_01arz3ndektsv4rrffq69g5fav", "mem_01ARZ3NDEKTSV4RRFFQ69G5FA", ""]
        {
            assert_eq!(other.parse::<EntryId>(), Err(InvalidEntryId), "{other}");
        }
        assert!(EntryId::fresh() < EntryId::fresh());
    }

    #[test]
    fn ids_are_text_in_json_and_bytes_in_records() {
        let id: EntryId = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"mem_01ARZ3NDEKTSV4RRFFQ69G5FAV\"");
        let bytes = postcard::to_allocvec(&id).unwrap();
        assert_eq!(bytes.len(), 17);
        assert_eq!(postcard::from_bytes::<EntryId>(&bytes).unwrap(), id);
    }

    #[test]
    fn vectors_are_valid_while_the_text_is_unchanged() {
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
        assert!(
            record.is_vector_valid(3)
                && record.is_vector_valid(5)
                && !record.is_vector_valid(2)
                && !record.is_vector_valid(6)
        );
        assert!(!record.expired(Millis(8)) && record.expired(Millis(9)), "expired from its time on");
    }
}
