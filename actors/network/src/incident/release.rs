//! Release of CAP messages: the only code that publishes one. Pure.
//!
//! Whatever causes a message, it is published only by a person with the permission `alerts:publish` and, if a message of
//! its chain is public and Severe or Extreme, by two people. Otherwise it is proposed: the incident changes, what is
//! published stands, and the message waits to be confirmed or rejected. Once there is a quorum of deciders, a proposal that
//! broadcasts an extreme alert waits for its approval instead.

use serde_json::json;
use sha2::{Digest, Sha256};

use super::alert_builder::to_seconds;
use super::plan::Plan;
use super::state::{IncidentRegistry, RequestContext};
use crate::alert::{AlertChange, AlertRecord, AlertState, MsgType, Origin, WaitsFor};
use muster_core::audit::AuditEntry;
use muster_core::guard::{GuardedAction, Need};
use muster_core::principal::Permission;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

impl IncidentRegistry {
    /// Returns what a message lacks to be published by a caller alone.
    pub(super) fn lacks(&self, alert: &AlertRecord, by: &By) -> Option<WaitsFor> {
        if self.needs_two(alert) {
            Some(WaitsFor::SecondPerson)
        } else {
            (!by.may(Permission::AlertsPublish)).then_some(WaitsFor::Permission)
        }
    }

    /// Returns whether two people publish a message: it, or a message of its chain, is public and Severe or Extreme. A
    /// later message does not escape the rule by a lower severity.
    fn needs_two(&self, alert: &AlertRecord) -> bool {
        let mut chain = alert.references.iter().filter_map(|reference| self.alerts.named(reference));
        alert.is_grave() || chain.any(|earlier| earlier.origin == Origin::Published && earlier.is_grave())
    }

    /// Publishes a message of the incident that the plan changes last, or proposes it.
    pub(super) fn release(&self, plan: &mut Plan, alert: AlertRecord, context: RequestContext<'_>) {
        let lacks = self.lacks(&alert, context.by);
        let kind = if lacks.is_some() { "alert_proposed" } else { "alert_published" };
        let data = json!({ "alert": alert.id, "msg_type": alert.msg_type, "waits_for": lacks });
        let incident = alert.incident_id.as_deref().unwrap_or_default();
        plan.audit.push(AuditEntry::new(context.now, context.by.id(), kind, incident, data.clone()));
        plan.annotate(data);
        match lacks {
            None => self.publish_message(plan, alert, context.now),
            Some(waits_for) => self.propose(plan, alert, waits_for, context.now),
        }
    }

    /// Checks that a caller may confirm a proposal without an approval.
    ///
    /// # Errors
    /// `Forbidden` without `alerts:publish`, and to the author of the proposal if it takes two people.
    pub(super) fn require_confirmer(&self, pending: &AlertRecord, by: &By) -> Result<(), Error> {
        by.require(Permission::AlertsPublish)?;
        if self.needs_two(pending) && pending.made_by == by.id() {
            let message = "who proposed an alert, or wrote its present text, does not confirm it: another person with \
                           `alerts:publish` has to";
            return Err(Error::new(Kind::Forbidden, message).coded("second_person_required"));
        }
        Ok(())
    }

    /// Publishes a proposal that is confirmed, by its second person or by the last decision of its approval.
    pub(super) fn release_confirmed(&self, plan: &mut Plan, pending: &AlertRecord, context: RequestContext<'_>) {
        let alert = AlertRecord {
            sent: to_seconds(context.now),
            decided_by: Some(context.by.id().to_owned()),
            waits_until: None,
            waits_for: None,
            version: pending.version + 1,
            ..pending.clone()
        };
        let data = json!({ "alert": alert.id, "msg_type": alert.msg_type, "proposed_by": pending.made_by });
        plan.audit.push(AuditEntry::new(context.now, context.by.id(), "alert_confirmed", &alert.id, data.clone()));
        plan.annotate(data);
        self.publish_message(plan, alert, context.now);
    }

    /// Publishes a message: it supersedes the current one, and the incident's record refers to it.
    fn publish_message(&self, plan: &mut Plan, mut alert: AlertRecord, now: Millis) {
        alert.state = AlertState::Published;
        let live = alert.incident_id.as_deref().and_then(|incident| self.alerts.live(incident));
        let (at, event) = (now.max(alert.sent), event(&alert));
        plan.link(&alert);
        let mut change = AlertChange::new(alert, at, Some(event));
        if let Some(live) = live {
            change.supersedes = vec![live.id.clone()];
            plan.alerts.push(AlertChange::moved(live, AlertState::Superseded, at, None));
        }
        plan.alerts.push(change);
    }

    /// Proposes a message. An end waits as long as the alert that it ends is in force, because that alert stands until
    /// then; any other proposal lapses.
    fn propose(&self, plan: &mut Plan, mut alert: AlertRecord, waits_for: WaitsFor, now: Millis) {
        let live = alert.incident_id.as_deref().and_then(|incident| self.alerts.live(incident));
        alert.state = AlertState::PendingSecond;
        alert.waits_for = Some(waits_for);
        alert.waits_until = match live {
            Some(live) if alert.is_end() => live.expires(),
            _ => Some(now.plus(self.settings.confirm_within)),
        };
        plan.alerts.push(AlertChange::new(alert, now, Some("alert.pending")));
    }

    /// Changes the text of a proposal. Who changes it is its author from then on, so another person confirms it.
    pub(super) fn propose_again(
        &self,
        pending: &AlertRecord,
        content: AlertRecord,
        context: RequestContext<'_>,
    ) -> AlertChange {
        let by = context.by.id().to_owned();
        let after = AlertRecord {
            made_by: by,
            waits_for: self.needs_two(&content).then_some(WaitsFor::SecondPerson).or(Some(WaitsFor::Permission)),
            version: pending.version + 1,
            ..content
        };
        AlertChange::new(after, context.now, Some("alert.pending"))
    }
}

/// Returns what a proposal needs beside a second person: the approval of the broadcast of an extreme alert.
pub(super) fn need(proposal: &AlertRecord) -> Option<Need> {
    let info = proposal.info.as_ref().filter(|_| proposal.is_extreme_broadcast())?;
    let content = serde_json::to_vec(info).unwrap_or_default();
    let facts = json!({
        "incident": proposal.incident_id, "msg_type": proposal.msg_type, "event": info.event, "urgency": info.urgency,
        "headline": info.headline, "area": info.area_desc, "expires": info.expires,
        "content_sha256": format!("{:x}", Sha256::digest(&content)),
    });
    Some(Need::new(GuardedAction::AlertBroadcast, &*proposal.id).knowing(facts))
}

/// Returns the name of a published message's event.
const fn event(alert: &AlertRecord) -> &'static str {
    match alert.msg_type {
        MsgType::Update => "alert.updated",
        MsgType::Cancel => "alert.canceled",
        MsgType::Alert | MsgType::Ack | MsgType::Error => "alert.published",
    }
}
