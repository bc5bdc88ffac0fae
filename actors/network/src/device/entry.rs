//! The stored record of a device: its public record and what the server keeps beside it. Pure.

use muster_geo::{Point, distance_m, geohash, h3_cell};
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::credentials::DeviceKey;
use super::flap::FlapDamper;
use super::options::DeviceRules;
use super::record::{Device, FirmwareVersion, Health, Slot, Status};
use super::status::StatusTrigger;
use super::trust::{BadSignatures, BootVerdict, Boots};
use muster_core::Millis;

/// A device as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct DeviceEntry {
    pub(super) device: Device,
    /// The current key first, then a replaced one that is still accepted for its grace period.
    pub(super) keys: Vec<DeviceKey>,
    /// Boots that heartbeats have reported, for the detection of cloned keys.
    pub(super) boots: Boots,
    /// Status that was last published.
    #[serde(rename = "told")]
    pub(super) published_status: Status,
    /// Number of history entries that were ever written.
    pub(super) history: u64,
    /// Identifiers of unfinished commands, oldest first.
    pub(super) open: Vec<String>,
    #[serde(skip)]
    pub(super) runtime: DeviceRuntime,
}

/// State of a device that is kept in memory only.
#[derive(Debug, Clone, Default)]
pub(super) struct DeviceRuntime {
    pub(super) flap: FlapDamper,
    pub(super) bad: BadSignatures,
    /// Location and time of the last published `device.located`.
    pub(super) published_location: Option<(Point, Millis)>,
    /// When an unstored heartbeat is to be stored.
    pub(super) save_at: Option<Millis>,
    /// Whether a deadline for silence is scheduled.
    pub(super) watched: bool,
}

impl Record for DeviceEntry {
    const TREE: Tree = Tree::Devices;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// Content of a heartbeat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heartbeat {
    /// Identifier of the boot, random at each start of the device.
    pub boot_id: Option<Box<str>>,
    /// Sequence number, increasing within a boot.
    pub seq: Option<u64>,
    /// Health; `None` leaves the last report in place.
    pub health: Option<Health>,
    /// Location; `None` leaves the last one in place.
    pub location: Option<Point>,
    /// Accuracy of the location in metres.
    pub location_accuracy_m: Option<f64>,
    /// Firmware version that the device runs.
    pub firmware: Option<FirmwareVersion>,
    /// Active slot of an A/B device.
    pub slot: Option<Slot>,
}

/// Principal that sent a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeartbeatSource {
    /// The device itself, authenticated by its key.
    DeviceKey,
    /// A person, on behalf of a device that cannot send heartbeats itself.
    Operator,
}

/// What a heartbeat changed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeartbeatOutcome {
    pub(super) verdict: BootVerdict,
    /// Each status that the device passed through.
    pub(super) path: Vec<Status>,
    /// Name of the health rule that is broken.
    pub(super) unhealthy: Option<&'static str>,
    pub(super) firmware: bool,
    pub(super) moved: bool,
    pub(super) location_published: bool,
}

impl DeviceEntry {
    /// Applies a heartbeat except for its status change, which it only returns.
    pub(super) fn apply_heartbeat(
        &mut self,
        report: &Heartbeat,
        source: HeartbeatSource,
        now: Millis,
        rules: &DeviceRules,
    ) -> HeartbeatOutcome {
        let verdict = match source {
            HeartbeatSource::DeviceKey => {
                self.boots.evaluate(report.boot_id.as_deref(), report.seq, now, rules.clone_strikes)
            }
            HeartbeatSource::Operator => BootVerdict::Fresh,
        };
        let mut outcome = HeartbeatOutcome {
            verdict,
            path: vec![],
            unhealthy: None,
            firmware: false,
            moved: false,
            location_published: false,
        };
        self.device.last_seen = Some(now);
        self.runtime.save_at.get_or_insert(now.plus(rules.save_every));
        if verdict == BootVerdict::Clone {
            return outcome;
        }
        if verdict != BootVerdict::Stale {
            if let Some(health) = &report.health {
                self.device.health = health.clone();
            }
            outcome.moved = report.location.is_some_and(|place| self.place(place, report.location_accuracy_m));
            outcome.location_published = self.note_location_published(now, rules);
            outcome.firmware = self.device.firmware.report(report, now);
        }
        outcome.unhealthy = rules.health.broken(&self.device.health, self.device.status);
        let trigger = if outcome.unhealthy.is_some() {
            StatusTrigger::UnhealthyHeartbeat
        } else {
            StatusTrigger::HealthyHeartbeat
        };
        let mut status = self.device.status;
        while let Some(next) = status.after(trigger).filter(|next| *next != status) {
            outcome.path.push(next);
            status = next;
        }
        outcome
    }

    /// Returns whether a heartbeat changes nothing that must be stored before it is answered.
    pub(super) fn is_quiet(
        &self,
        report: &Heartbeat,
        source: HeartbeatSource,
        now: Millis,
        rules: &DeviceRules,
    ) -> bool {
        let follows = source == HeartbeatSource::Operator || self.boots.follows(report.boot_id.as_deref(), report.seq);
        let health = report.health.as_ref().unwrap_or(&self.device.health);
        let unhealthy = rules.health.broken(health, self.device.status).is_some();
        let same = self.device.status.after(if unhealthy {
            StatusTrigger::UnhealthyHeartbeat
        } else {
            StatusTrigger::HealthyHeartbeat
        }) == Some(self.device.status);
        let firmware = report.firmware.as_ref().is_none_or(|new| self.device.firmware.runs(new));
        let slot = report.slot.is_none_or(|slot| self.device.firmware.slot == Some(slot));
        let here = report.location.is_none_or(|place| !self.location_is_due(&place, now, rules));
        follows && same && firmware && slot && here
    }

    fn location_is_due(&self, place: &Point, now: Millis, rules: &DeviceRules) -> bool {
        self.runtime.published_location.as_ref().is_none_or(|(published, at)| {
            now.since(*at) >= rules.located_every && distance_m(published, place) >= rules.located_metres
        })
    }

    /// Returns whether the location is to be published now, and notes that it was.
    fn note_location_published(&mut self, now: Millis, rules: &DeviceRules) -> bool {
        let Some(place) = self.device.location.filter(|place| self.location_is_due(place, now, rules)) else {
            return false;
        };
        self.runtime.published_location = Some((place, now));
        true
    }

    /// Sets the location; returns whether it differs from the previous one.
    pub(super) fn place(&mut self, place: Point, accuracy_m: Option<f64>) -> bool {
        self.device.location_accuracy_m = accuracy_m;
        if self.device.location == Some(place) {
            return false;
        }
        self.device.geohash = geohash(&place, 9).ok();
        self.device.h3 = h3_cell(&place, 7).ok();
        self.device.location = Some(place);
        true
    }

    /// Returns when the device counts as silent unless a heartbeat arrives before; `None` for a device that is not
    /// expected to report. A server that was down received no heartbeats: silence counts from `up` at the earliest.
    pub(super) fn silent_at(&self, up: Millis, rules: &DeviceRules) -> Option<Millis> {
        if !matches!(self.device.status, Status::Online | Status::Degraded) {
            return None;
        }
        let since = self.device.last_seen.unwrap_or(up).max(up);
        Some(Millis(since.0 + u64::from(self.device.heartbeat_s) * 1_000 * u64::from(rules.offline_after_intervals)))
    }
}
