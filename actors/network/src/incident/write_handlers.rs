//! Handlers of changes: planned on all decisions so far, recorded, and answered once durable.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};
use muster_store::{Op, Record, StoreError, Tree};
use serde_json::json;

use super::actor::IncidentActor;
use super::archive;
use super::events;
use super::messages::{IncidentRequest, IncidentResponse, WriteIncident, WriteMode};
use super::plan::Plan;
use super::release;
use super::state::RequestContext;
use crate::alert::{AlertState, Document, WaitsFor};
use muster_core::event::Event;
use muster_core::guard::{ApprovalStep, StepOutcome};
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::Journalled;
use muster_core::journal::respond;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// Returns the events of a plan.
pub(super) fn events(plan: &Plan) -> Vec<Event> {
    let incidents = plan.incidents.iter().flat_map(events::of);
    incidents.chain(plan.alerts.iter().filter_map(events::of_alert)).collect()
}

/// Returns the writes of a plan and its events.
pub(super) fn ops(plan: &Plan, events: &[Event]) -> Result<Vec<Op>, StoreError> {
    let mut ops = Vec::new();
    for changed in &plan.incidents {
        let (id, rec) = (&changed.after.id, changed.after.encode()?);
        ops.push(Op::Put { tree: Tree::Incidents, key: id.clone().into_bytes(), rec });
        if let Some(entry) = &changed.entry {
            ops.push(entry.op(id)?);
        }
    }
    for change in &plan.alerts {
        let (id, rec) = (&change.after.id, change.after.encode()?);
        ops.push(Op::Put { tree: Tree::Alerts, key: id.clone().into_bytes(), rec });
        if let Some(xml) = &change.document {
            let rec = Document { xml: xml.clone() }.encode()?;
            ops.push(Op::Put { tree: Tree::Alerts, key: Document::key(id), rec });
        }
    }
    for event in events {
        ops.push(event.op()?);
    }
    for entry in &plan.audit {
        ops.push(entry.op()?);
    }
    Ok(ops)
}

/// A request with the step that came with it.
enum Decided {
    /// A decision on a proposal that waits for an approval.
    Decision(ApprovalStep),
    /// Every other request, with the step that opens an approval.
    Other(Option<ApprovalStep>),
}

impl IncidentActor {
    /// Loads an archived incident into memory to be annotated or read; a tick removes it again.
    pub(super) fn load_archived(&mut self, id: &str) -> Result<(), Error> {
        if self.registry.archived
            && self.registry.get(id).is_none()
            && let Some(incident) = archive::read(&self.options.store, id)?
        {
            self.registry.put(Arc::new(incident));
        }
        Ok(())
    }

    /// Returns the first response to the same request, if there is one.
    fn replay(&self, write: &WriteIncident, now: Millis) -> Result<Option<IncidentResponse>, Error> {
        let Some(request) = &write.idempotency else { return Ok(None) };
        let Some(first) = self.responses.replay(request, &self.options.store, now)? else { return Ok(None) };
        let first: IncidentResponse = serde_json::from_value(first).map_err(|error| {
            tracing::error!(%error, "a stored answer could not be read");
            Error::new(Kind::Internal, "the first answer could not be read")
        })?;
        Ok(Some(IncidentResponse { replayed: true, ..first }))
    }

    /// Decides a change as a whole.
    fn write(&mut self, write: WriteIncident) -> Result<IncidentResponse, Error> {
        let now = self.now();
        if let Some(first) = self.replay(&write, now)? {
            return Ok(first);
        }
        let named = write.what.alert().and_then(|alert| self.registry.alerts.get(alert)).cloned();
        let incident = write.what.incident().or_else(|| named.as_ref()?.incident_id.as_deref());
        if let Some(id) = incident {
            self.load_archived(id)?;
        }
        let opened = write.step.as_ref().filter(|_| !write.what.decides()).map(|step| step.resource.clone());
        let decided = self.decided(&write.what, write.step)?;
        let (step, outcome) = match decided {
            Decided::Decision(step) => (None, Some(step)),
            Decided::Other(step) => (step, None),
        };
        let outcome_of = outcome.as_ref().map(|step| &step.outcome);
        let (mut plan, mut answer) = self.plan(write.what, outcome_of, opened, &write.by, now)?;
        if write.mode == WriteMode::DryRun {
            return Ok(answer);
        }
        let step = match outcome {
            Some(step) => Some(step),
            None => self.open(&mut plan, &mut answer, step)?,
        };
        let events = events(&plan);
        let mut ops = ops(&plan, &events)?;
        let mut expect = Vec::new();
        if let Some(step) = step {
            expect.push(step.expect);
            ops.extend(step.ops);
        }
        let first = write.idempotency.map(|request| (request, json!(answer)));
        if let Some((request, answer)) = &first {
            ops.push(request.op(now, answer.clone())?);
        }
        if ops.is_empty() {
            // Nothing changes: the request repeats an earlier one.
            return Ok(answer);
        }
        self.admit()?;
        if let Some((request, answer)) = first {
            self.responses.insert(&request, answer, self.journal.next_number());
        }
        self.record(&plan, expect, ops, events);
        Ok(answer)
    }

    /// Makes the proposal of a plan wait for the approval that a step opens, if it needs one.
    fn open(
        &self,
        plan: &mut Plan,
        answer: &mut IncidentResponse,
        step: Option<ApprovalStep>,
    ) -> Result<Option<ApprovalStep>, Error> {
        let standing = self.options.standing.get();
        let proposal = plan.proposal();
        let need = proposal.as_deref().and_then(release::need);
        let step = standing.open(need, step)?;
        if let (Some(proposal), Some(step)) = (proposal, &step) {
            proposal.approval_id = Some(step.approval.clone());
            let shown = Arc::new(proposal.clone());
            for alert in [&mut answer.alert, &mut answer.pending_alert].into_iter().flatten() {
                if alert.id == shown.id {
                    *alert = Arc::clone(&shown);
                }
            }
        }
        Ok(step)
    }

    /// Tells a decision on a proposal that waits for an approval from every other request.
    ///
    /// # Errors
    /// `Forbidden` (`approval_required`) for such a decision without its step; `Conflict` with that of another approval.
    fn decided(&self, what: &IncidentRequest, step: Option<ApprovalStep>) -> Result<Decided, Error> {
        let alert = what.alert().filter(|_| what.decides()).and_then(|alert| self.registry.alerts.get(alert));
        let waiting = alert.filter(|alert| alert.state == AlertState::PendingSecond);
        let Some((alert, approval)) = waiting.and_then(|alert| Some((alert, alert.approval_id.as_deref()?))) else {
            return Ok(Decided::Other(step));
        };
        match (step, release::need(alert)) {
            (Some(step), _) => step.decides(approval).map(Decided::Decision),
            (None, Some(need)) => Err(self.options.standing.get().required(need)),
            (None, None) => {
                let message =
                    "the proposal waits for an approval that nothing names any more: withdraw it and propose anew";
                Err(Error::new(Kind::Conflict, message).coded("state_conflict"))
            }
        }
    }

    /// `opened` is the identifier of the proposal for which an approval is opened.
    fn plan(
        &self,
        what: IncidentRequest,
        outcome: Option<&StepOutcome>,
        opened: Option<String>,
        by: &By,
        now: Millis,
    ) -> Result<(Plan, IncidentResponse), Error> {
        let new_id = |kind| match &opened {
            Some(alert) if kind == IdKind::Alert => alert.clone(),
            _ => new_id(kind),
        };
        let context = RequestContext { by, now, new_id: &new_id };
        let registry = &self.registry;
        let mut answer = IncidentResponse::default();
        let (plan, alert) = match what {
            IncidentRequest::Report(report) => {
                let (plan, reported) = registry.report(*report, context)?;
                answer.attached = reported.attached;
                (plan, None)
            }
            IncidentRequest::Transition { id, if_match, transition } => {
                (registry.transition(&id, if_match, context, *transition)?, None)
            }
            IncidentRequest::Edit { id, if_match, edit, note, alert } => {
                (registry.edit(&id, if_match, context, *edit, note, *alert)?, None)
            }
            IncidentRequest::Resources { id, if_match, what } => {
                (registry.resources(&id, if_match, context, what)?, None)
            }
            IncidentRequest::Note { id, text, data } => (registry.note(&id, context, text, data)?, None),
            IncidentRequest::Publish { id, draft } => {
                let (plan, alert) = registry.publish(&id, *draft, context)?;
                (plan, Some(alert))
            }
            IncidentRequest::EndAlert { alert, action, note, texts } => {
                let (plan, message) = registry.end_alert(&alert, action, note, *texts, context)?;
                (plan, Some(message))
            }
            IncidentRequest::EditAlert { alert, if_match, texts } => {
                (registry.edit_alert(&alert, if_match, *texts, context)?, Some(alert))
            }
            IncidentRequest::Confirm { alert, if_match } => {
                let plan = registry.confirm(&alert, if_match, outcome, context)?;
                let pending = registry.alerts.get(&alert);
                let two = pending.filter(|pending| pending.waits_for == Some(WaitsFor::SecondPerson));
                if let Some(pending) = two.filter(|_| outcome.is_none()) {
                    self.options.independence.require(&pending.made_by, by.id(), now)?;
                }
                (plan, Some(alert))
            }
            IncidentRequest::Reject { alert, note } => (registry.reject(&alert, &note, outcome, context)?, Some(alert)),
            IncidentRequest::EndWaiting { alert, approval, why } => {
                (registry.end_waiting(&alert, &approval, &why, context), Some(alert))
            }
            IncidentRequest::Import { message, xml } => {
                let (plan, alert, outcome) = registry.import(*message, xml, context)?;
                answer.outcome = Some(outcome);
                (plan, Some(alert))
            }
        };
        answer.incident = plan.incidents.last().map(|changed| Arc::new(changed.after.clone()));
        answer.alert = alert.and_then(|id| {
            plan.alert(&id).map(|alert| Arc::new(alert.clone())).or_else(|| registry.alerts.get(&id).cloned())
        });
        let published = plan.message().filter(|alert| alert.state == AlertState::Published);
        answer.published_alert = published.map(|alert| Arc::new(alert.clone()));
        let pending = answer.incident.as_ref().and_then(|incident| registry.pending_after(&plan, &incident.id));
        answer.pending_alert = pending.filter(|alert| registry.can_see_alert(alert, by));
        Ok((plan, answer))
    }
}

impl Handler<WriteIncident> for IncidentActor {
    type Result = ResponseFuture<Result<IncidentResponse, Error>>;

    fn handle(&mut self, write: WriteIncident, context: &mut Context<Self>) -> Self::Result {
        let decided = self.write(write);
        respond(self, decided, context)
    }
}
