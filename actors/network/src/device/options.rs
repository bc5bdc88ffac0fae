//! Configuration of the device actor.

use std::time::Duration;

use super::health::HealthRules;

/// Rules by which the actor judges and bounds devices.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceRules {
    /// Thresholds past which a device is degraded.
    pub health: HealthRules,
    /// Number of heartbeat intervals without a heartbeat after which a device is offline.
    pub offline_after_intervals: u32,
    /// Time within which at most one change between online, degraded and offline is published for a device.
    pub flap_window: Duration,
    /// Time within which the state that heartbeats report is stored at most once for each device.
    pub save_every: Duration,
    /// Number of signs, within ten minutes, that two devices use one key, after which the device is quarantined. A
    /// single one may be a heartbeat that was overtaken by a later one.
    pub clone_strikes: usize,
    /// Number of invalid signatures under a device's identifier, within an hour, after which it is quarantined; 0 means
    /// never. They are counted, audited and published in any case. Anyone who knows the identifier can send them: with
    /// a threshold, strangers can take devices off the network.
    pub quarantine_at_bad_signatures: u32,
    /// Time without an acknowledgement after which a command is delivered again.
    pub redeliver_after: Duration,
    /// Largest number of unfinished commands of one device.
    pub max_open_commands: usize,
    /// Distance in metres that a device must move before `device.located` is published.
    pub located_metres: f64,
    /// Time within which `device.located` is published at most once for each device.
    pub located_every: Duration,
    /// Time for which a device may run another firmware than the desired one before this counts as drift.
    pub drift_grace: Duration,
    /// Largest number of devices, retired ones included.
    pub max_devices: usize,
}

impl Default for DeviceRules {
    fn default() -> Self {
        Self {
            health: HealthRules::default(),
            offline_after_intervals: 3,
            flap_window: Duration::from_secs(30),
            save_every: Duration::from_secs(60),
            clone_strikes: 3,
            quarantine_at_bad_signatures: 0,
            redeliver_after: Duration::from_secs(30),
            max_open_commands: 32,
            located_metres: 10.0,
            located_every: Duration::from_secs(5),
            drift_grace: Duration::from_secs(600),
            max_devices: 1_000_000,
        }
    }
}
