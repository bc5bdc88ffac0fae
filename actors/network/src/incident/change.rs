//! Changes of an existing incident. Pure.

use std::sync::Arc;

use serde_json::{Value, json};

use super::access::require_write;
use super::alert_texts::AlertTexts;
use super::checks::Checks;
use super::edit::IncidentEdit;
use super::lifecycle::Action;
use super::plan::Plan;
use super::record::Incident;
use super::resources::{self, NewResource, ResourceChange};
use super::state::{IncidentRegistry, RequestContext};
use super::transition::{self, IncidentChange, IncidentTransition, TransitionContext, entry};
use muster_core::audit::AuditEntry;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind};

/// Largest number of entries of one timeline; a full timeline accepts no notes.
pub const MAX_TIMELINE: u64 = 50_000;

/// A change of the resources of an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceRequest {
    /// Adds a resource.
    Add(NewResource),
    /// Changes a resource.
    Change(ResourceChange),
}

impl IncidentRegistry {
    /// # Errors
    /// As [`transition::transition`]; `PreconditionFailed` if the version is not the current one.
    pub(super) fn transition(
        &self,
        id: &str,
        if_match: IfMatch,
        context: RequestContext<'_>,
        transition: IncidentTransition,
    ) -> Result<Plan, Error> {
        let incident = self.find(id, context.by)?;
        require_write(incident, context.by)?;
        if_match.check(incident.version)?;
        let original = transition.details.duplicate_of.as_deref().and_then(|id| self.find(id, context.by).ok());
        let transition_context = TransitionContext {
            now: context.now,
            ack_for: self.settings.ack_for,
            original: original.map(|original| &**original),
        };
        let (action, texts) = (transition.action, transition.alert.clone());
        let changed = transition::transition(incident, transition, context.by, &transition_context)?;
        let details = json!({ "version": changed.after.version, "from": incident.state, "to": changed.after.state });
        let audit = AuditEntry::new(context.now, context.by.id(), &format!("incident.{}", action.name()), id, details);
        let mut plan = Plan::of(changed);
        plan.audit.push(audit);
        self.update_alerts(&mut plan, action, texts, context)?;
        Ok(plan)
    }

    /// # Errors
    /// `Forbidden`, `Conflict`, `PreconditionFailed`, or `Invalid` with every failed check.
    pub(super) fn edit(
        &self,
        id: &str,
        if_match: IfMatch,
        context: RequestContext<'_>,
        edit: IncidentEdit,
        note: Option<String>,
        texts: AlertTexts,
    ) -> Result<Plan, Error> {
        let (incident, mut next) = self.begin(id, if_match, Action::Edit, context)?;
        edit.apply(&mut next, context.by)?;
        let mut plan = Plan::of(record_change(incident, next, context, "edit", note, Value::Null, "incident.updated"));
        self.update_alerts(&mut plan, Action::Edit, texts, context)?;
        Ok(plan)
    }

    /// # Errors
    /// `Forbidden`, `Conflict`, `PreconditionFailed`, `NotFound`, `Invalid`.
    pub(super) fn resources(
        &self,
        id: &str,
        if_match: IfMatch,
        context: RequestContext<'_>,
        what: ResourceRequest,
    ) -> Result<Plan, Error> {
        let (incident, mut next) = self.begin(id, if_match, Action::Resources, context)?;
        check_resource(&what)?;
        let (kind, resource) = match what {
            ResourceRequest::Add(new) => ("resource_added", resources::add(&mut next.resources, new, context.now)?),
            ResourceRequest::Change(change) => {
                let id = change.id;
                resources::change(&mut next.resources, change, context.now)?;
                ("resource_changed", id)
            }
        };
        let resource = next.resources.iter().find(|known| known.id == resource).cloned();
        Ok(Plan::of(record_change(
            incident,
            next,
            context,
            kind,
            None,
            json!({ "resource": resource }),
            "incident.updated",
        )))
    }

    /// Adds a note, in every state and without a version, because a timeline is only appended to.
    ///
    /// # Errors
    /// `Forbidden`; `Invalid`; `Conflict` if the timeline is full.
    pub(super) fn note(&self, id: &str, context: RequestContext<'_>, text: String, data: Value) -> Result<Plan, Error> {
        let (incident, next) = self.begin(id, IfMatch::Any, Action::Note, context)?;
        let mut checks = Checks::default();
        checks.text("text", &text);
        checks.done()?;
        if incident.timeline_seq >= MAX_TIMELINE {
            return Err(Error::new(Kind::Conflict, format!("the timeline has {MAX_TIMELINE} entries: it is full")));
        }
        Ok(Plan::of(record_change(incident, next, context, "note", Some(text), data, "incident.noted")))
    }

    pub(super) fn begin(
        &self,
        id: &str,
        if_match: IfMatch,
        action: Action,
        context: RequestContext<'_>,
    ) -> Result<(&Arc<Incident>, Incident), Error> {
        let incident = self.find(id, context.by)?;
        require_write(incident, context.by)?;
        if_match.check(incident.version)?;
        incident.state.require(action)?;
        Ok((incident, incident.next_version(context.now)))
    }
}

fn check_resource(what: &ResourceRequest) -> Result<(), Error> {
    let (kind, qty, note) = match what {
        ResourceRequest::Add(new) => (Some(&new.kind), Some(new.qty), &new.note),
        ResourceRequest::Change(change) => (None, change.qty, &change.note),
    };
    let mut checks = Checks::default();
    kind.into_iter().for_each(|kind| checks.line("type", kind));
    checks.that(qty.is_none_or(|qty| (1..=1_000_000).contains(&qty)), "qty", "must be 1 to 1,000,000");
    note.iter().for_each(|note| checks.text("note", note));
    checks.done()
}

/// Builds a change that leaves the state of the incident as it is.
pub(super) fn record_change(
    before: &Arc<Incident>,
    after: Incident,
    context: RequestContext<'_>,
    kind: &str,
    note: Option<String>,
    data: Value,
    event: &'static str,
) -> IncidentChange {
    let entry = Some(entry(before, &after, context.by, kind, note, data));
    IncidentChange { before: Some(Arc::clone(before)), after, entry, event }
}
