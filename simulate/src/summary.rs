//! Counters and the summary of a fleet.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::faults::Fault;
use super::state::Power;

/// A counter that only grows.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn increment(&self) {
        self.add(1);
    }

    pub(super) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters shared by all devices.
        #[derive(Debug, Default)]
        pub(super) struct Counts {
            $($(#[$doc])* pub(super) $name: Count,)*
        }

        /// Values of all counters at one moment.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
        pub struct Totals {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counts {
            pub(super) fn totals(&self) -> Totals {
                Totals { $($name: self.$name.get(),)* }
            }
        }
    };
}

counts! {
    /// Devices registered in this run.
    registered,
    /// Heartbeats accepted by the server.
    heartbeats,
    /// Heartbeats that a flaky device omitted.
    heartbeats_left_out,
    /// Telemetry reports accepted by the server.
    telemetry,
    /// Jobs received; each attempt counts.
    jobs,
    /// Job reports accepted by the server.
    reports,
    /// Job reports that were outdated when they arrived.
    stale_reports,
    /// Downloads started.
    downloads,
    /// Downloads resumed after an interruption.
    downloads_resumed,
    /// Bytes downloaded.
    bytes,
    /// Images installed.
    installs,
    /// Restarts completed.
    restarts,
    /// Rollbacks completed.
    rollbacks,
    /// Commands executed.
    commands_done,
    /// Commands refused by a device.
    commands_refused,
    /// Commands announced on a WebSocket.
    commands_by_feed,
    /// WebSockets opened.
    sockets,
    /// WebSockets that resumed at their last position.
    sockets_resumed,
    /// Calls repeated after a transient failure.
    retries,
    /// Calls that the server rejected.
    refused,
}

/// What a fleet has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Number of devices.
    pub devices: usize,
    /// Number of devices that are `on`, `restarting` and `dead`.
    pub power: BTreeMap<&'static str, usize>,
    /// Number of devices by version that they run.
    pub versions: BTreeMap<String, usize>,
    /// Number of devices by fault.
    pub faults: BTreeMap<&'static str, usize>,
    /// Number of jobs by final state, as the devices reported it.
    pub outcomes: BTreeMap<String, u64>,
    /// Values of all counters.
    pub totals: Totals,
    /// The last error response of the server.
    pub last_refusal: Option<String>,
}

/// What the summary counts of one device.
#[derive(Debug)]
pub(super) struct DeviceSummary {
    pub(super) power: Power,
    pub(super) version: String,
    pub(super) faults: Vec<Fault>,
}

impl Summary {
    pub(super) fn of(devices: impl Iterator<Item = DeviceSummary>, totals: Totals) -> Self {
        let mut summary = Self {
            devices: 0,
            power: BTreeMap::new(),
            versions: BTreeMap::new(),
            faults: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            totals,
            last_refusal: None,
        };
        for device in devices {
            summary.devices += 1;
            let power = match device.power {
                Power::On => "on",
                Power::Restarting => "restarting",
                Power::Dead => "dead",
            };
            *summary.power.entry(power).or_default() += 1;
            *summary.versions.entry(device.version).or_default() += 1;
            for fault in device.faults {
                *summary.faults.entry(fault.name()).or_default() += 1;
            }
        }
        summary
    }

    /// Returns the summary in one line.
    pub fn line(&self) -> String {
        let list = |figures: &BTreeMap<&'static str, usize>| {
            figures.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
        };
        let versions: Vec<_> = self.versions.iter().map(|(name, count)| format!("{name}: {count}")).collect();
        let totals = &self.totals;
        format!(
            "{} devices ({}), {} heartbeats, {} jobs, {} installs, {} commands, {} retries; {}",
            self.devices,
            list(&self.power),
            totals.heartbeats,
            totals.jobs,
            totals.installs,
            totals.commands_done + totals.commands_refused,
            totals.retries,
            versions.join(", ")
        )
    }
}
