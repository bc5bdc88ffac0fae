//! Queries of alerts. Pure.

use std::sync::Arc;

use super::alert_builder::AlertBuilder;
use super::messages::AlertFilter;
use super::state::{IncidentRegistry, RequestContext};
use crate::alert::AlertRecord;
use muster_core::ids::IdKind;
use muster_core::{Error, Millis};

impl AlertFilter {
    pub(super) fn matches(&self, alert: &AlertRecord, now: Millis) -> bool {
        let near = |bbox| alert.bbox().is_some_and(|own| own.intersects(&bbox));
        self.active.is_none_or(|active| active == alert.is_active(now))
            && self.severity.is_none_or(|least| alert.severity().is_some_and(|own| own.rank() >= least.rank()))
            && self.bbox.is_none_or(near)
            && self.incident.as_ref().is_none_or(|id| alert.incident_id.as_ref() == Some(id))
            && self.public.is_none_or(|public| public == alert.is_public())
    }
}

impl IncidentRegistry {
    /// Returns the newest message of an incident; if none was sent, a message with the status Draft.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) fn newest(&self, id: &str, context: RequestContext<'_>) -> Result<Arc<AlertRecord>, Error> {
        let incident = self.find(id, context.by)?;
        let sent = |alert: &&Arc<AlertRecord>| alert.is_sent() && self.can_see_alert(alert, context.by);
        let newest = self.alerts.of_incident(id).filter(sent).max_by_key(|alert| (alert.sent, alert.references.len()));
        Ok(newest.cloned().unwrap_or_else(|| {
            let id = (context.new_id)(IdKind::Alert);
            let builder = AlertBuilder { by: context.by, now: context.now, settings: &self.settings, id };
            Arc::new(builder.preview(incident))
        }))
    }
}
