//! Storage keys of semantic memory.
//!
//! | tree | key | value |
//! |---|---|---|
//! | `Memory` | owner `\0` namespace `\0` key | current version of an entry |
//! | `MemoryIds` | `by/` owner `\0` id | its place: an owner's entries in the order of creation |
//! | | `in/` owner `\0` namespace `\0` id | its key: a space's entries in the order of creation |
//! | | `n/` owner `\0`, `n/` owner `\0` namespace | usage of an owner, and of a space |
//! | | `gone/` owner | marker of an owner whose data is being deleted |
//! | | `seq`, `boot` | number of the last change; written at each start |
//! | `MemoryHistory` | id, version | a replaced version |
//! | `MemoryVectors` | id | vector of an entry |
//! | `MemoryExpiry` | time, id, version | place of the version that expires at that time |
//! | `MemoryChanges` | seq | a change |
//!
//! Identifiers are 16 bytes, versions 4, times and numbers 8, all big-endian. Owners, namespaces and keys have no control
//! characters, so no two places share a key.

use super::record::{EntryId, Owner, Place, Space};
use muster_core::Millis;

/// Key of the number of the last change, in `Tree::MemoryIds`.
pub(super) const SEQ: &[u8] = b"seq";
/// Prefix of the deletion markers of owners, in `Tree::MemoryIds`.
pub(super) const DELETION_MARKS: &[u8] = b"gone/";

/// Prefix of all entries of an owner, in `Tree::Memory`.
pub(super) fn of_owner(owner: &Owner) -> Vec<u8> {
    [owner.as_str().as_bytes(), b"\0"].concat()
}

/// Prefix of all entries of a space, in `Tree::Memory`.
pub(super) fn of_space(space: &Space) -> Vec<u8> {
    [space.owner.as_str().as_bytes(), b"\0", space.namespace.as_bytes(), b"\0"].concat()
}

/// Key of an entry, in `Tree::Memory`.
pub fn entry(place: &Place) -> Vec<u8> {
    let mut key = of_space(&place.space);
    key.extend_from_slice(place.key.as_bytes());
    key
}

/// Prefix of an owner's entries by id, in `Tree::MemoryIds`.
pub(super) fn ids_of_owner(owner: &Owner) -> Vec<u8> {
    [b"by/", owner.as_str().as_bytes(), b"\0"].concat()
}

/// Key of an owner's entry by id, in `Tree::MemoryIds`.
pub(super) fn id(owner: &Owner, id: EntryId) -> Vec<u8> {
    [ids_of_owner(owner).as_slice(), &id.0.to_be_bytes()].concat()
}

/// Prefix of a space's entries by id, in `Tree::MemoryIds`.
pub(super) fn ids_of_space(space: &Space) -> Vec<u8> {
    [b"in/".as_slice(), &of_space(space)].concat()
}

/// Key of a space's entry by id, in `Tree::MemoryIds`.
pub(super) fn id_in(space: &Space, id: EntryId) -> Vec<u8> {
    [ids_of_space(space).as_slice(), &id.0.to_be_bytes()].concat()
}

/// Prefix of all usages, in `Tree::MemoryIds`.
pub(super) const USAGES: &[u8] = b"n/";

/// Prefix of the usage of an owner's spaces, in `Tree::MemoryIds`; itself the key of the owner's own usage.
pub(super) fn usages(owner: &Owner) -> Vec<u8> {
    [b"n/", owner.as_str().as_bytes(), b"\0"].concat()
}

/// Key of a space's usage, in `Tree::MemoryIds`.
pub(super) fn usage(space: &Space) -> Vec<u8> {
    [usages(&space.owner).as_slice(), space.namespace.as_bytes()].concat()
}

/// Key of the deletion marker of an owner, in `Tree::MemoryIds`.
pub(super) fn deletion_mark(owner: &Owner) -> Vec<u8> {
    [DELETION_MARKS, owner.as_str().as_bytes()].concat()
}

/// Key of a replaced version, in `Tree::MemoryHistory`.
pub(super) fn version(id: EntryId, version: u32) -> Vec<u8> {
    [id.0.to_be_bytes().as_slice(), &version.to_be_bytes()].concat()
}

/// Key of an entry's vector, in `Tree::MemoryVectors`.
pub fn vector(id: EntryId) -> Vec<u8> {
    id.0.to_be_bytes().to_vec()
}

/// Key of a version's expiry, in `Tree::MemoryExpiry`.
pub(super) fn expiry(at: Millis, id: EntryId, version: u32) -> Vec<u8> {
    [at.0.to_be_bytes().as_slice(), &id.0.to_be_bytes(), &version.to_be_bytes()].concat()
}

/// Parses a key of `Tree::MemoryExpiry`.
pub(super) fn read_expiry(key: &[u8]) -> Option<(Millis, EntryId, u32)> {
    let (at, rest) = key.split_first_chunk()?;
    let (id, version) = rest.split_first_chunk()?;
    let version = u32::from_be_bytes(version.try_into().ok()?);
    Some((Millis(u64::from_be_bytes(*at)), EntryId(u128::from_be_bytes(*id)), version))
}

/// Key of a change, in `Tree::MemoryChanges`.
pub(super) fn change(seq: u64) -> Vec<u8> {
    seq.to_be_bytes().to_vec()
}

/// Parses the id at the end of a key of `Tree::MemoryIds`.
pub(super) fn read_id(key: &[u8]) -> Option<EntryId> {
    key.last_chunk().map(|bytes| EntryId(u128::from_be_bytes(*bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_space_or_owner_are_no_prefix_of_anothers() {
        let space = |owner: &str, namespace: &str| Space::new(Owner::new(owner), namespace);
        let place = Place::new(space("key_1", "a"), "k");
        assert!(entry(&place).starts_with(&of_space(&space("key_1", "a"))));
        for other in [space("key_1", "a/b"), space("key_1", "ab"), space("key_12", "a")] {
            let there = entry(&Place::new(other.clone(), "k"));
            assert!(!there.starts_with(&of_space(&place.space)), "{other:?}");
            assert!(!id_in(&other, EntryId(7)).starts_with(&ids_of_space(&place.space)), "{other:?}");
        }
        assert!(!id(&Owner::new("key_12"), EntryId(7)).starts_with(&ids_of_owner(&Owner::new("key_1"))));
    }

    #[test]
    fn expiry_keys_are_ordered_by_time_and_can_be_parsed() {
        let (sooner, later) = (expiry(Millis(255), EntryId(9), 9), expiry(Millis(256), EntryId(1), 1));
        assert!(sooner < later);
        assert_eq!(read_expiry(&sooner), Some((Millis(255), EntryId(9), 9)));
        assert_eq!(read_expiry(b"short"), None);
        assert_eq!(read_id(&id(&Owner::new("key_1"), EntryId(3))), Some(EntryId(3)));
    }
}
