//! Import of CAP messages: stored once each and applied to incidents. Pure.
//!
//! Imported messages are never published from here: they reach neither the public channel nor the feed.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::alert_texts::AlertTexts;
use super::change::record_change;
use super::edit::IncidentEdit;
use super::fields::ReportedVia;
use super::kind::IncidentKind;
use super::lifecycle::{Action, State};
use super::plan::Plan;
use super::record::Incident;
use super::report::{NewReport, attach};
use super::state::{IncidentRegistry, RequestContext};
use super::transition::IncidentChange;
use crate::alert::{AlertChange, AlertInfo, AlertRecord, AlertState, MAX_PARKED, MsgType, Status};
use muster_core::principal::Permission;
use muster_core::{Error, Kind};
use muster_identity::By;

/// Outcome of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    /// The message opened or changed an incident.
    #[serde(rename = "taken")]
    Applied,
    /// The message is stored and changes nothing.
    Stored,
    /// The message waits for one that it refers to.
    Parked,
    /// The message was imported before.
    #[serde(rename = "known")]
    AlreadyImported,
}

impl IncidentRegistry {
    /// Imports a message. `message` is a record with an identifier of its own and no state yet; returns the identifier
    /// under which it is stored.
    ///
    /// # Errors
    /// `Forbidden`; `Invalid` for an Update or Cancel without references; `Conflict` if it refers to another sender's
    /// message or too many messages are parked.
    pub(super) fn import(
        &self,
        message: AlertRecord,
        xml: String,
        context: RequestContext<'_>,
    ) -> Result<(Plan, String, ImportOutcome), Error> {
        context.by.require(Permission::IncidentsWrite)?;
        let known = self.alerts.named(&message.reference());
        if let Some(known) = known.filter(|known| known.state != AlertState::Lapsed) {
            return Ok((Plan::default(), known.id.clone(), ImportOutcome::AlreadyImported));
        }
        let id = message.id.clone();
        let mut plan = Plan::default();
        let outcome = match message.msg_type {
            MsgType::Alert => self.import_alert(message, &mut plan, context)?,
            MsgType::Update | MsgType::Cancel => self.import_reference(message, &mut plan, context)?,
            MsgType::Ack | MsgType::Error => self.store_only(message, &mut plan, context),
        };
        if let Some(own) = plan.alerts.iter_mut().find(|change| change.after.id == id) {
            own.document = Some(xml);
        }
        Ok((plan, id, outcome))
    }

    fn store_only(&self, mut message: AlertRecord, plan: &mut Plan, context: RequestContext<'_>) -> ImportOutcome {
        message.state = AlertState::Stored;
        plan.alerts.push(AlertChange::new(message, context.now, None));
        ImportOutcome::Stored
    }

    /// Imports an Alert: opens an incident if it is actual, and applies the messages that waited for it.
    fn import_alert(
        &self,
        mut message: AlertRecord,
        plan: &mut Plan,
        context: RequestContext<'_>,
    ) -> Result<ImportOutcome, Error> {
        let mut outcome = ImportOutcome::Stored;
        if message.status == Status::Actual {
            let named = message.incidents.iter().find_map(|name| self.open_of(name, context.by));
            let changed = match named {
                Some(open) => attach_message(open, &message, context),
                None => self.create_triaged(&message, context)?,
            };
            message.incident_id = Some(changed.after.id.clone());
            plan.incidents.push(changed);
            outcome = ImportOutcome::Applied;
        }
        let waiting = self.alerts.waiting_for(&message.reference());
        message.state = AlertState::Stored;
        let sender = message.sender.clone();
        let (incident, status) = (message.incident_id.clone(), message.status);
        plan.alerts.push(AlertChange::new(message, context.now, None));
        for parked in waiting.iter().filter(|parked| parked.sender == sender) {
            let mut change = AlertChange::moved(parked, AlertState::Stored, context.now, None);
            change.after.incident_id.clone_from(&incident);
            if parked.status == status {
                apply_message(plan, parked, context);
            }
            plan.alerts.push(change);
        }
        self.follow_import(plan, context)?;
        Ok(outcome)
    }

    /// Updates or ends the alert that is published here for the incident that an import changed.
    fn follow_import(&self, plan: &mut Plan, context: RequestContext<'_>) -> Result<(), Error> {
        let Some(changed) = plan.incidents.last() else { return Ok(()) };
        let was_open = changed.before.as_ref().is_some_and(|before| before.state.is_open());
        let canceled = was_open && changed.after.state == State::Canceled;
        let action = if canceled { Action::Cancel } else { Action::Edit };
        self.update_alerts(plan, action, AlertTexts::default(), context)
    }

    fn create_triaged(&self, message: &AlertRecord, context: RequestContext<'_>) -> Result<IncidentChange, Error> {
        let fields = message.info.as_ref().map(edit_from).unwrap_or_default();
        let report = NewReport {
            fields,
            via: Some(ReportedVia::Cap),
            source_ref: Some(message.identifier.chars().take(200).collect()),
            ..NewReport::default()
        };
        let mut changed = self.create(report, context)?;
        let now = context.now;
        changed.after.enter(State::Triaged, now);
        changed.after.cap.follow(message);
        if let Some(entry) = &mut changed.entry {
            entry.kind = "import".to_owned();
            entry.to = Some(State::Triaged);
            entry.data = json!({ "alert": message.id, "identifier": message.identifier, "sender": message.sender });
        }
        Ok(changed)
    }

    /// Imports an Update or Cancel of the first known message that it refers to.
    fn import_reference(
        &self,
        mut message: AlertRecord,
        plan: &mut Plan,
        context: RequestContext<'_>,
    ) -> Result<ImportOutcome, Error> {
        if message.references.is_empty() {
            return Err(Error::field(Kind::Invalid, &["body", "references"], "must name what it follows", "".into()));
        }
        let Some(referred) = message.references.iter().find_map(|reference| self.alerts.named(reference)) else {
            if self.alerts.parked() >= MAX_PARKED {
                let message = "too many messages wait for others already: send the one that it refers to first";
                return Err(Error::new(Kind::Conflict, message).coded("cap_unreferenced"));
            }
            message.state = AlertState::Parked;
            message.waits_until = Some(context.now.plus(self.settings.parked_for));
            plan.alerts.push(AlertChange::new(message, context.now, None));
            return Ok(ImportOutcome::Parked);
        };
        if referred.sender != message.sender {
            let message = "it refers to another sender's message: only who sent one updates or cancels it";
            return Err(Error::new(Kind::Conflict, message).coded("cap_foreign_reference"));
        }
        // An exercise never changes an actual incident.
        let applies = referred.status == message.status && message.status == Status::Actual;
        let incident = referred.incident_id.as_deref().filter(|_| applies).and_then(|id| self.get(id));
        let Some(incident) = incident else { return Ok(self.store_only(message, plan, context)) };
        message.incident_id = Some(incident.id.clone());
        let next = incident.next_version(context.now);
        plan.incidents.push(record_change(incident, next, context, "import", None, json!({}), "incident.updated"));
        apply_message(plan, &message, context);
        self.follow_import(plan, context)?;
        self.store_only(message, plan, context);
        Ok(ImportOutcome::Applied)
    }
}

/// Attaches an Alert that names an open incident by its `dedup_key` as a further report.
fn attach_message(
    open: &std::sync::Arc<Incident>,
    message: &AlertRecord,
    context: RequestContext<'_>,
) -> IncidentChange {
    let fields = message.info.as_ref().map(edit_from).unwrap_or_default();
    let source_ref = Some(message.identifier.chars().take(200).collect());
    let mut changed = attach(open, NewReport { fields, source_ref, ..NewReport::default() }, context);
    if changed.after.cap.identifier.is_none() {
        changed.after.cap.follow(message);
    }
    if let Some(entry) = &mut changed.entry {
        entry.kind = "import".to_owned();
        entry.data = json!({ "alert": message.id, "identifier": message.identifier, "sender": message.sender });
    }
    changed
}

/// Applies a message to the incident that a plan changed last.
fn apply_message(plan: &mut Plan, message: &AlertRecord, context: RequestContext<'_>) {
    let Some(changed) = plan.incidents.last_mut() else { return };
    let incident = &mut changed.after;
    let open = incident.state.is_open();
    if open && message.msg_type == MsgType::Update {
        // Invalid content is ignored; the sender's message is stored as a whole.
        let mut next = incident.clone();
        if message.info.as_ref().is_some_and(|info| edit_from(info).apply(&mut next, &By::System).is_ok()) {
            *incident = next;
        }
    }
    if open && message.msg_type == MsgType::Cancel {
        incident.ack = None;
        incident.closed_at = Some(context.now);
        incident.enter(State::Canceled, context.now);
        changed.event = if changed.before.is_some() { "incident.canceled" } else { changed.event };
    }
    let state = incident.state;
    // A finished incident is only annotated.
    if open {
        changed.after.cap.follow(message);
    }
    if let Some(entry) = &mut changed.entry {
        entry.from = changed.before.as_ref().map(|before| before.state).filter(|from| *from != state);
        entry.to = entry.to.and(Some(state)).or(entry.from.and(Some(state)));
        entry.data = json!({ "alert": message.id, "identifier": message.identifier, "msg_type": message.msg_type });
    }
}

/// Returns the fields of an imported message, cut to an incident's bounds.
fn edit_from(info: &AlertInfo) -> IncidentEdit {
    let cut = |text: &str, most: usize| -> String {
        text.chars().filter(|c| !c.is_control() || *c == '\n').take(most).collect()
    };
    let line = |text: &str| cut(&text.replace(['\n', '\r', '\t'], " "), super::checks::LINE);
    let title = info.headline.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or(&info.event);
    let text = |text: &Option<String>| {
        text.as_deref().map(|text| cut(text, super::checks::TEXT)).filter(|t| !t.trim().is_empty())
    };
    IncidentEdit {
        title: Some(line(title)),
        summary: text(&info.description),
        kind: Some(IncidentKind::of(&info.event, &info.category)),
        category: Some(info.category.clone()).filter(|categories| !categories.is_empty()),
        severity: Some(info.severity),
        urgency: Some(info.urgency),
        certainty: Some(info.certainty),
        geometry: info.geometry.clone().map(Some),
        area_desc: info.area_desc.as_deref().map(|area| Some(line(area))),
        onset: info.onset.map(Some),
        effective: info.effective.map(Some),
        expires: info.expires.map(Some),
        instruction: text(&info.instruction).map(Some),
        ..IncidentEdit::default()
    }
}
