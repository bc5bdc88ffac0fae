//! What critical incidents are about: open incidents of extreme severity, and the devices that they name. Rules of
//! governance forbid changes to those.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

use super::record::Incident;
use crate::alert::Severity;

/// The identifiers of critical incidents and of their devices. Cheap to clone; all clones share one state.
#[derive(Debug, Clone, Default)]
pub struct CriticalIncidents(watch::Sender<Arc<BTreeSet<String>>>);

impl CriticalIncidents {
    /// Returns whether a critical incident is open on a resource: it is that incident, or a device that one names.
    pub fn concern(&self, resource: &str) -> bool {
        self.0.borrow().contains(resource)
    }

    /// Replaces the state by that of these incidents.
    pub(super) fn publish<'a>(&self, incidents: impl Iterator<Item = &'a Incident>) {
        let critical = incidents.filter(|incident| is_critical(incident));
        let about = critical.flat_map(|incident| std::iter::once(&incident.id).chain(&incident.device_ids));
        self.0.send_replace(Arc::new(about.cloned().collect()));
    }
}

/// Returns whether an incident is critical.
pub(super) fn is_critical(incident: &Incident) -> bool {
    incident.state.is_open() && incident.severity == Some(Severity::Extreme)
}
