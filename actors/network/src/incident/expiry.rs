//! Changes due by time: expiry of acknowledgements, alerts, proposals and parked messages. Pure.

use super::plan::Plan;
use super::state::IncidentRegistry;
use super::transition::unacknowledge;
use crate::alert::{AlertChange, AlertState};
use muster_core::Millis;

/// Largest number of changes in one batch; the next tick continues.
const MAX_PER_TICK: usize = 200;

impl IncidentRegistry {
    /// Returns the changes that are due, within the bounds of a batch.
    pub(super) fn tick(&self, now: Millis) -> Plan {
        let incidents = self
            .expired_acknowledgements(now)
            .take(MAX_PER_TICK)
            .filter_map(|incident| unacknowledge(incident, now))
            .collect();
        let due = self.alerts.overdue(now).take(MAX_PER_TICK);
        let alerts = due.filter_map(|alert| {
            let (state, event) = match alert.state {
                AlertState::PendingSecond if alert.is_end() => (AlertState::Withdrawn, Some("alert.withdrawn")),
                AlertState::PendingSecond => (AlertState::Lapsed, Some("alert.lapsed")),
                AlertState::Parked => (AlertState::Lapsed, None),
                AlertState::Published => (AlertState::Expired, Some("alert.expired")),
                AlertState::Stored => (AlertState::Expired, None),
                _ => return None,
            };
            let mut change = AlertChange::moved(alert, state, now, event);
            if state == AlertState::Withdrawn {
                change.after.reason = Some("the alert that it would have ended has expired".to_owned());
            }
            Some(change)
        });
        Plan { incidents, alerts: alerts.collect(), audit: Vec::new() }
    }
}
