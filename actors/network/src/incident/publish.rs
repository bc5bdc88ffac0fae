//! Alerts published by people: proposed, confirmed by a second person, rejected. Pure.

use std::sync::Arc;

use serde_json::json;

use super::access::not_found;
use super::alert_builder::{AlertBuilder, Draft, require_publishable, to_seconds};
use super::change::record_change;
use super::plan::Plan;
use super::state::{IncidentRegistry, RequestContext};
use crate::alert::{AlertChange, AlertRecord, AlertState, MsgType, Scope};
use muster_core::audit::AuditEntry;
use muster_core::ids::IdKind;
use muster_core::principal::Permission;
use muster_core::{Error, Kind};
use muster_identity::By;

impl IncidentRegistry {
    /// Publishes an alert of an incident, or proposes it if a second person has to confirm it. Returns its identifier.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `Invalid`; `Conflict` if no alert may be published for the incident or a proposal
    /// waits.
    pub(super) fn publish(&self, id: &str, draft: Draft, context: RequestContext<'_>) -> Result<(Plan, String), Error> {
        context.by.require(Permission::AlertsPublish)?;
        let incident = self.find(id, context.by)?;
        let live = self.alerts.live(id);
        let scope = draft.scope.or(live.map(|live| live.scope)).unwrap_or(Scope::Public);
        require_publishable(incident, scope)?;
        draft.check(incident, context.now)?;
        if let Some(live) = live.filter(|live| live.scope != scope) {
            let message = format!("an alert with the scope {} stands: an Update has the same", live.scope.name());
            return Err(Error::new(Kind::Conflict, message).coded("scope_differs"));
        }
        if let Some(pending) = self.alerts.pending(id) {
            let message = "another alert of the incident waits to be confirmed or rejected";
            let details = json!({ "alert": pending.id });
            return Err(Error::new(Kind::Conflict, message).coded("alert_pending").detailing(details));
        }
        let new = (context.new_id)(IdKind::Alert);
        let builder = AlertBuilder { by: context.by, now: context.now, settings: &self.settings, id: new.clone() };
        let alert = builder.build(incident, draft, live.map(|live| &**live));
        let next = incident.next_version(context.now);
        let second = builder.needs_confirmation(&alert);
        let kind = if second { "alert_proposed" } else { "alert_published" };
        let data = json!({ "alert": new, "msg_type": alert.msg_type });
        let mut plan = Plan::of(record_change(incident, next, context, kind, None, data.clone(), "incident.updated"));
        plan.audit.push(AuditEntry::new(context.now, context.by.id(), kind, id, data));
        if second {
            plan.alerts.push(builder.propose(alert));
        } else {
            let event = event(&alert);
            plan.publish(alert, live.map(|live| &**live), event);
        }
        Ok((plan, new))
    }

    /// Confirms a proposal as the second person, which publishes it.
    ///
    /// # Errors
    /// `Forbidden` to the person who proposed it; `Conflict` if it does not wait, or no alert may be published for its
    /// incident any more.
    pub(super) fn confirm(&self, id: &str, context: RequestContext<'_>) -> Result<Plan, Error> {
        let pending = self.pending(id, context)?;
        if pending.made_by == context.by.id() {
            let message = "who proposed an alert does not confirm it: another person with `alerts:publish` has to";
            return Err(Error::new(Kind::Forbidden, message).coded("second_person_required"));
        }
        let incident = pending.incident_id.as_deref().and_then(|id| self.get(id)).ok_or_else(|| not_found(id))?;
        require_publishable(incident, pending.scope)?;
        let live = self.alerts.live(&incident.id).map(|live| &**live);
        let alert = AlertRecord {
            state: AlertState::Published,
            sent: to_seconds(context.now),
            decided_by: Some(context.by.id().to_owned()),
            waits_until: None,
            version: pending.version + 1,
            ..AlertRecord::clone(pending)
        };
        let next = incident.next_version(context.now);
        let data = json!({ "alert": id, "proposed_by": pending.made_by });
        let kind = "alert_published";
        let mut plan = Plan::of(record_change(incident, next, context, kind, None, data.clone(), "incident.updated"));
        plan.audit.push(AuditEntry::new(context.now, context.by.id(), "alert_confirmed", id, data));
        let event = event(&alert);
        plan.publish(alert, live, event);
        Ok(plan)
    }

    /// Rejects a proposal; its author may withdraw it this way.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `Conflict` if it does not wait.
    pub(super) fn reject(&self, id: &str, reason: String, context: RequestContext<'_>) -> Result<Plan, Error> {
        let pending = self.pending(id, context)?;
        let mut change = AlertChange::moved(pending, AlertState::Rejected, context.now, Some("alert.rejected"));
        change.after.decided_by = Some(context.by.id().to_owned());
        change.after.reason = Some(reason.clone());
        let audit = AuditEntry::new(context.now, context.by.id(), "alert_rejected", id, json!({ "reason": reason }));
        Ok(Plan { alerts: vec![change], audit: vec![audit], ..Plan::default() })
    }

    fn pending(&self, id: &str, context: RequestContext<'_>) -> Result<&Arc<AlertRecord>, Error> {
        context.by.require(Permission::AlertsPublish)?;
        let alert = self.find_alert(id, context.by)?;
        if alert.state != AlertState::PendingSecond {
            let message = "the alert does not wait for a second person";
            let details = json!({ "state": alert.state, "allowed": [] });
            return Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(details));
        }
        Ok(alert)
    }

    /// # Errors
    /// `NotFound` if it does not exist or the caller may not see it.
    pub(super) fn find_alert(&self, id: &str, by: &By) -> Result<&Arc<AlertRecord>, Error> {
        let short_id: String = id.chars().take(64).collect();
        let missing = || Error::new(Kind::NotFound, format!("no alert has the id {short_id}"));
        self.alerts.get(id).filter(|alert| self.can_see_alert(alert, by)).ok_or_else(missing)
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

/// Returns the name of a published message's event.
const fn event(alert: &AlertRecord) -> &'static str {
    match alert.msg_type {
        MsgType::Update => "alert.updated",
        MsgType::Cancel => "alert.canceled",
        MsgType::Alert | MsgType::Ack | MsgType::Error => "alert.published",
    }
}
