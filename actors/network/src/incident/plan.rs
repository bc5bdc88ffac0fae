//! The changes of one request: committed as one batch, then applied and published.

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

    /// Publishes a message: it supersedes the current one, and the incident's record refers to it.
    pub(super) fn publish(&mut self, alert: AlertRecord, live: Option<&AlertRecord>, event: &'static str) {
        let at = alert.made_at.max(alert.sent);
        if let Some(changed) = self.incidents.last_mut() {
            let cap = &mut changed.after.cap;
            cap.identifier = Some(alert.identifier.clone());
            cap.sender = Some(alert.sender.clone());
            cap.references = alert.references.clone();
            cap.last_msg_type = Some(alert.msg_type);
        }
        let mut change = AlertChange::new(alert, at, Some(event));
        if let Some(live) = live {
            change.supersedes = vec![live.id.clone()];
            self.alerts.push(AlertChange::moved(live, AlertState::Superseded, at, None));
        }
        self.alerts.push(change);
    }
}
