//! What can be set of devices.

use std::time::Duration;

use super::health::HealthRules;

/// What the actor goes by.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceRules {
    pub health: HealthRules,
    /// Intervals without a heartbeat after which a device is offline.
    pub offline_after_intervals: u32,
    /// At most one event of a device's coming and going in this time.
    pub flap_window: Duration,
    /// What heartbeats say is written at most once in this time for each device.
    pub save_every: Duration,
    /// Signs of two devices under one key, within ten minutes, that quarantine it. One may be a heartbeat that was
    /// overtaken.
    pub clone_strikes: usize,
    /// Signatures under a device's name that do not verify, within an hour, that quarantine it; 0 is never. They are
    /// counted, audited and told either way. Whoever knows a device's name can send them: with a threshold, strangers
    /// can take devices off the network.
    pub quarantine_at_bad_signatures: u32,
    /// A command is handed out again after so long without an answer.
    pub redeliver_after: Duration,
    /// Commands that may wait for one device.
    pub max_open_commands: usize,
    /// Metres that a device must move for `device.located` to be told.
    pub located_metres: f64,
    /// `device.located` is told at most once in this time for each device.
    pub located_every: Duration,
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
            max_devices: 1_000_000,
        }
    }
}
