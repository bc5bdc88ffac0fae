//! Faults of simulated devices. Pure.

use serde::{Deserialize, Serialize};

/// A way in which a device misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Downloads images at `slow_bytes_per_s` of the profile at most, and reports its progress.
    Slow,
    /// Loses its connection once in the middle of each image, and resumes from there.
    Cuts,
    /// Stores an image that differs from the one that was sent.
    BadHash,
    /// Rejects every job.
    Rejects,
    /// Fails to install any image.
    FailsInstall,
    /// Restarts for a job and never comes back.
    NeverComesBack,
    /// Reports its previous version after an update.
    StaleVersion,
    /// Omits some heartbeats.
    Flaky,
    /// Refuses every command.
    RefusesCommands,
}

impl Fault {
    /// All faults, in declaration order.
    pub const ALL: [Self; 9] = [
        Self::Slow,
        Self::Cuts,
        Self::BadHash,
        Self::Rejects,
        Self::FailsInstall,
        Self::NeverComesBack,
        Self::StaleVersion,
        Self::Flaky,
        Self::RefusesCommands,
    ];

    /// Returns the name that profiles and summaries use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Cuts => "cuts",
            Self::BadHash => "bad_hash",
            Self::Rejects => "rejects",
            Self::FailsInstall => "fails_install",
            Self::NeverComesBack => "never_comes_back",
            Self::StaleVersion => "stale_version",
            Self::Flaky => "flaky",
            Self::RefusesCommands => "refuses_commands",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The set of faults of one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults(u16);

impl Faults {
    /// No faults.
    pub const NONE: Self = Self(0);

    /// Returns this set with one more fault.
    #[must_use]
    pub const fn with(self, fault: Fault) -> Self {
        Self(self.0 | fault.bit())
    }

    /// Returns whether the set contains a fault.
    pub const fn has(self, fault: Fault) -> bool {
        self.0 & fault.bit() != 0
    }

    /// Iterates over the faults of the set.
    pub fn iter(self) -> impl Iterator<Item = Fault> {
        Fault::ALL.into_iter().filter(move |fault| self.has(*fault))
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> Self {
        faults.into_iter().fold(Self::NONE, Self::with)
    }
}
