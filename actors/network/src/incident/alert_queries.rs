//! Queries of alerts. Pure.

use std::sync::Arc;

use super::messages::{AlertFilter, IncidentDetails};
use super::plan::Plan;
use super::state::{IncidentRegistry, RequestContext};
use crate::alert::{AlertRecord, AlertState};
use muster_core::{Error, Millis};
use muster_identity::By;

impl AlertFilter {
    pub(super) fn matches(&self, alert: &AlertRecord, now: Millis) -> bool {
        let near = |bbox| alert.bbox().is_some_and(|own| own.intersects(&bbox));
        self.active.is_none_or(|active| active == alert.is_active(now))
            && self.severity.is_none_or(|least| alert.severity().is_some_and(|own| own.rank() >= least.rank()))
            && self.bbox.is_none_or(near)
            && self.incident.as_ref().is_none_or(|id| alert.incident_id.as_ref() == Some(id))
            && self.state.is_none_or(|state| state == alert.state)
    }
}

impl IncidentRegistry {
    /// Returns an incident and its message that waits to be confirmed.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) fn details(&self, id: &str, by: &By) -> Result<IncidentDetails, Error> {
        let incident = Arc::clone(self.find(id, by)?);
        let pending = self.alerts.pending(id).filter(|alert| self.can_see_alert(alert, by));
        Ok(IncidentDetails { incident, pending_alert: pending.cloned() })
    }

    /// Returns the message of an incident that waits to be confirmed once a plan is applied.
    pub(super) fn pending_after(&self, plan: &Plan, incident: &str) -> Option<Arc<AlertRecord>> {
        let proposed = plan.message().filter(|alert| alert.state == AlertState::PendingSecond);
        let known = || self.alerts.pending(incident).filter(|known| plan.alert(&known.id).is_none());
        proposed.map(|alert| Arc::new(alert.clone())).or_else(|| known().cloned())
    }

    /// Returns the newest message of an incident; if none was sent, a message with the status Draft.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) fn newest(&self, id: &str, context: RequestContext<'_>) -> Result<Arc<AlertRecord>, Error> {
        let incident = self.find(id, context.by)?;
        let sent = |alert: &&Arc<AlertRecord>| alert.is_sent() && self.can_see_alert(alert, context.by);
        let newest = self.alerts.of_incident(id).filter(sent).max_by_key(|alert| (alert.sent, alert.references.len()));
        Ok(newest.cloned().unwrap_or_else(|| Arc::new(self.builder(context).preview(incident))))
    }
}
