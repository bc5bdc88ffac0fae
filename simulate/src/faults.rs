//! What can be wrong with a simulated device. Pure.

use serde::{Deserialize, Serialize};

/// A way in which a device misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Fetches images no faster than the profile's `slow_bytes_per_s`, and tells its progress.
    Slow,
    /// Its connection breaks in the middle of each image, once: it goes on from there.
    Cuts,
    /// What it stores of an image is not what was sent.
    BadHash,
    /// Refuses every job.
    Rejects,
    /// Does not get an image installed.
    FailsInstall,
    /// Restarts, and is never heard of again.
    NeverComesBack,
    /// Goes on telling the version that it ran before.
    StaleVersion,
    /// Leaves heartbeats out.
    Flaky,
    /// Refuses every command.
    RefusesCommands,
}

impl Fault {
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

/// The faults of one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults(u16);

impl Faults {
    pub const NONE: Self = Self(0);

    #[must_use]
    pub const fn with(self, fault: Fault) -> Self {
        Self(self.0 | fault.bit())
    }

    pub const fn has(self, fault: Fault) -> bool {
        self.0 & fault.bit() != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Fault> {
        Fault::ALL.into_iter().filter(move |fault| self.has(*fault))
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> Self {
        faults.into_iter().fold(Self::NONE, Self::with)
    }
}
