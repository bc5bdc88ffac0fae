//! The transitions: what each asks for, what it refuses, and what it makes of an incident. Pure.

use std::time::Duration;

use serde_json::{Value, json};

use super::access::{require_operator, require_write};
use super::checks::{Checks, required};
use super::moves::{Action, State};
use super::parts::Ack;
use super::record::Incident;
use super::resources::ResourceStatus;
use super::timeline::Entry;
use crate::alert::{Certainty, Severity, Urgency};
use muster_core::principal::Permission;
use muster_core::{Error, Kind, Millis};
use muster_identity::{By, missing_permission};

/// Who may only write incidents closes one that was resolved for so long.
pub const CLOSE_AFTER: Duration = Duration::from_secs(24 * 3600);
/// A closed incident is opened again within this.
pub const REOPEN_WITHIN: Duration = Duration::from_secs(30 * 24 * 3600);
/// Longest silence.
pub const MAX_SILENCE: Duration = Duration::from_secs(30 * 24 * 3600);

/// A transition as it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    pub action: Action,
    /// Needed by contain, escalate and de-escalate; of resolve where resources are still out.
    pub note: Option<String>,
    /// Needed by reopen, duplicate, false-alarm and cancel.
    pub reason: Option<String>,
    pub more: More,
}

/// What single transitions take besides.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct More {
    pub severity: Option<Severity>,
    pub urgency: Option<Urgency>,
    pub certainty: Option<Certainty>,
    pub ics_type: Option<u8>,
    pub commander: Option<String>,
    pub assignees: Option<Vec<String>>,
    pub organisations: Option<Vec<String>>,
    pub duplicate_of: Option<String>,
    /// Until when it is silent; left out, it is silent no more.
    pub until: Option<Millis>,
}

impl Move {
    pub fn new(action: Action) -> Self {
        Self { action, note: None, reason: None, more: More::default() }
    }
}

/// A change of an incident, with its entry and the name of its event.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// `None` of a new one.
    pub before: Option<std::sync::Arc<Incident>>,
    pub after: Incident,
    /// `None` where the timeline keeps no more of its kind.
    pub entry: Option<Entry>,
    pub event: &'static str,
}

/// What the rest of the house has to say to a transition.
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    pub now: Millis,
    /// How long an acknowledgement counts without activation.
    pub ack_for: Duration,
    /// The incident that `duplicate_of` names, where it may be seen.
    pub original: Option<&'a Incident>,
}

/// Makes a transition.
///
/// # Errors
/// `Forbidden`; `Conflict` with what would be allowed; `Invalid` names what the request left out.
pub fn act(incident: &std::sync::Arc<Incident>, asked: Move, by: &By, world: &World<'_>) -> Result<Changed, Error> {
    require_write(incident, by)?;
    incident.state.require(asked.action)?;
    let mut next = incident.advanced(world.now);
    let data = step(&mut next, &asked, by, world)?;
    next.prioritize();
    let note = asked.reason.or(asked.note);
    let entry = Some(entry(incident, &next, by, asked.action.name(), note, data));
    Ok(Changed { before: Some(incident.clone()), after: next, entry, event: event(asked.action) })
}

/// The entry of a change.
pub(super) fn entry(
    before: &Incident,
    after: &Incident,
    by: &By,
    kind: &str,
    note: Option<String>,
    data: Value,
) -> Entry {
    let moved = before.state != after.state;
    Entry {
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

/// Changes the record; gives what the timeline keeps of it besides.
fn step(next: &mut Incident, asked: &Move, by: &By, world: &World<'_>) -> Result<Value, Error> {
    let now = world.now;
    let mut checks = Checks::default();
    asked.note.iter().for_each(|note| checks.text("note", note));
    checks.done()?;
    let why = |text: &str| required("reason", asked.reason.clone(), text);
    let noted = || required("note", asked.note.clone(), "say what was done");
    match asked.action {
        Action::Triage => triage(next, &asked.more)?,
        Action::Acknowledge => {
            next.enter(State::Acknowledged, now);
            next.ack = Some(Ack { by: by.id().to_owned(), at: now, expires_at: now.plus(world.ack_for) });
        }
        Action::Activate => activate(next, &asked.more, now)?,
        Action::Contain => {
            noted()?;
            next.enter(State::Contained, now);
        }
        Action::Escalate => {
            noted()?;
            next.ics_type = another_type(next, next.ics_type.checked_sub(1))?;
        }
        Action::DeEscalate => {
            noted()?;
            next.ics_type = another_type(next, next.ics_type.checked_add(1))?;
        }
        Action::Resolve => resolve(next, asked.note.is_some(), now)?,
        Action::Close => close(next, by, now)?,
        Action::Reopen => {
            why("say why it is not over")?;
            reopen(next, now)?;
        }
        Action::MarkDuplicate => {
            why("say what shows that they are one")?;
            duplicate(next, asked.more.duplicate_of.as_deref(), world)?;
        }
        Action::FalseAlarm => {
            why("say what showed it")?;
            end(next, State::FalseAlarm, now);
        }
        Action::Cancel => {
            why("say why it is called off")?;
            end(next, State::Canceled, now);
        }
        Action::Silence => return silence(next, asked.more.until, now),
        Action::Assign => return assign(next, &asked.more, by),
        Action::Edit | Action::Resources | Action::Publish | Action::Note => {
            return Err(Error::new(Kind::Internal, "this is no transition"));
        }
    }
    Ok(Value::Null)
}

fn triage(next: &mut Incident, more: &More) -> Result<(), Error> {
    next.severity = more.severity.or(next.severity);
    next.urgency = more.urgency.or(next.urgency);
    next.certainty = more.certainty.or(next.certainty);
    next.ics_type = more.ics_type.unwrap_or(next.ics_type);
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

fn activate(next: &mut Incident, more: &More, now: Millis) -> Result<(), Error> {
    next.commander = more.commander.clone().or(next.commander.take());
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
        Error::new(Kind::Conflict, message).coded("ics_type_limit").detailing(next.state.told())
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

fn duplicate(next: &mut Incident, of: Option<&str>, world: &World<'_>) -> Result<(), Error> {
    let mut checks = Checks::default();
    match (of, world.original) {
        (None, _) => checks.fail("duplicate_of", "is required: the id of the other incident"),
        (Some(id), _) if id == next.id => checks.fail("duplicate_of", "an incident is not its own duplicate"),
        (Some(_), Some(original)) if original.state.is_open() => {}
        (Some(_), _) => checks.fail("duplicate_of", "must be the id of an open incident"),
    }
    checks.done()?;
    next.duplicate_of = of.map(str::to_owned);
    end(next, State::Duplicate, world.now);
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

fn assign(next: &mut Incident, more: &More, by: &By) -> Result<Value, Error> {
    require_operator(by)?;
    let mut checks = Checks::default();
    let said = more.commander.is_some() || more.assignees.is_some() || more.organisations.is_some();
    checks.that(said, "assignees", "send assignees, commander or organisations");
    more.commander.iter().for_each(|id| checks.id("commander", "usr_", id));
    more.assignees.iter().for_each(|ids| checks.ids("assignees", "usr_", ids));
    more.organisations.iter().for_each(|names| checks.lines("organisations", names));
    checks.done()?;
    next.commander = more.commander.clone().or(next.commander.take());
    next.assignees = more.assignees.clone().unwrap_or_else(|| std::mem::take(&mut next.assignees));
    next.organisations = more.organisations.clone().unwrap_or_else(|| std::mem::take(&mut next.organisations));
    Ok(json!({ "commander": next.commander, "assignees": next.assignees, "organisations": next.organisations }))
}

/// The acknowledgement ran out without activation: triaged again.
pub fn unacknowledge(incident: &std::sync::Arc<Incident>, now: Millis) -> Option<Changed> {
    let expired =
        incident.state == State::Acknowledged && incident.ack.as_ref().is_some_and(|ack| ack.expires_at <= now);
    if !expired {
        return None;
    }
    let mut next = incident.advanced(now);
    next.ack = None;
    next.enter(State::Triaged, now);
    let entry = Some(entry(incident, &next, &By::System, "unacknowledge", None, Value::Null));
    Some(Changed { before: Some(incident.clone()), after: next, entry, event: "incident.unacknowledged" })
}
