//! What a change of an incident means for its alerts. Pure.

use super::alert_builder::is_material;
use super::alert_texts::AlertTexts;
use super::checks::Checks;
use super::lifecycle::Action;
use super::plan::Plan;
use super::state::{IncidentRegistry, RequestContext};
use crate::alert::{AlertChange, AlertRecord, AlertState, Occasion};
use muster_core::Error;

impl IncidentRegistry {
    /// Updates or ends the alert of the incident that the plan changes last, and withdraws a proposal that the change
    /// makes obsolete. `texts` are those of the message.
    ///
    /// A finished incident has no updates: the message that ends its alert stays as it is, until the incident is reopened.
    ///
    /// # Errors
    /// `Invalid` if a text is invalid, or if texts were sent and the change causes no message.
    pub(super) fn update_alerts(
        &self,
        plan: &mut Plan,
        action: Action,
        texts: AlertTexts,
        context: RequestContext<'_>,
    ) -> Result<(), Error> {
        let Some(changed) = plan.incidents.last() else { return Ok(()) };
        let Some(before) = changed.before.clone() else { return Ok(()) };
        let (after, note) = (changed.after.clone(), changed.entry.as_ref().and_then(|entry| entry.note.clone()));
        let updates = after.state.is_open() && is_material(&before, &after);
        let live = self.alerts.live(&after.id).filter(|_| action.is_end() || updates);
        let mut checks = Checks::default();
        texts.check(&mut checks, "alert.", context.now);
        let unused = "is for the message that ends or updates a published alert: this change causes none";
        checks.that(live.is_some() || texts.is_empty(), "alert", unused);
        checks.done()?;
        if (action.is_end() || updates || action == Action::Reopen)
            && let Some(pending) = self.alerts.pending(&after.id)
        {
            plan.alerts.push(withdrawn(pending, "the incident changed before it was confirmed", context));
        }
        let Some(live) = live else { return Ok(()) };
        let builder = self.builder(context);
        let message = match occasion(action) {
            None => builder.update(&before, &after, live, texts),
            Some(Occasion::AllClear) => builder.end(&after, live, Occasion::AllClear, texts),
            Some(occasion) => AlertRecord { note, ..builder.end(&after, live, occasion, texts) },
        };
        self.release(plan, message, context);
        Ok(())
    }
}

/// Returns why an action ends the alert of an incident; `None` if it does not.
const fn occasion(action: Action) -> Option<Occasion> {
    match action {
        Action::Resolve => Some(Occasion::AllClear),
        Action::FalseAlarm => Some(Occasion::FalseAlarm),
        Action::Cancel => Some(Occasion::Canceled),
        Action::MarkDuplicate => Some(Occasion::Duplicate),
        _ => None,
    }
}

/// Withdraws a proposal.
pub(super) fn withdrawn(pending: &AlertRecord, why: &str, context: RequestContext<'_>) -> AlertChange {
    let mut change = AlertChange::moved(pending, AlertState::Withdrawn, context.now, Some("alert.withdrawn"));
    change.after.reason = Some(why.to_owned());
    change
}
