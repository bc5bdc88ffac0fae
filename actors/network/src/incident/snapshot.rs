//! Snapshots of the state behind the channels of incidents and alerts.

use serde::Serialize;

use super::access::can_see;
use super::events::{ALERTS, PUBLIC, RESTRICTED};
use super::lifecycle::State;
use super::record::{Audience, Incident};
use super::state::IncidentRegistry;
use muster_core::Millis;
use muster_core::principal::Permission;
use muster_core::principal::Viewer;
use muster_feed::{Denied, StateItem};

/// Largest number of items in one snapshot, the newest.
const MAX_ITEMS: usize = 10_000;

/// Returns whether an incident is open, or resolved and not yet closed. Finished ones are read from the list.
const fn is_current(incident: &Incident) -> bool {
    incident.state.is_open() || matches!(incident.state, State::Resolved)
}

/// # Errors
/// `NotFound` if there is no such channel or the viewer may not read it.
pub(super) fn of(
    registry: &IncidentRegistry,
    channel: &str,
    viewer: &Viewer,
    now: Millis,
) -> Result<Vec<StateItem>, Denied> {
    let needs = |permission| if viewer.permissions.has(permission) { Ok(()) } else { Err(Denied::NotFound) };
    let shared = |audience: Audience| {
        let found = registry.all().filter(|incident| incident.audience() == audience && is_current(incident));
        let newest: Vec<_> = found.collect();
        let from = newest.len().saturating_sub(MAX_ITEMS);
        newest.into_iter().skip(from).map(|incident| item(&incident.id, incident.version, &**incident)).collect()
    };
    match channel {
        PUBLIC => needs(Permission::IncidentsRead).map(|()| shared(Audience::Public)),
        RESTRICTED => needs(Permission::IncidentsWrite).map(|()| shared(Audience::Restricted)),
        ALERTS => {
            needs(Permission::AlertsRead)?;
            let active = registry.alerts.before(None).filter(|alert| alert.is_public() && alert.is_active(now));
            Ok(active.take(MAX_ITEMS).map(|alert| item(&alert.id, alert.version, &**alert)).collect())
        }
        _ => {
            let id = channel.strip_prefix("incidents:").ok_or(Denied::NotFound)?;
            let found = registry.get(id).filter(|incident| can_see(incident, &viewer.id, viewer.permissions));
            let incident = found.ok_or(Denied::NotFound)?;
            Ok(vec![item(id, incident.version, &**incident)])
        }
    }
}

fn item(id: &str, version: u64, data: &impl Serialize) -> StateItem {
    let data = serde_json::value::to_raw_value(data).unwrap_or_else(|error| {
        tracing::error!(id, %error, "a record is no JSON");
        serde_json::value::RawValue::NULL.to_owned()
    });
    StateItem { id: id.to_owned(), version, data }
}
