//! Settings of devices.

use std::time::Duration;

use muster_network::device::{DeviceRules, HealthRules, ReportedErrorPolicy};
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// When a device counts as degraded, as offline, or as compromised.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Devices {
    /// Battery charge in percent, below which a device is degraded.
    pub battery_below_pct: f64,
    /// Temperature in degrees Celsius, above which a device is degraded.
    pub temp_above_c: f64,
    /// Temperature in degrees Celsius, below which a device is degraded.
    pub temp_below_c: f64,
    /// Signal strength in dBm, below which a device is degraded.
    pub signal_below_dbm: f64,
    /// Whether a device that reports an error of its own is degraded.
    pub degrade_on_error: bool,
    /// Number of intervals without a heartbeat after which a device is offline.
    pub offline_after_intervals: u32,
    /// Changes of a device's connectivity are published at most once in this time, in seconds.
    pub flap_window_seconds: u64,
    /// The state that heartbeats report is stored at most once in this time for each device, in seconds.
    pub save_seconds: u64,
    /// Number of signs within ten minutes that two devices use one key, after which the device is quarantined.
    pub clone_strikes: usize,
    /// Number of invalid signatures under a device's identifier within an hour, after which it is quarantined; 0 means
    /// never. Anyone who knows the identifier can send them, so a threshold lets strangers take devices off the
    /// network.
    pub quarantine_at_bad_signatures: u32,
    /// Seconds without an acknowledgement after which a command is delivered again.
    pub redeliver_seconds: u64,
    /// Largest number of unacknowledged commands for one device.
    pub max_open_commands: usize,
    /// Seconds for which a device may run another firmware than the desired one before this counts as drift.
    pub drift_grace_seconds: u64,
    pub max_devices: usize,
}

impl Default for Devices {
    fn default() -> Self {
        let DeviceRules { health, .. } = DeviceRules::default();
        let rules = DeviceRules::default();
        Self {
            battery_below_pct: health.battery_below_pct,
            temp_above_c: health.temp_above_c,
            temp_below_c: health.temp_below_c,
            signal_below_dbm: health.signal_below_dbm,
            degrade_on_error: health.errors == ReportedErrorPolicy::Degrade,
            offline_after_intervals: rules.offline_after_intervals,
            flap_window_seconds: rules.flap_window.as_secs(),
            save_seconds: rules.save_every.as_secs(),
            clone_strikes: rules.clone_strikes,
            quarantine_at_bad_signatures: rules.quarantine_at_bad_signatures,
            redeliver_seconds: rules.redeliver_after.as_secs(),
            max_open_commands: rules.max_open_commands,
            drift_grace_seconds: rules.drift_grace.as_secs(),
            max_devices: rules.max_devices,
        }
    }
}

impl Devices {
    /// Converts the settings to those of the device actor.
    pub fn rules(&self) -> DeviceRules {
        DeviceRules {
            health: HealthRules {
                battery_below_pct: self.battery_below_pct,
                temp_above_c: self.temp_above_c,
                temp_below_c: self.temp_below_c,
                signal_below_dbm: self.signal_below_dbm,
                errors: if self.degrade_on_error { ReportedErrorPolicy::Degrade } else { ReportedErrorPolicy::Ignore },
            },
            offline_after_intervals: self.offline_after_intervals,
            flap_window: Duration::from_secs(self.flap_window_seconds),
            save_every: Duration::from_secs(self.save_seconds),
            clone_strikes: self.clone_strikes,
            quarantine_at_bad_signatures: self.quarantine_at_bad_signatures,
            redeliver_after: Duration::from_secs(self.redeliver_seconds),
            max_open_commands: self.max_open_commands,
            drift_grace: Duration::from_secs(self.drift_grace_seconds),
            max_devices: self.max_devices,
            ..DeviceRules::default()
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad =
            |name: &str, why: &str| Err(ConfigError::Bad { setting: format!("devices.{name}"), why: why.to_owned() });
        if self.offline_after_intervals == 0 {
            return bad("offline_after_intervals", "must be at least 1: 3 lets two heartbeats be lost");
        }
        if self.clone_strikes < 2 {
            return bad("clone_strikes", "must be at least 2: one may be a heartbeat that was overtaken");
        }
        if !(1..=1_000).contains(&self.max_open_commands) {
            return bad("max_open_commands", "must be 1 to 1000");
        }
        if self.drift_grace_seconds > 30 * 24 * 3600 {
            return bad("drift_grace_seconds", "must be at most 2592000 (30 days)");
        }
        if self.save_seconds == 0 || self.redeliver_seconds == 0 {
            return bad("save_seconds", "and redeliver_seconds must be at least 1");
        }
        Ok(())
    }
}
