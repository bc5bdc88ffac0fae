//! A device with what is kept of it beside what is shown. Pure.

use muster_geo::{Point, distance_m, geohash, h3_cell};
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::flap::Flap;
use super::key::Key;
use super::options::DeviceRules;
use super::record::{Device, FirmwareVersion, Health, Slot, Status, Sync};
use super::status::Move;
use super::trust::{BadSignatures, Boots, Judged};
use muster_core::Millis;

/// A device as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) device: Device,
    /// The present key first, then one that was replaced and is taken for a while yet.
    pub(super) keys: Vec<Key>,
    pub(super) boots: Boots,
    /// The last status that was told.
    pub(super) told: Status,
    /// How many entries its history has had.
    pub(super) history: u64,
    /// The commands that are not finished, in the order of their making.
    pub(super) open: Vec<String>,
    #[serde(skip)]
    pub(super) live: Live,
}

/// What is not stored.
#[derive(Debug, Clone, Default)]
pub(super) struct Live {
    pub(super) flap: Flap,
    pub(super) bad: BadSignatures,
    /// Where `device.located` was last told, and when.
    pub(super) located: Option<(Point, Millis)>,
    /// When a heartbeat that is not written yet is to be.
    pub(super) save_at: Option<Millis>,
    /// Someone looks when it falls silent.
    pub(super) watched: bool,
}

impl Record for Entry {
    const TREE: Tree = Tree::Devices;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// What a heartbeat says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Random at each start of the device.
    pub boot_id: Option<Box<str>>,
    /// Rising within a boot.
    pub seq: Option<u64>,
    pub health: Option<Health>,
    pub location: Option<Point>,
    pub location_accuracy_m: Option<f64>,
    /// What it runs.
    pub firmware: Option<FirmwareVersion>,
    pub slot: Option<Slot>,
}

/// Who vouches for a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vouched {
    /// The device's own key.
    ByKey,
    /// A person, for a device that cannot.
    ByPerson,
}

/// What a heartbeat changed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Heard {
    pub(super) judged: Judged,
    /// Each status that it went through.
    pub(super) path: Vec<Status>,
    /// The rule of health that is broken.
    pub(super) ill: Option<&'static str>,
    pub(super) firmware: bool,
    pub(super) moved: bool,
    pub(super) located: bool,
}

impl Entry {
    /// Takes a heartbeat over, all but its change of status, which it only says.
    pub(super) fn hear(&mut self, report: &Report, vouched: Vouched, now: Millis, rules: &DeviceRules) -> Heard {
        let judged = match vouched {
            Vouched::ByKey => self.boots.judge(report.boot_id.as_deref(), report.seq, now, rules.clone_strikes),
            Vouched::ByPerson => Judged::Fresh,
        };
        let mut heard = Heard { judged, path: vec![], ill: None, firmware: false, moved: false, located: false };
        self.device.last_seen = Some(now);
        self.live.save_at.get_or_insert(now.plus(rules.save_every));
        if judged == Judged::Clone {
            return heard;
        }
        if judged != Judged::Stale {
            if let Some(health) = &report.health {
                self.device.health = health.clone();
            }
            heard.moved = report.location.is_some_and(|place| self.place(place, report.location_accuracy_m));
            heard.located = self.located(now, rules);
            heard.firmware = self.runs(report);
        }
        heard.ill = rules.health.broken(&self.device.health, self.device.status);
        let beat = if heard.ill.is_some() { Move::Ill } else { Move::Well };
        let mut status = self.device.status;
        while let Some(next) = status.after(beat).filter(|next| *next != status) {
            heard.path.push(next);
            status = next;
        }
        heard
    }

    /// Whether a heartbeat changes nothing that must be written before it is answered.
    pub(super) fn is_quiet(&self, report: &Report, vouched: Vouched, now: Millis, rules: &DeviceRules) -> bool {
        let follows = vouched == Vouched::ByPerson || self.boots.follows(report.boot_id.as_deref(), report.seq);
        let health = report.health.as_ref().unwrap_or(&self.device.health);
        let ill = rules.health.broken(health, self.device.status).is_some();
        let same = self.device.status.after(if ill { Move::Ill } else { Move::Well }) == Some(self.device.status);
        let firmware = report.firmware.as_ref().is_none_or(|new| self.device.firmware.current.as_ref() == Some(new));
        let slot = report.slot.is_none_or(|slot| self.device.firmware.slot == Some(slot));
        let here = report.location.is_none_or(|place| !self.far(&place, now, rules));
        follows && same && firmware && slot && here
    }

    fn far(&self, place: &Point, now: Millis, rules: &DeviceRules) -> bool {
        self.live.located.as_ref().is_none_or(|(told, at)| {
            now.since(*at) >= rules.located_every && distance_m(told, place) >= rules.located_metres
        })
    }

    /// Whether its place is to be told now.
    fn located(&mut self, now: Millis, rules: &DeviceRules) -> bool {
        let Some(place) = self.device.location.filter(|place| self.far(place, now, rules)) else { return false };
        self.live.located = Some((place, now));
        true
    }

    /// Sets where it is; whether that is another place.
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

    fn runs(&mut self, report: &Report) -> bool {
        let firmware = &mut self.device.firmware;
        let before = firmware.clone();
        if let Some(new) = report.firmware.as_ref().filter(|new| firmware.current.as_ref() != Some(*new)) {
            let old = firmware.current.replace(new.clone());
            firmware.previous = old.or_else(|| firmware.previous.take());
        }
        firmware.slot = report.slot.or(firmware.slot);
        if let (Some(desired), Some(current)) = (&firmware.desired, &firmware.current)
            && desired.version == current.version
            && desired.sequence == current.sequence
        {
            firmware.sync = Sync::InSync;
        }
        *firmware != before
    }

    /// When it is silent for too long, unless it is heard of before; `None` where nobody waits for it. A server that was
    /// down has heard nobody: silence counts from `up` at the earliest.
    pub(super) fn silent_at(&self, up: Millis, rules: &DeviceRules) -> Option<Millis> {
        if !matches!(self.device.status, Status::Online | Status::Degraded) {
            return None;
        }
        let since = self.device.last_seen.unwrap_or(up).max(up);
        Some(Millis(since.0 + u64::from(self.device.heartbeat_s) * 1_000 * u64::from(rules.offline_after_intervals)))
    }
}
