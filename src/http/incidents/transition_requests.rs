//! Request bodies of transitions.

use muster_core::Millis;
use muster_network::incident::{Action, IncidentTransition, TransitionDetails};
use muster_request::Request;

/// The body of a request for a transition.
pub trait TransitionRequest: Request + 'static {
    fn into_transition(self, action: Action) -> IncidentTransition;
}

macro_rules! transition {
    ($name:ident, $body:ident => $note:expr, $reason:expr, $more:expr) => {
        impl TransitionRequest for $name {
            fn into_transition(self, action: Action) -> IncidentTransition {
                let $body = self;
                IncidentTransition { action, note: $note, reason: $reason, details: $more }
            }
        }
    };
}

/// An assessment. Fields that are left out keep their values.
#[derive(Debug, Request)]
#[request(may_be_empty, example = {
    "severity": "Severe", "urgency": "Immediate", "certainty": "Observed", "ics_type": 4
})]
pub struct TriageBody {
    #[request(schema = String)]
    pub severity: Option<muster_network::alert::Severity>,
    #[request(schema = String)]
    pub urgency: Option<muster_network::alert::Urgency>,
    #[request(schema = String)]
    pub certainty: Option<muster_network::alert::Certainty>,
    /// ICS type of the incident, 1 to 5.
    #[request(serde)]
    pub ics_type: Option<u8>,
    pub note: Option<String>,
}

transition!(TriageBody, body => body.note, None, TransitionDetails {
    severity: body.severity,
    urgency: body.urgency,
    certainty: body.certainty,
    ics_type: body.ics_type,
    ..TransitionDetails::default()
});

/// A note for the timeline.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "note": "the desk has it" })]
pub struct TransitionNote {
    pub note: Option<String>,
}

transition!(TransitionNote, body => body.note, None, TransitionDetails::default());

/// The commander of an incident that has none.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "commander": "usr_01JZ8F3V7Q2K5N9B4C6D8E0F2G", "note": "boats are out" })]
pub struct ActivateBody {
    /// Identifier of the commander, `usr_…`.
    pub commander: Option<String>,
    pub note: Option<String>,
}

transition!(ActivateBody, body => body.note, None, TransitionDetails { commander: body.commander, ..TransitionDetails::default() });

/// A change of the ICS type by one.
#[derive(Debug, Request)]
#[request(example = { "note": "a second town is under water", "direction": "up" })]
pub struct EscalateBody {
    pub note: String,
    /// Direction: `up` (default) towards type 1, `down` towards type 5.
    #[request(schema = String)]
    pub direction: Option<Direction>,
}

/// The direction of an escalation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Up,
    Down,
}

impl TransitionRequest for EscalateBody {
    fn into_transition(self, action: Action) -> IncidentTransition {
        let action = if self.direction == Some(Direction::Down) { Action::DeEscalate } else { action };
        IncidentTransition { note: Some(self.note), ..IncidentTransition::new(action) }
    }
}

/// The reason of a transition.
#[derive(Debug, Request)]
#[request(schema = IncidentReason, example = { "reason": "a burst pipe" })]
pub struct ReasonBody {
    /// 1 to 10,000 characters.
    pub reason: String,
}

transition!(ReasonBody, body => None, Some(body.reason), TransitionDetails::default());

/// The incident of which this one is a duplicate, and the reason.
#[derive(Debug, Request)]
#[request(example = { "duplicate_of": "inc_01JZ8F3V7Q2K5N9B4C6D8E0F2G", "reason": "the same dyke" })]
pub struct DuplicateBody {
    /// Identifier of an open incident, `inc_…`.
    pub duplicate_of: String,
    pub reason: String,
}

transition!(DuplicateBody, body => None, Some(body.reason), TransitionDetails {
    duplicate_of: Some(body.duplicate_of),
    ..TransitionDetails::default()
});

/// The end of a silence.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "note": "a drill next door" })]
pub struct SilenceBody {
    /// End of the silence, RFC 3339, within 30 days. If it is left out, the silence ends now.
    #[request(schema = String)]
    pub until: Option<Millis>,
    pub note: Option<String>,
}

transition!(SilenceBody, body => body.note, None, TransitionDetails { until: body.until, ..TransitionDetails::default() });

/// The commander and the assignees of an incident. A list replaces the present one.
#[derive(Debug, Request)]
#[request(example = { "organisations": ["THW"], "note": "boats come from the THW" })]
pub struct AssignBody {
    /// Identifiers of the assignees, `usr_…`.
    pub assignees: Option<Vec<String>>,
    /// Identifier of the commander, `usr_…`.
    pub commander: Option<String>,
    pub organisations: Option<Vec<String>>,
    pub note: Option<String>,
}

transition!(AssignBody, body => body.note, None, TransitionDetails {
    assignees: body.assignees,
    commander: body.commander,
    organisations: body.organisations,
    ..TransitionDetails::default()
});
