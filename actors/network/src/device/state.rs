//! The durable state of all devices, with indexes by key and location. Pure.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use muster_geo::{BBox, Point, PointIndex, Shape};

use super::command::Command;
use super::deadline::{Deadlines, Due};
use super::entry::DeviceEntry;
use super::options::DeviceRules;
use super::ports::{DeviceFilter, RolloutTarget};
use super::record::{Device, Status};
use super::telemetry::Telemetry;
use super::transaction::StagedChanges;
use muster_core::Millis;
use muster_core::page::{Page, PageParams};

/// Largest number of devices that one page of a list scans: a filter with few matches yields short pages, not a long
/// wait.
const MAX_SCANNED: usize = 20_000;

/// What a durable decision changed for waiters and for the published directory.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// Devices that have undelivered commands.
    pub(super) wake: Vec<Arc<str>>,
    /// Devices whose credential may have changed.
    pub(super) credentials: Vec<Arc<str>>,
}

/// Readings of a device that are in memory.
#[derive(Debug, Default)]
pub(super) struct Readings {
    pub(super) telemetry: Telemetry,
    /// When unstored readings are to be stored.
    pub(super) save_at: Option<Millis>,
}

/// All devices.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    /// When the actor started to receive heartbeats.
    pub(super) up: Millis,
    entries: BTreeMap<Arc<str>, Arc<DeviceEntry>>,
    open: HashMap<Arc<str>, Arc<Vec<Command>>>,
    pub(super) readings: HashMap<Arc<str>, Readings>,
    /// Device that holds a key, by the key's thumbprint.
    kids: HashMap<Box<str>, Arc<str>>,
    places: PointIndex<Arc<str>>,
    pub(super) deadlines: Deadlines,
}

impl Fleet {
    /// Builds the fleet from stored records.
    pub(super) fn read_back(
        entries: Vec<DeviceEntry>,
        open: HashMap<Arc<str>, Vec<Command>>,
        up: Millis,
        rules: &DeviceRules,
    ) -> Self {
        let open = open.into_iter().map(|(id, open)| (id, Arc::new(open))).collect();
        let mut fleet = Self { up, open, ..Self::default() };
        let mut places = Vec::new();
        for mut entry in entries {
            let id = Arc::clone(&entry.device.id);
            entry.runtime.flap = super::flap::FlapDamper::read_back(entry.published_status, entry.device.status);
            if entry.published_status != entry.device.status {
                fleet.deadlines.push(up, Due::PublishStatus(Arc::clone(&id)));
            }
            if let Some(at) = entry.silent_at(up, rules) {
                entry.runtime.watched = true;
                fleet.deadlines.push(at, Due::Silent(Arc::clone(&id)));
            }
            if let Some(at) = entry.device.firmware.drifts_at(rules.drift_grace) {
                fleet.deadlines.push(at, Due::Drift(Arc::clone(&id)));
            }
            if let Some(place) = entry.device.location.filter(|_| entry.device.status != Status::Retired) {
                entry.runtime.published_location = Some((place, Millis(0)));
                places.push((Arc::clone(&id), place));
            }
            fleet.kids.extend(entry.keys.iter().map(|key| (key.kid.as_str().into(), Arc::clone(&id))));
            fleet.entries.insert(id, Arc::new(entry));
        }
        fleet.places = PointIndex::bulk(places);
        let expiries = fleet.open.iter().filter_map(|(id, open)| Some((next_expiry(open)?, Arc::clone(id))));
        let expiries: Vec<_> = expiries.collect();
        expiries.into_iter().for_each(|(at, id)| fleet.deadlines.push(at, Due::Expire(id)));
        fleet
    }

    /// Returns the number of devices whose firmware has drifted.
    pub(super) fn drifted(&self) -> usize {
        let present = self.iter().filter(|entry| entry.device.status != Status::Retired);
        present.filter(|entry| entry.device.firmware.drift).count()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entry(&self, id: &str) -> Option<&DeviceEntry> {
        self.entries.get(id).map(|entry| &**entry)
    }

    pub(super) fn entry_mut(&mut self, id: &str) -> Option<&mut DeviceEntry> {
        self.entries.get_mut(id).map(Arc::make_mut)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &DeviceEntry> {
        self.entries.values().map(|entry| &**entry)
    }

    pub(super) fn newest(&self) -> impl Iterator<Item = &DeviceEntry> {
        self.entries.values().rev().map(|entry| &**entry)
    }

    /// Returns the unfinished commands of a device.
    pub(super) fn open(&self, id: &str) -> Option<&[Command]> {
        self.open.get(id).map(|open| open.as_slice())
    }

    /// Returns the device that holds a key.
    pub(super) fn holder(&self, kid: &str) -> Option<&Arc<str>> {
        self.kids.get(kid)
    }

    /// Applies a durable decision.
    pub(super) fn take(&mut self, staged: &mut StagedChanges) -> Changed {
        let mut changed = Changed::default();
        for (id, open) in std::mem::take(&mut staged.open) {
            if open.iter().any(|command| command.deliveries == 0) {
                changed.wake.push(Arc::clone(&id));
            }
            if let Some(at) = next_expiry(&open) {
                self.deadlines.push(at, Due::Expire(Arc::clone(&id)));
            }
            if open.is_empty() { drop(self.open.remove(&id)) } else { drop(self.open.insert(id, open)) }
        }
        for (id, entry) in std::mem::take(&mut staged.entries) {
            let before = self.entries.get(&id);
            let trusted = |entry: &DeviceEntry| entry.device.status.trusted();
            if before.is_none_or(|before| before.keys != entry.keys || trusted(before) != trusted(&entry)) {
                for key in before.map(|before| before.keys.clone()).unwrap_or_default() {
                    self.kids.remove(key.kid.as_str());
                }
                self.kids.extend(entry.keys.iter().map(|key| (key.kid.as_str().into(), Arc::clone(&id))));
                changed.credentials.push(Arc::clone(&id));
            }
            self.entries.insert(id, entry);
        }
        for (at, due) in staged.due.drain(..) {
            self.deadlines.push(at, due);
        }
        for (id, place) in &staged.moved {
            self.place(id, *place);
        }
        changed
    }

    /// Updates the index of locations.
    pub(super) fn place(&mut self, id: &Arc<str>, place: Option<Point>) {
        match place {
            Some(place) => drop(self.places.insert(Arc::clone(id), place)),
            None => drop(self.places.remove(id)),
        }
    }

    /// Returns a page of the matching devices, newest first; retired ones only if the filter names their status.
    pub(super) fn list(&self, filter: &DeviceFilter, params: &PageParams) -> Page<Device> {
        let filter = Matcher::of(filter);
        let end = params.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = self.entries.range::<str, _>((Bound::Unbounded, end)).rev();
        let (mut items, mut scanned, mut last) = (Vec::new(), 0, None::<&str>);
        loop {
            if items.len() >= params.limit || scanned >= MAX_SCANNED {
                let next = rest.next().and(last).map(str::to_owned);
                return Page { items, next };
            }
            let Some((id, entry)) = rest.next() else { return Page { items, next: None } };
            (scanned, last) = (scanned + 1, Some(&**id));
            if filter.matches(&entry.device) {
                items.push(entry.device.clone());
            }
        }
    }

    /// Returns the matching devices as rollout targets, oldest first, and where to continue.
    pub(super) fn targets(&self, filter: &DeviceFilter, after: Option<&str>) -> (Vec<RolloutTarget>, Option<Arc<str>>) {
        let filter = Matcher::of(filter);
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut targets = Vec::new();
        let mut last = None;
        for (n, (id, entry)) in self.entries.range::<str, _>((start, Bound::Unbounded)).enumerate() {
            if n == MAX_SCANNED {
                return (targets, last);
            }
            if filter.matches(&entry.device) {
                targets.push(target(&entry.device));
            }
            last = Some(Arc::clone(id));
        }
        (targets, None)
    }

    /// Returns the nearest devices with their distance in metres.
    pub(super) fn near(&self, at: &Point, radius_m: f64, limit: usize) -> Vec<(Device, f64)> {
        let found = self.places.near(at, radius_m, limit);
        found.iter().filter_map(|near| Some((self.entry(near.key)?.device.clone(), near.distance_m))).collect()
    }

    /// Returns a page of the devices in a shape, newest first, and how many there are in all.
    pub(super) fn within(&self, shape: &Shape, params: &PageParams) -> (Page<Device>, usize) {
        let mut found: Vec<&Arc<str>> = self.places.within(shape).map(|(id, _)| id).collect();
        let total = found.len();
        found.sort_unstable_by(|one, other| other.cmp(one));
        let rest = found.into_iter().filter(|id| params.after.as_deref().is_none_or(|after| ***id < *after));
        let devices = rest.filter_map(|id| self.entry(id)).map(|entry| &entry.device);
        (Page::of(devices, params.limit, |device| device.id.to_string()).map(Device::clone), total)
    }
}

pub(super) fn target(device: &Device) -> RolloutTarget {
    RolloutTarget {
        id: Arc::clone(&device.id),
        kind: device.kind,
        vendor: device.vendor.clone(),
        hw_class: device.hw_class.clone(),
        hw_revision: device.hw_revision.clone(),
        status: device.status,
        firmware: device.firmware.clone(),
        last_seen: device.last_seen,
    }
}

fn next_expiry(open: &[Command]) -> Option<Millis> {
    open.iter().map(|command| command.expires_at).min()
}

/// A filter prepared for matching many devices.
struct Matcher<'a> {
    filter: &'a DeviceFilter,
    q: Option<String>,
    bbox: Option<BBox>,
}

impl<'a> Matcher<'a> {
    fn of(filter: &'a DeviceFilter) -> Self {
        let bbox = filter.bbox.and_then(|[west, south, east, north]| BBox::new(west, south, east, north).ok());
        Self { filter, q: filter.q.as_deref().map(str::to_lowercase), bbox }
    }

    fn matches(&self, device: &Device) -> bool {
        let filter = self.filter;
        let has = |list: &[String], wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| list.iter().any(|one| one == wanted))
        };
        filter.status.map_or(device.status != Status::Retired, |status| device.status == status)
            && filter.drift.is_none_or(|drift| device.firmware.drift == drift)
            && filter.kind.is_none_or(|kind| device.kind == kind)
            && has(&device.tags, &filter.tag)
            && has(&device.groups, &filter.group)
            && (filter.hw_class.is_none() || device.hw_class == filter.hw_class)
            && self.bbox.is_none_or(|bbox| device.location.is_some_and(|place| bbox.contains(&place)))
            && self.q.as_ref().is_none_or(|q| self.found(q, device))
    }

    fn found(&self, q: &str, device: &Device) -> bool {
        let has = |text: &str| text.to_lowercase().contains(q);
        has(&device.name) || has(&device.id) || device.serial.as_deref().is_some_and(has)
    }
}
