//! Changes of an incident that is there, and what follows for its alerts. Pure.

use std::sync::Arc;

use serde_json::{Value, json};

use super::access::require_write;
use super::act::{self, Changed, Move, World, entry};
use super::checks::Checks;
use super::edit::Edit;
use super::moves::Action;
use super::plan::Plan;
use super::record::Incident;
use super::resources::{self, NewResource, ResourceChange};
use super::state::{Asked, Network};
use super::warn::{Teller, is_material};
use crate::alert::{AlertChange, AlertRecord, AlertState};
use muster_core::audit::AuditEntry;
use muster_core::ids::IdKind;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind};

/// Entries of one timeline; what is over takes no note beyond them.
pub const MAX_TIMELINE: u64 = 50_000;

/// What is done to the resources of an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceAct {
    Add(NewResource),
    Change(ResourceChange),
}

impl Network {
    /// # Errors
    /// As [`act::act`]; `PreconditionFailed` where another version is present.
    pub(super) fn act(&self, id: &str, if_match: IfMatch, asked: Asked<'_>, mv: Move) -> Result<Plan, Error> {
        let incident = self.find(id, asked.by)?;
        require_write(incident, asked.by)?;
        if_match.check(incident.version)?;
        let original = mv.more.duplicate_of.as_deref().and_then(|id| self.find(id, asked.by).ok());
        let world =
            World { now: asked.now, ack_for: self.settings.ack_for, original: original.map(|original| &**original) };
        let action = mv.action;
        let changed = act::act(incident, mv, asked.by, &world)?;
        let details = json!({ "version": changed.after.version, "from": incident.state, "to": changed.after.state });
        let audit = AuditEntry::new(asked.now, asked.by.id(), &format!("incident.{}", action.name()), id, details);
        let mut plan = Plan::of(changed);
        plan.audit.push(audit);
        self.follow(&mut plan, action, asked);
        Ok(plan)
    }

    /// # Errors
    /// `Forbidden`, `Conflict`, `PreconditionFailed`, or `Invalid` with every failed check.
    pub(super) fn edit(
        &self,
        id: &str,
        if_match: IfMatch,
        asked: Asked<'_>,
        edit: Edit,
        note: Option<String>,
    ) -> Result<Plan, Error> {
        let (incident, mut next) = self.begin(id, if_match, Action::Edit, asked)?;
        edit.apply(&mut next, asked.by)?;
        let mut plan = Plan::of(done(incident, next, asked, "edit", note, Value::Null, "incident.updated"));
        self.follow(&mut plan, Action::Edit, asked);
        Ok(plan)
    }

    /// # Errors
    /// `Forbidden`, `Conflict`, `PreconditionFailed`, `NotFound`, `Invalid`.
    pub(super) fn resources(
        &self,
        id: &str,
        if_match: IfMatch,
        asked: Asked<'_>,
        what: ResourceAct,
    ) -> Result<Plan, Error> {
        let (incident, mut next) = self.begin(id, if_match, Action::Resources, asked)?;
        check_resource(&what)?;
        let (kind, resource) = match what {
            ResourceAct::Add(new) => ("resource_added", resources::add(&mut next.resources, new, asked.now)?),
            ResourceAct::Change(change) => {
                let id = change.id;
                resources::change(&mut next.resources, change, asked.now)?;
                ("resource_changed", id)
            }
        };
        let resource = next.resources.iter().find(|known| known.id == resource).cloned();
        Ok(Plan::of(done(incident, next, asked, kind, None, json!({ "resource": resource }), "incident.updated")))
    }

    /// Adds a note, in every state and without a version: a timeline is only appended to.
    ///
    /// # Errors
    /// `Forbidden`, `Invalid`; `Conflict` where the timeline is full.
    pub(super) fn note(&self, id: &str, asked: Asked<'_>, text: String, data: Value) -> Result<Plan, Error> {
        let (incident, next) = self.begin(id, IfMatch::Any, Action::Note, asked)?;
        let mut checks = Checks::default();
        checks.text("text", &text);
        checks.done()?;
        if incident.timeline_seq >= MAX_TIMELINE {
            return Err(Error::new(Kind::Conflict, format!("the timeline has {MAX_TIMELINE} entries: it is full")));
        }
        Ok(Plan::of(done(incident, next, asked, "note", Some(text), data, "incident.noted")))
    }

    pub(super) fn begin(
        &self,
        id: &str,
        if_match: IfMatch,
        action: Action,
        asked: Asked<'_>,
    ) -> Result<(&Arc<Incident>, Incident), Error> {
        let incident = self.find(id, asked.by)?;
        require_write(incident, asked.by)?;
        if_match.check(incident.version)?;
        incident.state.require(action)?;
        Ok((incident, incident.advanced(asked.now)))
    }

    /// What an incident's change means for the alerts that tell of it.
    pub(super) fn follow(&self, plan: &mut Plan, action: Action, asked: Asked<'_>) {
        let Some(changed) = plan.incidents.last() else { return };
        let Some(before) = changed.before.clone() else { return };
        let (after, note) = (changed.after.clone(), changed.entry.as_ref().and_then(|entry| entry.note.clone()));
        let ends = matches!(action, Action::MarkDuplicate | Action::FalseAlarm | Action::Cancel | Action::Resolve);
        if !ends && !is_material(&before, &after) {
            return;
        }
        if let Some(pending) = self.alerts.pending(&after.id) {
            plan.alerts.push(withdrawn(pending, asked));
        }
        let Some(live) = self.alerts.live(&after.id) else { return };
        let id = (asked.new_id)(IdKind::Alert);
        let teller = Teller { by: asked.by, now: asked.now, settings: &self.settings, id };
        match action {
            Action::Resolve => plan.publish(teller.all_clear(&after, live), Some(live), "alert.updated"),
            _ if ends => plan.publish(teller.cancel(&after, live, note), Some(live), "alert.canceled"),
            _ => {
                let update = teller.update(&before, &after, live);
                if teller.needs_second(&update) {
                    plan.alerts.push(teller.propose(update));
                } else {
                    plan.publish(update, Some(live), "alert.updated");
                }
            }
        }
    }
}

fn withdrawn(pending: &AlertRecord, asked: Asked<'_>) -> AlertChange {
    let mut change = AlertChange::moved(pending, AlertState::Withdrawn, asked.now, Some("alert.withdrawn"));
    change.after.reason = Some("the incident changed before it was confirmed".to_owned());
    change
}

fn check_resource(what: &ResourceAct) -> Result<(), Error> {
    let (kind, qty, note) = match what {
        ResourceAct::Add(new) => (Some(&new.kind), Some(new.qty), &new.note),
        ResourceAct::Change(change) => (None, change.qty, &change.note),
    };
    let mut checks = Checks::default();
    kind.into_iter().for_each(|kind| checks.line("type", kind));
    checks.that(qty.is_none_or(|qty| (1..=1_000_000).contains(&qty)), "qty", "must be 1 to 1,000,000");
    note.iter().for_each(|note| checks.text("note", note));
    checks.done()
}

/// A change of a record that moves no state.
pub(super) fn done(
    before: &Arc<Incident>,
    after: Incident,
    asked: Asked<'_>,
    kind: &str,
    note: Option<String>,
    data: Value,
    event: &'static str,
) -> Changed {
    let entry = Some(entry(before, &after, asked.by, kind, note, data));
    Changed { before: Some(Arc::clone(before)), after, entry, event }
}
