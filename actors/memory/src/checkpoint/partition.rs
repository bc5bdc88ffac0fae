//! Assignment of owners to slots and of collections to files. Persistent: these functions must never change.

use crate::record::{Owner, Space};

use super::part::PartKey;

/// Number of slots.
pub(super) const SLOTS: u8 = 64;
/// Number of pack files in a slot.
const PACKS: u32 = 16;
/// Number of entries from which a collection has its own file.
const LARGE: usize = 2_000;

/// Number of a slot: a fixed part of the owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct SlotNumber(pub(crate) u8);

impl SlotNumber {
    /// Returns the slot of an owner.
    pub(crate) fn of(owner: &Owner) -> Self {
        Self((crc32c::crc32c(owner.as_str().as_bytes()) % u32::from(SLOTS)) as u8)
    }

    /// Iterates over all slots.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..SLOTS).map(Self)
    }

    /// Returns the shard of this slot, out of `shards`.
    pub(crate) fn shard(self, shards: usize) -> usize {
        usize::from(self.0) % shards.max(1)
    }
}

impl PartKey {
    /// Returns the file of a collection with this number of entries.
    pub(crate) fn of(space: &Space, entries: usize) -> Self {
        if entries >= LARGE {
            return Self::Own(space.clone());
        }
        let crc = crc32c::crc32c(space.owner.as_str().as_bytes());
        let crc = crc32c::crc32c_append(crc, b"\0");
        Self::Pack((crc32c::crc32c_append(crc, space.namespace.as_bytes()) % PACKS) as u8)
    }
}
