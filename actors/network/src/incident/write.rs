//! Requests for a change: planned on what is decided so far, recorded, and answered once durable.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};
use muster_store::{Op, Record, StoreError, Tree};
use serde_json::json;

use super::actor::IncidentActor;
use super::archive;
use super::events;
use super::messages::{Answer, What, Write};
use super::plan::Plan;
use super::state::Asked;
use crate::alert::Document;
use crate::journal::answer;
use muster_core::event::Event;
use muster_core::ids::new_id;
use muster_core::journal::Journalled;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// The events of a plan.
pub(super) fn events(plan: &Plan) -> Vec<Event> {
    let incidents = plan.incidents.iter().flat_map(events::of);
    incidents.chain(plan.alerts.iter().filter_map(events::of_alert)).collect()
}

/// The writes of a plan and its events.
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

impl IncidentActor {
    /// Brings back into memory what has long been over, to be annotated or read; a tick drops it again.
    pub(super) fn recall(&mut self, id: &str) -> Result<(), Error> {
        if self.network.archived
            && self.network.get(id).is_none()
            && let Some(incident) = archive::read(&self.options.store, id)?
        {
            self.network.put(Arc::new(incident));
        }
        Ok(())
    }

    /// The first answer to the same request.
    fn replay(&self, write: &Write, now: Millis) -> Result<Option<Answer>, Error> {
        let Some(request) = &write.idempotency else { return Ok(None) };
        let Some(first) = self.answers.replay(request, &self.options.store, now)? else { return Ok(None) };
        let first: Answer = serde_json::from_value(first).map_err(|error| {
            tracing::error!(%error, "a stored answer could not be read");
            Error::new(Kind::Internal, "the first answer could not be read")
        })?;
        Ok(Some(Answer { replayed: true, ..first }))
    }

    /// Decides a change, whole or not at all.
    fn write(&mut self, write: Write) -> Result<Answer, Error> {
        let now = self.now();
        if let Some(first) = self.replay(&write, now)? {
            return Ok(first);
        }
        if let Some(id) = write.what.incident() {
            self.recall(id)?;
        }
        let (plan, answer) = self.plan(write.what, &write.by, now)?;
        let events = events(&plan);
        let mut ops = ops(&plan, &events)?;
        let first = write.idempotency.map(|request| (request, json!(answer)));
        if let Some((request, answer)) = &first {
            ops.push(request.op(now, answer.clone())?);
        }
        if ops.is_empty() {
            // Nothing changes: it was done before.
            return Ok(answer);
        }
        self.admit()?;
        if let Some((request, answer)) = first {
            self.answers.insert(&request, answer, self.journal.next_number());
        }
        self.take(&plan, ops, events);
        Ok(answer)
    }

    fn plan(&self, what: What, by: &By, now: Millis) -> Result<(Plan, Answer), Error> {
        let asked = Asked { by, now, new_id: &new_id };
        let network = &self.network;
        let mut answer = Answer::default();
        let (plan, alert) = match what {
            What::Report(report) => {
                let (plan, reported) = network.report(*report, asked)?;
                answer.attached = reported.attached;
                (plan, None)
            }
            What::Act { id, if_match, mv } => (network.act(&id, if_match, asked, *mv)?, None),
            What::Edit { id, if_match, edit, note } => (network.edit(&id, if_match, asked, *edit, note)?, None),
            What::Resources { id, if_match, what } => (network.resources(&id, if_match, asked, what)?, None),
            What::Note { id, text, data } => (network.note(&id, asked, text, data)?, None),
            What::Publish { id, draft } => {
                let (plan, alert) = network.publish(&id, *draft, asked)?;
                (plan, Some(alert))
            }
            What::Confirm { alert } => (network.confirm(&alert, asked)?, Some(alert)),
            What::Reject { alert, reason } => (network.reject(&alert, reason, asked)?, Some(alert)),
            What::Import { message, xml } => {
                let (plan, alert, fate) = network.import(*message, xml, asked)?;
                answer.fate = Some(fate);
                (plan, Some(alert))
            }
        };
        answer.incident = plan.incidents.last().map(|changed| Arc::new(changed.after.clone()));
        answer.alert = alert.and_then(|id| {
            let changed = plan.alerts.iter().find(|change| change.after.id == id);
            changed.map(|change| Arc::new(change.after.clone())).or_else(|| network.alerts.get(&id).cloned())
        });
        Ok((plan, answer))
    }
}

impl Handler<Write> for IncidentActor {
    type Result = ResponseFuture<Result<Answer, Error>>;

    fn handle(&mut self, write: Write, context: &mut Context<Self>) -> Self::Result {
        let decided = self.write(write);
        answer(self, decided, context)
    }
}
