//! The changes of one request: committed as one batch, then applied and published.

use serde_json::{Map, Value};

use super::transition::IncidentChange;
use crate::alert::{AlertChange, AlertRecord, AlertState};
use muster_core::audit::AuditEntry;

/// Changes that become durable together.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// In the order of their events; at most one of each incident.
    pub(super) incidents: Vec<IncidentChange>,
    pub(super) alerts: Vec<AlertChange>,
    pub(super) audit: Vec<AuditEntry>,
}

impl Plan {
    pub(super) fn of(changed: IncidentChange) -> Self {
        Self { incidents: vec![changed], ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.incidents.is_empty() && self.alerts.is_empty()
    }

    /// Makes the record of the incident refer to a message.
    pub(super) fn link(&mut self, alert: &AlertRecord) {
        if let Some(changed) = self.incidents.last_mut() {
            changed.after.cap.follow(alert);
        }
    }

    /// Adds members to the data of the incident's timeline entry.
    pub(super) fn annotate(&mut self, data: Value) {
        let entry = self.incidents.last_mut().and_then(|changed| changed.entry.as_mut());
        if let (Some(entry), Value::Object(more)) = (entry, data) {
            let mut all = std::mem::take(&mut entry.data).as_object().cloned().unwrap_or_else(Map::new);
            all.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
            entry.data = Value::Object(all);
        }
    }

    /// Returns the message that the change publishes or proposes.
    pub(super) fn message(&self) -> Option<&AlertRecord> {
        let mut last = self.alerts.iter().rev().map(|change| &change.after);
        last.find(|alert| matches!(alert.state, AlertState::Published | AlertState::PendingSecond))
    }

    /// Returns the proposal that the change makes or rewrites.
    pub(super) fn proposal(&mut self) -> Option<&mut AlertRecord> {
        let mut last = self.alerts.iter_mut().rev().map(|change| &mut change.after);
        last.find(|alert| alert.state == AlertState::PendingSecond)
    }

    /// Returns an alert after the change, if the change concerns it.
    pub(super) fn alert(&self, id: &str) -> Option<&AlertRecord> {
        self.alerts.iter().rev().map(|change| &change.after).find(|alert| alert.id == id)
    }
}
