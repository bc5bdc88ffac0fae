//! The transitions of an incident: what each requires, rejects and changes. Pure.

use std::time::Duration;

use serde_json::{Value, json};

use super::access::{require_operator, require_write};
use super::alert_texts::AlertTexts;
use super::checks::{Checks, required};
use super::fields::Ack;
use super::lifecycle::{Action, State};
use super::record::Incident;
use super::resources::ResourceStatus;
use super::timeline::TimelineEntry;
use crate::alert::{Certainty, Severity, Urgency};
use muster_core::principal::Permission;
use muster_core::{Error, Kind, Millis};
use muster_identity::{By, missing_permission};

/// Time after its resolution from which a person without `incidents:close` may close an incident.
pub const CLOSE_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Time after its closure within which an incident may be reopened.
pub const REOPEN_WITHIN: Duration = Duration::from_secs(30 * 24 * 3600);
/// Longest silence of an incident.
pub const MAX_SILENCE: Duration = Duration::from_secs(30 * 24 * 3600);

/// A requested transition.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentTransition {
    /// The action.
    pub action: Action,
    /// Note for the timeline. Required by contain, escalate, de-escalate, reopen, duplicate, false-alarm and cancel, and
    /// by resolve while resources are not released.
    pub note: Option<String>,
    /// Parameters of single actions.
    pub details: TransitionDetails,
    /// Texts of the message that ends or updates the alert of the incident.
    pub alert: AlertTexts,
}

/// Parameters of single actions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TransitionDetails {
    /// Severity, for triage.
    pub severity: Option<Severity>,
    /// Urgency, for triage.
    pub urgency: Option<Urgency>,
    /// Certainty, for triage.
    pub certainty: Option<Certainty>,
    /// ICS type 5 (least) to 1, for triage.
    pub ics_type: Option<u8>,
    /// Commander, for activate and assign.
    pub commander: Option<String>,
    /// Assignees, for assign; replaces all.
    pub assignees: Option<Vec<String>>,
    /// Organisations, for assign; replaces all.
    pub organisations: Option<Vec<String>>,
    /// The other incident, for duplicate.
    pub duplicate_of: Option<String>,
    /// End of the silence, for silence; `None` ends it.
    pub until: Option<Millis>,
}

impl IncidentTransition {
    /// Creates a transition without note and parameters.
    pub fn new(action: Action) -> Self {
        Self { action, note: None, details: TransitionDetails::default(), alert: AlertTexts::default() }
    }
}

/// A change of an incident with its timeline entry and the name of its event.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentChange {
    /// The incident before; `None` for a new one.
    pub before: Option<std::sync::Arc<Incident>>,
    /// The incident after.
    pub after: Incident,
    /// Timeline entry; `None` past the number of entries kept of its kind.
    pub entry: Option<TimelineEntry>,
    /// Name of the event.
    pub event: &'static str,
}

/// What a transition needs to know besides the incident.
#[derive(Debug, Clone, Copy)]
pub struct TransitionContext<'a> {
    /// Current time.
    pub now: Millis,
    /// Time after which an acknowledgement without activation expires.
    pub ack_for: Duration,
    /// The incident that `duplicate_of` names, if the caller may see it.
    pub original: Option<&'a Incident>,
}

/// Applies a transition.
///
/// # Errors
/// `Forbidden`; `Conflict` with the allowed actions; `Invalid` with the missing field.
pub fn transition(
    incident: &std::sync::Arc<Incident>,
    request: IncidentTransition,
    by: &By,
    context: &TransitionContext<'_>,
) -> Result<IncidentChange, Error> {
    require_write(incident, by)?;
    incident.state.require(request.action)?;
    let mut next = incident.next_version(context.now);
    let data = apply(&mut next, &request, by, context)?;
    next.prioritize();
    let entry = Some(entry(incident, &next, by, request.action.name(), request.note, data));
    Ok(IncidentChange { before: Some(incident.clone()), after: next, entry, event: event(request.action) })
}

/// Builds the timeline entry of a change.
pub(super) fn entry(
    before: &Incident,
    after: &Incident,
    by: &By,
    kind: &str,
    note: Option<String>,
    data: Value,
) -> TimelineEntry {
    let moved = before.state != after.state;
    TimelineEntry {
        seq: after.timeline_seq,
        at: after.updated_at,
        actor: by.id().to_owned(),
        kind: kind.to_owned(),
        from: moved.then_some(before.state),
        to: moved.then_some(after.state),
        note,
        data,
    }
}

const fn event(action: Action) -> &'static str {
    match action {
        Action::Triage | Action::Edit | Action::Resources | Action::Publish => "incident.updated",
        Action::Acknowledge => "incident.acknowledged",
        Action::Activate => "incident.activated",
        Action::Contain => "incident.contained",
        Action::Escalate => "incident.escalated",
        Action::DeEscalate => "incident.de_escalated",
        Action::Resolve => "incident.resolved",
        Action::Close => "incident.closed",
        Action::Reopen => "incident.reopened",
        Action::MarkDuplicate => "incident.duplicate",
        Action::FalseAlarm => "incident.false_alarm",
        Action::Cancel => "incident.canceled",
        Action::Silence => "incident.silenced",
        Action::Assign => "incident.assigned",
        Action::Note => "incident.noted",
    }
}

/// Changes the record; returns the data of the timeline entry.
fn apply(
    next: &mut Incident,
    request: &IncidentTransition,
    by: &By,
    context: &TransitionContext<'_>,
) -> Result<Value, Error> {
    let now = context.now;
    let mut checks = Checks::default();
    request.note.iter().for_each(|note| checks.text("note", note));
    checks.done()?;
    let noted = |text: &str| required("note", request.note.clone(), text);
    match request.action {
        Action::Triage => triage(next, &request.details)?,
        Action::Acknowledge => {
            next.enter(State::Acknowledged, now);
            next.ack = Some(Ack { by: by.id().to_owned(), at: now, expires_at: now.plus(context.ack_for) });
        }
        Action::Activate => activate(next, &request.details, now)?,
        Action::Contain => {
            noted("say what was done")?;
            next.enter(State::Contained, now);
        }
        Action::Escalate => {
            noted("say what was done")?;
            next.ics_type = another_type(next, next.ics_type.checked_sub(1))?;
        }
        Action::DeEscalate => {
            noted("say what was done")?;
            next.ics_type = another_type(next, next.ics_type.checked_add(1))?;
        }
        Action::Resolve => resolve(next, request.note.is_some(), now)?,
        Action::Close => close(next, by, now)?,
        Action::Reopen => {
            noted("say why it is not over")?;
            reopen(next, now)?;
        }
        Action::MarkDuplicate => {
            noted("say what shows that they are one")?;
            duplicate(next, request.details.duplicate_of.as_deref(), context)?;
        }
        Action::FalseAlarm => {
            noted("say what showed it")?;
            end(next, State::FalseAlarm, now);
        }
        Action::Cancel => {
            noted("say why it is called off")?;
            end(next, State::Canceled, now);
        }
        Action::Silence => return silence(next, request.details.until, now),
        Action::Assign => return assign(next, &request.details, by),
        Action::Edit | Action::Resources | Action::Publish | Action::Note => {
            return Err(Error::new(Kind::Internal, "this is no transition"));
        }
    }
    Ok(Value::Null)
}

fn triage(next: &mut Incident, details: &TransitionDetails) -> Result<(), Error> {
    next.severity = details.severity.or(next.severity);
    next.urgency = details.urgency.or(next.urgency);
    next.certainty = details.certainty.or(next.certainty);
    next.ics_type = details.ics_type.unwrap_or(next.ics_type);
    let mut checks = Checks::default();
    let needed = "is not assessed yet: send it (Unknown is an assessment too)";
    checks.that(next.severity.is_some(), "severity", needed);
    checks.that(next.urgency.is_some(), "urgency", needed);
    checks.that(next.certainty.is_some(), "certainty", needed);
    checks.that((1..=5).contains(&next.ics_type), "ics_type", "must be 1 to 5");
    checks.done()?;
    next.enter(State::Triaged, next.updated_at);
    Ok(())
}

fn activate(next: &mut Incident, details: &TransitionDetails, now: Millis) -> Result<(), Error> {
    next.commander = details.commander.clone().or(next.commander.take());
    let mut checks = Checks::default();
    match &next.commander {
        Some(commander) => checks.id("commander", "usr_", commander),
        None => checks.fail("commander", "is required: nobody commands this incident yet"),
    }
    checks.done()?;
    next.ack = None;
    next.enter(State::Active, now);
    Ok(())
}

fn another_type(next: &Incident, to: Option<u8>) -> Result<u8, Error> {
    to.filter(|to| (1..=5).contains(to)).ok_or_else(|| {
        let message =
            format!("an incident of ICS type {} goes no further that way (5 is the least, 1 the most)", next.ics_type);
        Error::new(Kind::Conflict, message).coded("ics_type_limit").detailing(next.state.rejection_details())
    })
}

fn resolve(next: &mut Incident, noted: bool, now: Millis) -> Result<(), Error> {
    let out = next.resources.iter().filter(|resource| resource.status != ResourceStatus::Released);
    let out: Vec<u32> = out.map(|resource| resource.id).collect();
    if !out.is_empty() && !noted {
        let details = json!({ "state": next.state, "allowed": next.state.allowed(), "resources": out });
        let message = "resources are not released: release them, or say in `note` what becomes of them";
        return Err(Error::new(Kind::Conflict, message).coded("resources_not_released").detailing(details));
    }
    next.enter(State::Resolved, now);
    Ok(())
}

fn close(next: &mut Incident, by: &By, now: Millis) -> Result<(), Error> {
    if !by.may(Permission::IncidentsClose) && now.since(next.state_since) < CLOSE_AFTER {
        let closable = next.state_since.plus(CLOSE_AFTER);
        let details = json!({ "permission": Permission::IncidentsClose.name(), "closable_at": closable });
        return Err(missing_permission(Permission::IncidentsClose).detailing(details));
    }
    next.closed_at = Some(now);
    next.enter(State::Closed, now);
    Ok(())
}

fn reopen(next: &mut Incident, now: Millis) -> Result<(), Error> {
    if next.closed_at.is_some_and(|closed| now.since(closed) >= REOPEN_WITHIN) {
        let message = "it was closed 30 days ago or more: report a new incident, with this one as its `parent_id`";
        let details = json!({ "state": next.state, "allowed": [Action::Note] });
        return Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(details));
    }
    next.closed_at = None;
    next.enter(State::Active, now);
    Ok(())
}

fn duplicate(next: &mut Incident, of: Option<&str>, context: &TransitionContext<'_>) -> Result<(), Error> {
    let mut checks = Checks::default();
    match (of, context.original) {
        (None, _) => checks.fail("duplicate_of", "is required: the id of the other incident"),
        (Some(id), _) if id == next.id => checks.fail("duplicate_of", "an incident is not its own duplicate"),
        (Some(_), Some(original)) if original.state.is_open() => {}
        (Some(_), _) => checks.fail("duplicate_of", "must be the id of an open incident"),
    }
    checks.done()?;
    next.duplicate_of = of.map(str::to_owned);
    end(next, State::Duplicate, context.now);
    Ok(())
}

fn end(next: &mut Incident, state: State, now: Millis) {
    next.ack = None;
    next.closed_at = Some(now);
    next.enter(state, now);
}

fn silence(next: &mut Incident, until: Option<Millis>, now: Millis) -> Result<Value, Error> {
    let mut checks = Checks::default();
    let fits = until.is_none_or(|until| until > now && until.since(now) <= MAX_SILENCE);
    checks.that(fits, "until", "must be within the next 30 days; leave it out to end the silence");
    checks.done()?;
    next.silenced_until = until;
    Ok(json!({ "until": until }))
}

fn assign(next: &mut Incident, details: &TransitionDetails, by: &By) -> Result<Value, Error> {
    require_operator(by)?;
    let mut checks = Checks::default();
    let provided = details.commander.is_some() || details.assignees.is_some() || details.organisations.is_some();
    checks.that(provided, "assignees", "send assignees, commander or organisations");
    details.commander.iter().for_each(|id| checks.id("commander", "usr_", id));
    details.assignees.iter().for_each(|ids| checks.ids("assignees", "usr_", ids));
    details.organisations.iter().for_each(|names| checks.lines("organisations", names));
    checks.done()?;
    next.commander = details.commander.clone().or(next.commander.take());
    next.assignees = details.assignees.clone().unwrap_or_else(|| std::mem::take(&mut next.assignees));
    next.organisations = details.organisations.clone().unwrap_or_else(|| std::mem::take(&mut next.organisations));
    Ok(json!({ "commander": next.commander, "assignees": next.assignees, "organisations": next.organisations }))
}

/// Returns an incident whose acknowledgement expired without activation to the state triaged.
pub fn unacknowledge(incident: &std::sync::Arc<Incident>, now: Millis) -> Option<IncidentChange> {
    let expired =
        incident.state == State::Acknowledged && incident.ack.as_ref().is_some_and(|ack| ack.expires_at <= now);
    if !expired {
        return None;
    }
    let mut next = incident.next_version(now);
    next.ack = None;
    next.enter(State::Triaged, now);
    let entry = Some(entry(incident, &next, &By::System, "unacknowledge", None, Value::Null));
    Some(IncidentChange { before: Some(incident.clone()), after: next, entry, event: "incident.unacknowledged" })
}
