//! Request bodies of the verbs of an incident. Every verb takes a `note`.

use muster_core::Millis;
use muster_network::incident::{Action, AlertTexts, IncidentTransition, TransitionDetails};
use muster_request::Request;

use crate::alert_texts::TextsBody;
use crate::parameters::{NoteFields, RequiredNote};

/// The body of a verb.
pub trait VerbRequest: Request + Send + 'static {
    /// Returns the transition, and whether it is only tried.
    fn into_transition(self, action: Action) -> (IncidentTransition, bool);
}

fn transition(action: Action, note: Option<String>, details: TransitionDetails) -> IncidentTransition {
    IncidentTransition { note, details, ..IncidentTransition::new(action) }
}

/// An assessment. Fields that are left out keep their values.
#[derive(Debug, Request)]
#[request(may_be_empty, example = {
    "severity": "Severe", "urgency": "Immediate", "certainty": "Observed", "ics_type": 4
})]
pub struct TriageBody {
    #[request(schema = String)]
    severity: Option<muster_network::alert::Severity>,
    #[request(schema = String)]
    urgency: Option<muster_network::alert::Urgency>,
    #[request(schema = String)]
    certainty: Option<muster_network::alert::Certainty>,
    /// ICS type of the incident, 1 to 5.
    #[request(serde)]
    ics_type: Option<u8>,
    #[request(flatten)]
    note: NoteFields,
}

impl VerbRequest for TriageBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        let Self { severity, urgency, certainty, ics_type, note } = self;
        let details = TransitionDetails { severity, urgency, certainty, ics_type, ..TransitionDetails::default() };
        (transition(action, note.note, details), false)
    }
}

/// A note for the timeline.
#[derive(Debug, Request)]
#[request(schema = TransitionNote, may_be_empty, example = { "note": "the desk has it" })]
pub struct AcknowledgeBody {
    #[request(flatten)]
    note: NoteFields,
}

impl VerbRequest for AcknowledgeBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        (transition(action, self.note.note, TransitionDetails::default()), false)
    }
}

/// What was done, for the timeline.
#[derive(Debug, Request)]
#[request(schema = RequiredTransitionNote, example = { "note": "the dyke holds" })]
pub struct StepBody {
    #[request(flatten)]
    note: RequiredNote,
}

impl VerbRequest for StepBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        (transition(action, Some(self.note.note), TransitionDetails::default()), false)
    }
}

/// Why an incident is reopened.
#[derive(Debug, Request)]
#[request(schema = IncidentReason, example = { "note": "the dyke leaks again" })]
pub struct ReopenBody {
    #[request(flatten)]
    note: RequiredNote,
}

impl VerbRequest for ReopenBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        (transition(action, Some(self.note.note), TransitionDetails::default()), false)
    }
}

/// The commander of an incident that has none.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "commander": "usr_01JZ8F3V7Q2K5N9B4C6D8E0F2G", "note": "boats are out" })]
pub struct ActivateBody {
    /// Identifier of the commander, `usr_…`.
    commander: Option<String>,
    #[request(flatten)]
    note: NoteFields,
}

impl VerbRequest for ActivateBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        let details = TransitionDetails { commander: self.commander, ..TransitionDetails::default() };
        (transition(action, self.note.note, details), false)
    }
}

/// A change of the ICS type by one.
#[derive(Debug, Request)]
#[request(example = { "note": "a second town is under water", "direction": "up" })]
pub struct EscalateBody {
    /// Direction: `up` (default) towards type 1, `down` towards type 5.
    #[request(schema = String)]
    direction: Option<Direction>,
    #[request(flatten)]
    note: RequiredNote,
}

/// The direction of an escalation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Up,
    Down,
}

impl VerbRequest for EscalateBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        let action = if self.direction == Some(Direction::Down) { Action::DeEscalate } else { action };
        (transition(action, Some(self.note.note), TransitionDetails::default()), false)
    }
}

/// The end of an incident that is over.
#[derive(Debug, Request)]
#[request(schema = ResolveIncident, may_be_empty, example = { "note": "the water is gone" })]
pub struct ResolveBody {
    #[request(flatten)]
    note: NoteFields,
    #[request(flatten)]
    message: EndMessage,
}

impl VerbRequest for ResolveBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        let dry_run = self.message.dry_run;
        let transition = transition(action, self.note.note, TransitionDetails::default());
        (IncidentTransition { alert: self.message.texts(), ..transition }, dry_run)
    }
}

/// The message that ends the alert of the incident.
#[derive(Debug, Request)]
pub struct EndMessage {
    /// Texts of the message that ends the published alert of the incident, in place of the usual words. Only if an alert
    /// is published.
    #[request(nested)]
    alert: Option<TextsBody>,
    /// Checks the request and returns what it would do; nothing is changed.
    #[request(default = false)]
    dry_run: bool,
}

impl EndMessage {
    fn texts(self) -> AlertTexts {
        self.alert.unwrap_or_default().into()
    }
}

/// The end of an incident that did not happen or is called off.
#[derive(Debug, Request)]
#[request(schema = EndIncident, example = { "note": "a burst pipe" })]
pub struct EndBody {
    #[request(flatten)]
    note: RequiredNote,
    #[request(flatten)]
    message: EndMessage,
}

impl VerbRequest for EndBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        let dry_run = self.message.dry_run;
        let transition = transition(action, Some(self.note.note), TransitionDetails::default());
        (IncidentTransition { alert: self.message.texts(), ..transition }, dry_run)
    }
}

/// The incident of which this one is a duplicate, and the reason.
#[derive(Debug, Request)]
#[request(example = { "duplicate_of": "inc_01JZ8F3V7Q2K5N9B4C6D8E0F2G", "note": "the same dyke" })]
pub struct DuplicateBody {
    /// Identifier of an open incident, `inc_…`.
    duplicate_of: String,
    #[request(flatten)]
    note: RequiredNote,
    #[request(flatten)]
    message: EndMessage,
}

impl VerbRequest for DuplicateBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        let dry_run = self.message.dry_run;
        let details = TransitionDetails { duplicate_of: Some(self.duplicate_of), ..TransitionDetails::default() };
        let transition = transition(action, Some(self.note.note), details);
        (IncidentTransition { alert: self.message.texts(), ..transition }, dry_run)
    }
}

/// The end of a silence.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "note": "a drill next door" })]
pub struct SilenceBody {
    /// End of the silence, RFC 3339, within 30 days. If it is left out, the silence ends now.
    #[request(schema = String)]
    until: Option<Millis>,
    #[request(flatten)]
    note: NoteFields,
}

impl VerbRequest for SilenceBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        let details = TransitionDetails { until: self.until, ..TransitionDetails::default() };
        (transition(action, self.note.note, details), false)
    }
}

/// The commander and the assignees of an incident. A list replaces the present one.
#[derive(Debug, Request)]
#[request(example = { "organisations": ["THW"], "note": "boats come from the THW" })]
pub struct AssignBody {
    /// Identifiers of the assignees, `usr_…`.
    assignees: Option<Vec<String>>,
    /// Identifier of the commander, `usr_…`.
    commander: Option<String>,
    organisations: Option<Vec<String>>,
    #[request(flatten)]
    note: NoteFields,
}

impl VerbRequest for AssignBody {
    fn into_transition(self, action: Action) -> (IncidentTransition, bool) {
        let Self { assignees, commander, organisations, note } = self;
        let details = TransitionDetails { assignees, commander, organisations, ..TransitionDetails::default() };
        (transition(action, note.note, details), false)
    }
}
