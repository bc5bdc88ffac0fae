//! Profiles: times of the devices of a fleet, and the shares of devices with each fault. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::faults::{Fault, Faults};
use super::random::Random;

/// Share of devices with each fault, 0 to 1. Each fault is drawn independently.
pub type Shares = BTreeMap<Fault, f64>;

/// Behaviour of the devices of a fleet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// Seconds between heartbeats, plus or minus a fifth.
    pub heartbeat_s: u32,
    /// Seconds between telemetry reports; 0 sends none.
    pub telemetry_s: u32,
    /// Milliseconds that an installation takes.
    pub install_ms: u64,
    /// Milliseconds that a restart takes.
    pub reboot_ms: u64,
    /// Bytes per second at which a slow device downloads.
    pub slow_bytes_per_s: u64,
    /// Share of devices that receive commands on a WebSocket; the others use long polls.
    pub commands_by_feed: f64,
    /// Faults of all devices.
    pub faults: Shares,
    /// Parts of the fleet with faults of their own, in place of those of all devices.
    pub stretch: Vec<Stretch>,
}

/// A contiguous part of the fleet in the order of device identifiers, the order in which rollout groups select devices.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Percent of the fleet at which the part begins.
    pub from_pct: f64,
    /// Percent of the fleet before which the part ends.
    pub to_pct: f64,
    /// Faults of these devices.
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

/// Names of the built-in profiles.
pub const PROFILE_NAMES: [&str; 3] = ["healthy", "mixed", "group2-fails"];

impl Profile {
    /// Returns a built-in profile.
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
            // The second group of a job with groups of 10, 30 and 60 percent.
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

    /// Parses a profile in TOML.
    ///
    /// # Errors
    /// A field is unknown or out of its range; the error says which and where.
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

    /// Draws the faults of the device at `position` of `count`, and how it receives commands. The same seed gives the
    /// same result.
    pub fn draw(&self, seed: u64, position: usize, count: usize) -> (Faults, CommandChannel) {
        let mut random = Random::for_device(seed, position as u64);
        let at = position as f64 * 100.0 / count.max(1) as f64;
        let stretch = self.stretch.iter().find(|stretch| (stretch.from_pct..stretch.to_pct).contains(&at));
        let shares = stretch.map_or(&self.faults, |stretch| &stretch.faults);
        // Every fault is drawn, so that changing one share does not affect the draws of the others.
        let faults = Fault::ALL.map(|fault| (fault, random.uniform()));
        let drawn = faults.into_iter().filter(|(fault, drawn)| shares.get(fault).is_some_and(|share| drawn < share));
        let faults = drawn.map(|(fault, _)| fault).collect();
        let command_channel =
            if random.uniform() < self.commands_by_feed { CommandChannel::Feed } else { CommandChannel::LongPoll };
        (faults, command_channel)
    }

    pub(super) fn heartbeat(&self) -> Duration {
        Duration::from_secs(self.heartbeat_s.into())
    }
}

/// How a device receives commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandChannel {
    /// By long polls.
    LongPoll,
    /// On a WebSocket of the live feed.
    Feed,
}
