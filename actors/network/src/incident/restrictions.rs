//! Restriction of an incident's channel after a change of its readers. Pure.

use std::sync::Arc;

use super::access::can_see;
use super::events::own;
use super::record::Incident;
use super::transition::IncidentChange;
use muster_core::event::ChannelRestriction;

/// Returns the new restriction of the incident's own channel; `None` if its readers did not change.
pub(super) fn restriction(changed: &IncidentChange) -> Option<ChannelRestriction> {
    let (before, after) = (changed.before.as_deref()?, &changed.after);
    let named = |incident: &Incident| {
        let Incident { addresses, commander, assignees, .. } = incident;
        (addresses.clone(), commander.clone(), assignees.clone())
    };
    if before.audience() == after.audience() && named(before) == named(after) {
        return None;
    }
    let after = Arc::new(after.clone());
    let (channel, reason) = (own(&after.id), "withdrawn");
    Some(ChannelRestriction::new(channel, reason, move |viewer| can_see(&after, &viewer.id, viewer.permissions)))
}
