//! All incidents and alerts with their indexes. Pure: a request makes a [`Plan`], which the actor applies and records
//! in its journal.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use muster_geo::BBox;

use super::access::{not_found, visible};
use super::kind::IncidentKind;
use super::lifecycle::State;
use super::plan::Plan;
use super::record::Incident;
use super::settings::IncidentSettings;
use crate::alert::{AlertIndex, AlertRecord, Severity};
use muster_core::ids::IdKind;
use muster_core::page::{Page, PageParams};
use muster_core::{Error, Millis};
use muster_identity::By;

/// Caller, time and source of identifiers of a request.
#[derive(Clone, Copy)]
pub(super) struct RequestContext<'a> {
    pub(super) by: &'a By,
    pub(super) now: Millis,
    pub(super) new_id: &'a dyn Fn(IdKind) -> String,
}

/// Filter of incidents; all fields that are set must match.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IncidentFilter {
    /// Any of these states; empty matches all.
    pub states: Vec<State>,
    /// Kind.
    pub kind: Option<IncidentKind>,
    /// Least severity.
    pub min_severity: Option<Severity>,
    /// Bounding box that the incident must touch.
    pub bbox: Option<BBox>,
    /// Earliest time of the last change.
    pub since: Option<Millis>,
    /// User to whom it is assigned, or who commands it.
    pub assignee: Option<String>,
    /// Tag.
    pub tag: Option<String>,
}

impl IncidentFilter {
    /// Returns whether finished incidents may match.
    pub(super) fn includes_finished(&self) -> bool {
        let is_current = |state: &State| state.is_open() || *state == State::Resolved;
        self.states.is_empty() || !self.states.iter().all(is_current)
    }

    pub(super) fn matches(&self, incident: &Incident) -> bool {
        let state = self.states.is_empty() || self.states.contains(&incident.state);
        let kind = self.kind.is_none_or(|kind| kind == incident.kind);
        let severe = |least: Severity| incident.severity.is_some_and(|severity| severity.rank() >= least.rank());
        let near = |bbox: BBox| incident.bbox.is_some_and(|own| own.intersects(&bbox));
        state
            && kind
            && self.min_severity.is_none_or(severe)
            && self.bbox.is_none_or(near)
            && self.since.is_none_or(|since| incident.updated_at >= since)
            && self.assignee.as_ref().is_none_or(|id| incident.is_assigned(id))
            && self.tag.as_ref().is_none_or(|tag| incident.tags.contains(tag))
    }
}

/// All incidents and alerts.
#[derive(Debug, Default)]
pub(super) struct IncidentRegistry {
    pub(super) settings: IncidentSettings,
    incidents: BTreeMap<String, Arc<Incident>>,
    /// Open incident by `dedup_key`.
    open: HashMap<String, String>,
    acks: BTreeSet<(Millis, String)>,
    /// Finished incidents by time of their end.
    finished: BTreeSet<(Millis, String)>,
    /// Whether some finished incidents are in the store only.
    pub(super) archived: bool,
    /// Last number of each year.
    numbers: HashMap<String, u64>,
    pub(super) alerts: AlertIndex,
}

impl IncidentRegistry {
    pub(super) fn new(settings: IncidentSettings, incidents: Vec<Incident>, alerts: Vec<AlertRecord>) -> Self {
        let mut registry = Self { settings, ..Self::default() };
        incidents.into_iter().for_each(|incident| registry.put(Arc::new(incident)));
        alerts.into_iter().for_each(|alert| registry.alerts.put(Arc::new(alert)));
        registry
    }

    /// Applies a decided change.
    pub(super) fn apply(&mut self, plan: &Plan) {
        plan.incidents.iter().for_each(|changed| self.put(Arc::new(changed.after.clone())));
        plan.alerts.iter().for_each(|change| self.alerts.put(Arc::new(change.after.clone())));
    }

    /// Removes incidents from memory that finished long ago, which are then read from the store. One whose stored
    /// record is older stays, and so do those that finished after it.
    pub(super) fn archive(&mut self, now: Millis, is_undurable: impl Fn(&str) -> bool) {
        while let Some((ended, id)) = self.finished.first()
            && now.since(*ended) >= self.settings.keep_finished
            && !is_undurable(id)
        {
            self.archived |= self.finished.pop_first().is_some_and(|(_, id)| self.incidents.remove(&id).is_some());
        }
    }

    /// Inserts or restores an incident.
    pub(super) fn put(&mut self, incident: Arc<Incident>) {
        let id = incident.id.clone();
        let before = self.incidents.get(&id).and_then(|before| before.ack.as_ref());
        if let Some(ack) = before {
            self.acks.remove(&(ack.expires_at, id.clone()));
        }
        if let Some(ended) = self.incidents.get(&id).and_then(|before| before.closed_at) {
            self.finished.remove(&(ended, id.clone()));
        }
        self.finished.extend(incident.closed_at.map(|ended| (ended, id.clone())));
        self.acks.extend(incident.ack.iter().map(|ack| (ack.expires_at, id.clone())));
        if let Some(key) = &incident.dedup_key {
            if incident.state.is_open() {
                self.open.entry(key.clone()).or_insert_with(|| id.clone());
            } else if self.open.get(key) == Some(&id) {
                self.open.remove(key);
            }
        }
        if let Some((year, number)) = incident.number.split_once('-') {
            let last = self.numbers.entry(year.to_owned()).or_default();
            *last = (*last).max(number.parse().unwrap_or(0));
        }
        self.incidents.insert(id, incident);
    }

    /// Returns the next number of the year.
    pub(super) fn number(&self, now: Millis) -> String {
        let stamp = now.rfc3339();
        let year = stamp.get(..4).unwrap_or_default();
        format!("{year}-{:06}", self.numbers.get(year).copied().unwrap_or(0) + 1)
    }

    pub(super) fn get(&self, id: &str) -> Option<&Arc<Incident>> {
        self.incidents.get(id)
    }

    /// # Errors
    /// `NotFound` if it does not exist or the caller may not see it.
    pub(super) fn find(&self, id: &str, by: &By) -> Result<&Arc<Incident>, Error> {
        self.incidents.get(id).filter(|incident| visible(incident, by)).ok_or_else(|| not_found(id))
    }

    /// Returns the open incident of a key to which a report of the caller attaches.
    pub(super) fn open_of(&self, key: &str, by: &By) -> Option<&Arc<Incident>> {
        self.incidents.get(self.open.get(key)?).filter(|incident| visible(incident, by))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Incident>> {
        self.incidents.values()
    }

    /// Returns a page of the incidents that the caller may see, newest first; the cursor is the last identifier of the
    /// page before.
    pub(super) fn list(&self, filter: &IncidentFilter, page: &PageParams, by: &By) -> Page<Arc<Incident>> {
        let end = page.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let newest_first = self.incidents.range::<str, _>((Bound::Unbounded, end)).rev().map(|(_, incident)| incident);
        let visible_incidents = newest_first.filter(|incident| visible(incident, by) && filter.matches(incident));
        Page::of(visible_incidents.cloned(), page.limit, |incident| incident.id.clone())
    }

    /// Returns incidents with expired acknowledgements, oldest first.
    pub(super) fn expired_acknowledgements(&self, now: Millis) -> impl Iterator<Item = &Arc<Incident>> {
        self.acks.iter().take_while(move |(at, _)| *at <= now).filter_map(|(_, id)| self.incidents.get(id))
    }
}
