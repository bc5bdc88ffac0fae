//! Changes of usage.

use std::ops::AddAssign;

use crate::record::Usage;

/// Change of the usage of a space and its owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UsageDelta {
    pub(crate) entries: i64,
    pub(crate) versions: i64,
    pub(crate) bytes: i64,
}

impl AddAssign for UsageDelta {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.versions += other.versions;
        self.bytes += other.bytes;
    }
}

impl Usage {
    /// Returns the usage after a change.
    #[must_use]
    pub(crate) fn plus(self, by: UsageDelta) -> Self {
        Self {
            entries: self.entries.saturating_add_signed(by.entries),
            versions: self.versions.saturating_add_signed(by.versions),
            bytes: self.bytes.saturating_add_signed(by.bytes),
        }
    }
}
