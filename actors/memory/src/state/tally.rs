//! Changes of tallies.

use std::ops::AddAssign;

use crate::record::Tally;

/// Change of the tallies of a space and its owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delta {
    pub(crate) entries: i64,
    pub(crate) versions: i64,
    pub(crate) bytes: i64,
}

impl AddAssign for Delta {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.versions += other.versions;
        self.bytes += other.bytes;
    }
}

impl Tally {
    #[must_use]
    pub(crate) fn moved(self, by: Delta) -> Self {
        Self {
            entries: self.entries.saturating_add_signed(by.entries),
            versions: self.versions.saturating_add_signed(by.versions),
            bytes: self.bytes.saturating_add_signed(by.bytes),
        }
    }
}
