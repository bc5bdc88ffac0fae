//! What transitions take.

use muster_core::Millis;
use muster_network::incident::{Action, IncidentTransition, TransitionDetails};
use muster_request::Request;

/// A body that asks for a transition.
pub trait Asks: Request + 'static {
    fn into_move(self, action: Action) -> IncidentTransition;
}

macro_rules! asks {
    ($name:ident, $body:ident => $note:expr, $reason:expr, $more:expr) => {
        impl Asks for $name {
            fn into_move(self, action: Action) -> IncidentTransition {
                let $body = self;
                IncidentTransition { action, note: $note, reason: $reason, details: $more }
            }
        }
    };
}

/// An assessment; what was set before counts where it is left out.
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
    /// 1 to 5.
    #[request(serde)]
    pub ics_type: Option<u8>,
    pub note: Option<String>,
}

asks!(TriageBody, body => body.note, None, TransitionDetails {
    severity: body.severity,
    urgency: body.urgency,
    certainty: body.certainty,
    ics_type: body.ics_type,
    ..TransitionDetails::default()
});

/// A note for the timeline.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "note": "the desk has it" })]
pub struct MoveNote {
    pub note: Option<String>,
}

asks!(MoveNote, body => body.note, None, TransitionDetails::default());

/// Who commands, where nobody does yet.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "commander": "usr_01JZ8F3V7Q2K5N9B4C6D8E0F2G", "note": "boats are out" })]
pub struct ActivateBody {
    /// `usr_…`
    pub commander: Option<String>,
    pub note: Option<String>,
}

asks!(ActivateBody, body => body.note, None, TransitionDetails { commander: body.commander, ..TransitionDetails::default() });

/// One ICS type up or down.
#[derive(Debug, Request)]
#[request(example = { "note": "a second town is under water", "direction": "up" })]
pub struct EscalateBody {
    pub note: String,
    /// `up` (default): towards type 1; `down`: towards type 5.
    #[request(schema = String)]
    pub direction: Option<Direction>,
}

/// Which way an escalation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Up,
    Down,
}

impl Asks for EscalateBody {
    fn into_move(self, action: Action) -> IncidentTransition {
        let action = if self.direction == Some(Direction::Down) { Action::DeEscalate } else { action };
        IncidentTransition { note: Some(self.note), ..IncidentTransition::new(action) }
    }
}

/// Why.
#[derive(Debug, Request)]
#[request(schema = IncidentReason, example = { "reason": "a burst pipe" })]
pub struct ReasonBody {
    /// 1 to 10,000 characters.
    pub reason: String,
}

asks!(ReasonBody, body => None, Some(body.reason), TransitionDetails::default());

/// Which incident it is the same as, and why.
#[derive(Debug, Request)]
#[request(example = { "duplicate_of": "inc_01JZ8F3V7Q2K5N9B4C6D8E0F2G", "reason": "the same dyke" })]
pub struct DuplicateBody {
    /// An open incident, `inc_…`.
    pub duplicate_of: String,
    pub reason: String,
}

asks!(DuplicateBody, body => None, Some(body.reason), TransitionDetails {
    duplicate_of: Some(body.duplicate_of),
    ..TransitionDetails::default()
});

/// Until when it is silent.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "note": "a drill next door" })]
pub struct SilenceBody {
    /// RFC 3339, within 30 days; left out, the silence ends.
    #[request(schema = String)]
    pub until: Option<Millis>,
    pub note: Option<String>,
}

asks!(SilenceBody, body => body.note, None, TransitionDetails { until: body.until, ..TransitionDetails::default() });

/// Who works on it. A list replaces the one before.
#[derive(Debug, Request)]
#[request(example = { "organisations": ["THW"], "note": "boats come from the THW" })]
pub struct AssignBody {
    /// `usr_…`
    pub assignees: Option<Vec<String>>,
    /// `usr_…`
    pub commander: Option<String>,
    pub organisations: Option<Vec<String>>,
    pub note: Option<String>,
}

asks!(AssignBody, body => body.note, None, TransitionDetails {
    assignees: body.assignees,
    commander: body.commander,
    organisations: body.organisations,
    ..TransitionDetails::default()
});
