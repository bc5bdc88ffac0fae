//! Who loses sight of an incident by a change. Pure.

use std::sync::Arc;

use super::access::can_see;
use super::events::own;
use super::record::Incident;
use super::transition::IncidentChange;
use muster_core::event::ChannelRestriction;

/// Who may follow the incident's own channel from now on; `None` where that is who could before.
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
