//! What a fleet did, counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::faults::Fault;
use super::state::Power;

/// A figure that only rises.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn up(&self) {
        self.add(1);
    }

    pub(super) fn add(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What all devices did together, so far.
        #[derive(Debug, Default)]
        pub(super) struct Counts {
            $($(#[$doc])* pub(super) $name: Count,)*
        }

        /// The figures of a moment.
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
    /// Devices that were registered in this run.
    registered,
    heartbeats,
    /// Heartbeats that a flaky device left out.
    heartbeats_left_out,
    telemetry,
    /// Jobs taken in hand, each attempt for itself.
    jobs,
    /// Reports of jobs that were taken.
    reports,
    /// Reports of something that the server had moved on from.
    stale_reports,
    downloads,
    /// Downloads that went on where they were cut.
    downloads_resumed,
    bytes,
    installs,
    restarts,
    rollbacks,
    commands_done,
    commands_refused,
    /// Commands that a socket told of.
    commands_by_feed,
    /// Sockets opened.
    sockets,
    /// Sockets that went on after a break from where they were.
    sockets_resumed,
    /// Calls tried again: no answer, or one that said to.
    retries,
    /// Calls that the server refused for good.
    refused,
}

/// What a fleet did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub devices: usize,
    /// Devices by what they are: on, restarting, dead.
    pub power: BTreeMap<&'static str, usize>,
    /// Devices by the version that they run.
    pub versions: BTreeMap<String, usize>,
    /// Devices by fault.
    pub faults: BTreeMap<&'static str, usize>,
    /// Ends of jobs, as the devices told them.
    pub outcomes: BTreeMap<String, u64>,
    pub totals: Totals,
    /// The last refusal, in the server's words.
    pub last_refusal: Option<String>,
}

/// One device's part in a summary.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) power: Power,
    pub(super) version: String,
    pub(super) faults: Vec<Fault>,
}

impl Summary {
    pub(super) fn of(parts: impl Iterator<Item = Part>, totals: Totals) -> Self {
        let mut summary = Self {
            devices: 0,
            power: BTreeMap::new(),
            versions: BTreeMap::new(),
            faults: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            totals,
            last_refusal: None,
        };
        for part in parts {
            summary.devices += 1;
            let power = match part.power {
                Power::On => "on",
                Power::Restarting => "restarting",
                Power::Dead => "dead",
            };
            *summary.power.entry(power).or_default() += 1;
            *summary.versions.entry(part.version).or_default() += 1;
            for fault in part.faults {
                *summary.faults.entry(fault.name()).or_default() += 1;
            }
        }
        summary
    }

    /// One line of progress.
    pub fn line(&self) -> String {
        let of = |figures: &BTreeMap<&'static str, usize>| {
            figures.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
        };
        let versions: Vec<_> = self.versions.iter().map(|(name, count)| format!("{name}: {count}")).collect();
        let totals = &self.totals;
        format!(
            "{} devices ({}), {} heartbeats, {} jobs, {} installs, {} commands, {} retries; {}",
            self.devices,
            of(&self.power),
            totals.heartbeats,
            totals.jobs,
            totals.installs,
            totals.commands_done + totals.commands_refused,
            totals.retries,
            versions.join(", ")
        )
    }
}
