//! Alerts published by people: proposed, changed, confirmed by a second person, rejected, ended. Pure.

use std::sync::Arc;

use serde_json::{Value, json};

use super::access::not_found;
use super::alert_builder::{AlertBuilder, Draft, require_publishable};
use super::alert_changes::withdrawn;
use super::alert_texts::AlertTexts;
use super::change::record_change;
use super::checks::{Checks, required};
use super::lifecycle::Action;
use super::plan::Plan;
use super::record::Incident;
use super::state::{IncidentRegistry, RequestContext};
use crate::alert::{AlertAction, AlertChange, AlertRecord, AlertState, Occasion, ResponseType, Scope};
use muster_core::audit::AuditEntry;
use muster_core::guard::StepOutcome;
use muster_core::ids::IdKind;
use muster_core::precondition::IfMatch;
use muster_core::principal::Permission;
use muster_core::{Error, Kind};
use muster_identity::By;

impl IncidentRegistry {
    /// Publishes an alert of an incident, or proposes it if a second person has to confirm it. Returns its identifier.
    /// A draft with the response AllClear ends the current alert.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `Invalid`; `Conflict` if no alert may be published for the incident or a proposal
    /// waits.
    pub(super) fn publish(&self, id: &str, draft: Draft, context: RequestContext<'_>) -> Result<(Plan, String), Error> {
        context.by.require(Action::Publish.permission())?;
        let incident = self.find(id, context.by)?;
        let live = self.alerts.live(id).map(|live| &**live);
        let scope = draft.scope.or(live.map(|live| live.scope)).unwrap_or(Scope::Public);
        require_publishable(incident, scope)?;
        draft.check(incident, context.now)?;
        if let Some(live) = live.filter(|live| live.scope != scope) {
            let message = format!("an alert with the scope {} stands: an Update has the same", live.scope.name());
            return Err(Error::new(Kind::Conflict, message).coded("scope_differs"));
        }
        self.require_none_pending(id)?;
        let builder = self.builder(context);
        let alert = match (draft.response_types.contains(&ResponseType::AllClear), live) {
            (false, live) => builder.build(incident, draft, live),
            (true, Some(live)) => {
                let Draft { note, texts, .. } = draft;
                AlertRecord { note, ..builder.end(incident, live, Occasion::AllClear, texts) }
            }
            (true, None) => {
                let message = "no alert of the incident is in force, so there is none that an all-clear would end";
                return Err(Error::new(Kind::Conflict, message).coded("no_alert"));
            }
        };
        Ok(self.release_alone(incident, alert, context))
    }

    /// Ends an alert, whatever the state of its incident: by a Cancel or by an all-clear. Returns the identifier of the
    /// message.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `Invalid`; `Conflict` if the alert is not in force or a proposal waits.
    pub(super) fn end_alert(
        &self,
        id: &str,
        action: AlertAction,
        note: Option<String>,
        texts: AlertTexts,
        context: RequestContext<'_>,
    ) -> Result<(Plan, String), Error> {
        context.by.require(Permission::AlertsPublish)?;
        let live = self.find_alert(id, context.by)?;
        live.require(action)?;
        let mut checks = Checks::default();
        note.iter().for_each(|note| checks.text("note", note));
        texts.check(&mut checks, "", context.now);
        checks.done()?;
        let incident = self.incident_of(live)?;
        self.require_none_pending(&incident.id)?;
        let occasion = if action == AlertAction::AllClear { Occasion::AllClear } else { Occasion::Canceled };
        let note = if occasion == Occasion::AllClear {
            note
        } else {
            Some(required("note", note, "say why the alert is called off")?)
        };
        let alert = AlertRecord { note, ..self.builder(context).end(incident, live, occasion, texts) };
        Ok(self.release_alone(incident, alert, context))
    }

    /// Confirms a proposal, which publishes it. `outcome` is how the approval of a guarded proposal stands after the
    /// decision: it has judged who decides.
    ///
    /// # Errors
    /// `Forbidden` to the author of the proposal if it takes two people; `PreconditionFailed`; `Conflict` if it does
    /// not wait, if no alert may be published for its incident any more, or if the alert that it ends has ended.
    pub(super) fn confirm(
        &self,
        id: &str,
        if_match: IfMatch,
        outcome: Option<&StepOutcome>,
        context: RequestContext<'_>,
    ) -> Result<Plan, Error> {
        let pending = self.pending(id, AlertAction::Confirm, outcome, context)?;
        if_match.check(pending.version)?;
        match outcome {
            Some(StepOutcome::Waits) => return Ok(Plan::default()),
            Some(StepOutcome::Ended(why)) => return Ok(rejected(pending, why, context)),
            Some(StepOutcome::Executed) | None => {}
        }
        let incident = self.incident_of(pending)?;
        if !pending.is_end() {
            require_publishable(incident, pending.scope)?;
        } else if self.alerts.live(&incident.id).is_none() {
            let message = "the alert that it would end is not in force any more";
            return Err(Error::new(Kind::Conflict, message).coded("no_alert"));
        }
        let next = incident.next_version(context.now);
        let kind = "alert_published";
        let mut plan = Plan::of(record_change(incident, next, context, kind, None, Value::Null, "incident.updated"));
        if outcome.is_none() {
            self.require_confirmer(pending, context.by)?;
        }
        self.release_confirmed(&mut plan, pending, context);
        Ok(plan)
    }

    /// Changes the text of a proposal. Who changes it is its author from then on.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `PreconditionFailed`; `Invalid`; `Conflict` if it does not wait.
    pub(super) fn edit_alert(
        &self,
        id: &str,
        if_match: IfMatch,
        texts: AlertTexts,
        context: RequestContext<'_>,
    ) -> Result<Plan, Error> {
        let pending = self.pending(id, AlertAction::Confirm, None, context)?;
        if_match.check(pending.version)?;
        let mut checks = Checks::default();
        texts.check(&mut checks, "", context.now);
        checks.that(!texts.is_empty(), "headline", "send at least one text to change");
        checks.done()?;
        let mut content = AlertRecord::clone(pending);
        content.info.iter_mut().for_each(|info| texts.clone().apply(info));
        let change = self.propose_again(pending, content, context);
        let data = json!({ "author": pending.made_by, "version": change.after.version });
        let audit = AuditEntry::new(context.now, context.by.id(), "alert_edited", id, data);
        Ok(Plan { alerts: vec![change], audit: vec![audit], ..Plan::default() })
    }

    /// Rejects a proposal; its author may withdraw it this way. An alert that it would have ended stands.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `Conflict` if it does not wait.
    pub(super) fn reject(
        &self,
        id: &str,
        note: &str,
        outcome: Option<&StepOutcome>,
        context: RequestContext<'_>,
    ) -> Result<Plan, Error> {
        Ok(rejected(self.pending(id, AlertAction::Reject, outcome, context)?, note, context))
    }

    /// Withdraws a proposal whose approval has ended without an execution. One that waits for another approval, or no
    /// longer waits, is left as it is.
    pub(super) fn end_waiting(&self, id: &str, approval: &str, why: &str, context: RequestContext<'_>) -> Plan {
        let waits = |alert: &&Arc<AlertRecord>| {
            alert.state == AlertState::PendingSecond && alert.approval_id.as_deref() == Some(approval)
        };
        let Some(pending) = self.alerts.get(id).filter(waits) else { return Plan::default() };
        let change = withdrawn(pending, why, context);
        let audit = AuditEntry::new(context.now, context.by.id(), "alert_withdrawn", id, json!({ "note": why }));
        Plan { alerts: vec![change], audit: vec![audit], ..Plan::default() }
    }

    /// Releases a message that changes nothing else of its incident.
    fn release_alone(
        &self,
        incident: &Arc<Incident>,
        alert: AlertRecord,
        context: RequestContext<'_>,
    ) -> (Plan, String) {
        let (id, next) = (alert.id.clone(), incident.next_version(context.now));
        let proposed = self.lacks(&alert, context.by).is_some();
        let kind = if proposed { "alert_proposed" } else { "alert_published" };
        let mut plan = Plan::of(record_change(incident, next, context, kind, None, Value::Null, "incident.updated"));
        self.release(&mut plan, alert, context);
        (plan, id)
    }

    pub(super) fn builder<'a>(&'a self, context: RequestContext<'a>) -> AlertBuilder<'a> {
        let id = (context.new_id)(IdKind::Alert);
        AlertBuilder { by: context.by, now: context.now, settings: &self.settings, id }
    }

    fn require_none_pending(&self, incident: &str) -> Result<(), Error> {
        let Some(pending) = self.alerts.pending(incident) else { return Ok(()) };
        let message = "another alert of the incident waits to be confirmed or rejected";
        let details = json!({ "alert": pending.id });
        Err(Error::new(Kind::Conflict, message).coded("alert_pending").detailing(details))
    }

    /// Returns a proposal that the caller may act on: with `alerts:publish`, or as who decides on its approval.
    fn pending(
        &self,
        id: &str,
        action: AlertAction,
        outcome: Option<&StepOutcome>,
        context: RequestContext<'_>,
    ) -> Result<&Arc<AlertRecord>, Error> {
        let alert = match outcome {
            Some(_) => self.alerts.get(id).ok_or_else(|| unknown_alert(id))?,
            None => {
                context.by.require(Permission::AlertsPublish)?;
                self.find_alert(id, context.by)?
            }
        };
        alert.require(action)?;
        Ok(alert)
    }

    fn incident_of(&self, alert: &AlertRecord) -> Result<&Arc<Incident>, Error> {
        let id = alert.incident_id.as_deref().unwrap_or_default();
        self.get(id).ok_or_else(|| not_found(id))
    }

    /// # Errors
    /// `NotFound` if it does not exist or the caller may not see it.
    pub(super) fn find_alert(&self, id: &str, by: &By) -> Result<&Arc<AlertRecord>, Error> {
        self.alerts.get(id).filter(|alert| self.can_see_alert(alert, by)).ok_or_else(|| unknown_alert(id))
    }

    /// Returns whether the caller may see an alert: public ones with `alerts:read`, all others as a writer of its
    /// incident.
    pub(super) fn can_see_alert(&self, alert: &AlertRecord, by: &By) -> bool {
        if alert.is_public() {
            return by.may(Permission::AlertsRead);
        }
        let incident = alert.incident_id.as_deref().and_then(|id| self.get(id));
        let writes = by.may(Permission::IncidentsWrite) || by.may(Permission::AlertsPublish);
        let can_see = incident.is_none_or(|incident| super::access::visible(incident, by));
        let addressed = alert.scope != Scope::Private || alert.made_by == by.id() || incident.is_some();
        writes && can_see && addressed
    }
}

fn rejected(pending: &AlertRecord, note: &str, context: RequestContext<'_>) -> Plan {
    let mut change = AlertChange::moved(pending, AlertState::Rejected, context.now, Some("alert.rejected"));
    change.after.decided_by = Some(context.by.id().to_owned());
    change.after.reason = Some(note.to_owned());
    let audit = AuditEntry::new(context.now, context.by.id(), "alert_rejected", &pending.id, json!({ "note": note }));
    Plan { alerts: vec![change], audit: vec![audit], ..Plan::default() }
}

/// The error of an alert that does not exist or that the caller may not see.
pub(super) fn unknown_alert(id: &str) -> Error {
    let id: String = id.chars().take(64).collect();
    Error::new(Kind::NotFound, format!("no alert has the id {id}"))
}
