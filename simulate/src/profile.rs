//! How the devices of a fleet behave: times, and faults as shares. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::faults::{Fault, Faults};
use super::random::Random;

/// Shares of devices with each fault, 0 to 1; each is drawn for itself.
pub type Shares = BTreeMap<Fault, f64>;

/// How a fleet behaves.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// From one heartbeat to the next, give or take a fifth.
    pub heartbeat_s: u32,
    /// From one telemetry report to the next; 0 sends none.
    pub telemetry_s: u32,
    /// How long an installation takes.
    pub install_ms: u64,
    /// How long a restart is silent.
    pub reboot_ms: u64,
    /// How fast a slow device fetches.
    pub slow_bytes_per_s: u64,
    /// The share that hears of its commands on a socket, where the others ask by long poll.
    pub commands_by_feed: f64,
    /// The faults of all.
    pub faults: Shares,
    /// The faults of a stretch of the fleet, in place of those of all.
    pub stretch: Vec<Stretch>,
}

/// Some devices in the order of their identifiers, in which a job's groups take them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// From this percent of the fleet on.
    pub from_pct: f64,
    /// Up to this percent.
    pub to_pct: f64,
    pub faults: Shares,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            heartbeat_s: 10,
            telemetry_s: 15,
            install_ms: 1_000,
            reboot_ms: 2_000,
            slow_bytes_per_s: 16 * 1024,
            commands_by_feed: 0.5,
            faults: Shares::new(),
            stretch: Vec::new(),
        }
    }
}

/// A profile that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProfileError(pub String);

/// Names of the profiles that need no file.
pub const NAMES: [&str; 3] = ["healthy", "mixed", "group2-fails"];

impl Profile {
    /// A profile that has a name of its own.
    pub fn named(name: &str) -> Option<Self> {
        let some = |shares: &[(Fault, f64)]| shares.iter().copied().collect::<Shares>();
        match name {
            "healthy" => Some(Self::default()),
            "mixed" => Some(Self {
                faults: some(&[
                    (Fault::Slow, 0.1),
                    (Fault::Cuts, 0.1),
                    (Fault::BadHash, 0.03),
                    (Fault::Rejects, 0.03),
                    (Fault::FailsInstall, 0.05),
                    (Fault::NeverComesBack, 0.02),
                    (Fault::StaleVersion, 0.02),
                    (Fault::Flaky, 0.1),
                    (Fault::RefusesCommands, 0.05),
                ]),
                ..Self::default()
            }),
            // Of a job with groups of 10, 30 and 60 percent, the second one.
            "group2-fails" => Some(Self {
                stretch: vec![Stretch {
                    from_pct: 10.0,
                    to_pct: 40.0,
                    faults: some(&[(Fault::FailsInstall, 0.6), (Fault::Rejects, 0.1)]),
                }],
                ..Self::default()
            }),
            _ => None,
        }
    }

    /// A profile as TOML says it.
    ///
    /// # Errors
    /// What is unknown or out of its range, with its place.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text).map_err(|error| ProfileError(error.to_string()))?;
        profile.check()?;
        Ok(profile)
    }

    fn check(&self) -> Result<(), ProfileError> {
        let wrong = |what: &str| Err(ProfileError(what.to_owned()));
        if !(1..=3_600).contains(&self.heartbeat_s) || self.telemetry_s > 3_600 {
            return wrong("heartbeat_s is 1 to 3600, telemetry_s 0 to 3600");
        }
        if self.install_ms > 3_600_000 || self.reboot_ms > 3_600_000 || self.slow_bytes_per_s == 0 {
            return wrong("install_ms and reboot_ms are at most 3600000, slow_bytes_per_s at least 1");
        }
        let share = |share: f64| (0.0..=1.0).contains(&share);
        let shares = |shares: &Shares| shares.values().all(|part| share(*part));
        if !share(self.commands_by_feed) || !shares(&self.faults) {
            return wrong("shares, of faults and commands_by_feed, are 0 to 1");
        }
        let sound = |stretch: &Stretch| {
            let within = (0.0..=100.0).contains(&stretch.from_pct) && (0.0..=100.0).contains(&stretch.to_pct);
            within && stretch.from_pct < stretch.to_pct && shares(&stretch.faults)
        };
        match self.stretch.iter().all(sound) {
            true => Ok(()),
            false => wrong("a stretch goes from from_pct up to a larger to_pct, both 0 to 100, with shares of 0 to 1"),
        }
    }

    /// The faults of the device at `position` of `count`, and whether it hears of commands on a socket. A seed gives
    /// the same ones again.
    pub fn draw(&self, seed: u64, position: usize, count: usize) -> (Faults, Hears) {
        let mut random = Random::of(seed, position as u64);
        let at = position as f64 * 100.0 / count.max(1) as f64;
        let stretch = self.stretch.iter().find(|stretch| (stretch.from_pct..stretch.to_pct).contains(&at));
        let shares = stretch.map_or(&self.faults, |stretch| &stretch.faults);
        // Drawn for every fault, so that a share that changes leaves the draws of the others.
        let faults = Fault::ALL.map(|fault| (fault, random.share()));
        let drawn = faults.into_iter().filter(|(fault, drawn)| shares.get(fault).is_some_and(|share| drawn < share));
        let faults = drawn.map(|(fault, _)| fault).collect();
        let hears = if random.share() < self.commands_by_feed { Hears::Feed } else { Hears::LongPoll };
        (faults, hears)
    }

    pub(super) fn heartbeat(&self) -> Duration {
        Duration::from_secs(self.heartbeat_s.into())
    }
}

/// How a device hears of its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    LongPoll,
    Feed,
}
