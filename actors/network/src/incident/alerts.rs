//! How alerts are read. Pure.

use std::sync::Arc;

use super::messages::AlertFilter;
use super::state::{Asked, Network};
use super::warn::Teller;
use crate::alert::AlertRecord;
use muster_core::ids::IdKind;
use muster_core::{Error, Millis};

impl AlertFilter {
    pub(super) fn lets(&self, alert: &AlertRecord, now: Millis) -> bool {
        let near = |bbox| alert.bbox().is_some_and(|own| own.intersects(&bbox));
        self.active.is_none_or(|active| active == alert.is_active(now))
            && self.severity.is_none_or(|least| alert.severity().is_some_and(|own| own.rank() >= least.rank()))
            && self.bbox.is_none_or(near)
            && self.incident.as_ref().is_none_or(|id| alert.incident_id.as_ref() == Some(id))
            && self.public.is_none_or(|public| public == alert.is_public())
    }
}

impl Network {
    /// The newest message of an incident; where none was sent, a Draft of one, which nobody acts on.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) fn newest(&self, id: &str, asked: Asked<'_>) -> Result<Arc<AlertRecord>, Error> {
        let incident = self.find(id, asked.by)?;
        let sent = |alert: &&Arc<AlertRecord>| alert.is_sent() && self.shows(alert, asked.by);
        let newest = self.alerts.of_incident(id).filter(sent).max_by_key(|alert| (alert.sent, alert.references.len()));
        Ok(newest.cloned().unwrap_or_else(|| {
            let id = (asked.new_id)(IdKind::Alert);
            let teller = Teller { by: asked.by, now: asked.now, settings: &self.settings, id };
            Arc::new(teller.preview(incident))
        }))
    }
}
