//! All alerts with their indexes. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::record::{AlertRecord, Origin, Reference};
use super::state::AlertState;
use muster_core::Millis;

/// Largest number of messages that wait for one that they refer to.
pub const MAX_PARKED: usize = 1_000;

/// All alerts with their indexes.
#[derive(Debug, Default)]
pub struct AlertIndex {
    alerts: BTreeMap<String, Arc<AlertRecord>>,
    named: HashMap<Reference, String>,
    of_incident: HashMap<String, BTreeSet<String>>,
    parked: BTreeSet<String>,
    due: BTreeSet<(Millis, String)>,
    /// Time of the last change of the public feed.
    feed_updated: Millis,
}

impl AlertIndex {
    /// Inserts a new or changed record.
    pub fn put(&mut self, alert: Arc<AlertRecord>) {
        let id = alert.id.clone();
        if let Some(due) = self.alerts.get(&id).and_then(|before| before.due()) {
            self.due.remove(&(due, id.clone()));
        }
        self.due.extend(alert.due().map(|due| (due, id.clone())));
        if alert.state == AlertState::Parked {
            self.parked.insert(id.clone());
        } else {
            self.parked.remove(&id);
        }
        // A proposal cannot be referred to yet.
        if alert.origin == Origin::Imported || alert.is_public() || alert.state == AlertState::Published {
            self.named.insert(alert.reference(), id.clone());
        }
        if let Some(changed) = alert.feed_changed() {
            self.feed_updated = self.feed_updated.max(changed);
        }
        if let Some(incident) = &alert.incident_id {
            self.of_incident.entry(incident.clone()).or_default().insert(id.clone());
        }
        self.alerts.insert(id, alert);
    }

    pub fn get(&self, id: &str) -> Option<&Arc<AlertRecord>> {
        self.alerts.get(id)
    }

    /// Returns the message that a reference names.
    pub fn named(&self, reference: &Reference) -> Option<&Arc<AlertRecord>> {
        self.alerts.get(self.named.get(reference)?)
    }

    /// Returns the alerts of an incident, newest first.
    pub fn of_incident(&self, incident: &str) -> impl Iterator<Item = &Arc<AlertRecord>> {
        let ids = self.of_incident.get(incident).into_iter().flatten().rev();
        ids.filter_map(|id| self.alerts.get(id))
    }

    /// Returns the current alert published here for an incident.
    pub fn live(&self, incident: &str) -> Option<&Arc<AlertRecord>> {
        self.of_incident(incident).find(|alert| alert.is_live())
    }

    /// Returns the proposal of an incident that waits for a second person.
    pub fn pending(&self, incident: &str) -> Option<&Arc<AlertRecord>> {
        self.of_incident(incident).find(|alert| alert.state == AlertState::PendingSecond)
    }

    /// Returns all proposals that wait, newest first.
    pub fn all_pending(&self) -> impl Iterator<Item = &Arc<AlertRecord>> {
        self.before(None).filter(|alert| alert.state == AlertState::PendingSecond)
    }

    /// Returns the public messages that are in force, ends of alerts among them, newest first.
    pub fn feed(&self, now: Millis) -> impl Iterator<Item = &Arc<AlertRecord>> {
        self.before(None).filter(move |alert| alert.is_listed(now))
    }

    /// Returns the time of the last change of the public feed: a message was published, or one expired. It follows
    /// from the records alone, so it is the same after a restart and never goes back.
    pub fn feed_updated(&self) -> Millis {
        self.feed_updated
    }

    /// Returns the messages that wait for one, oldest first.
    pub fn waiting_for(&self, reference: &Reference) -> Vec<Arc<AlertRecord>> {
        let parked = self.parked.iter().filter_map(|id| self.alerts.get(id));
        let mut found: Vec<_> = parked.filter(|alert| alert.references.contains(reference)).cloned().collect();
        found.sort_by_key(|alert| alert.sent);
        found
    }

    pub fn parked(&self) -> usize {
        self.parked.len()
    }

    /// Returns the alerts that are due by time, oldest first.
    pub fn overdue(&self, now: Millis) -> impl Iterator<Item = &Arc<AlertRecord>> {
        self.due.iter().take_while(move |(due, _)| *due <= now).filter_map(|(_, id)| self.alerts.get(id))
    }

    /// Returns the alerts before a cursor, newest first.
    pub fn before(&self, cursor: Option<&str>) -> impl Iterator<Item = &Arc<AlertRecord>> {
        let end = cursor.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        let range = self.alerts.range::<str, _>((std::ops::Bound::Unbounded, end));
        range.rev().map(|(_, alert)| alert)
    }
}
