//! What transitions take.

use muster_core::Millis;
use muster_network::incident::{Action, More, Move};
use utoipa::ToSchema;

use crate::body::{Fields, FromJson};

/// A body that asks for a transition.
pub trait Asks: FromJson + 'static {
    fn into_move(self, action: Action) -> Move;
}

macro_rules! asks {
    ($name:ident, $body:ident => $note:expr, $reason:expr, $more:expr) => {
        impl Asks for $name {
            fn into_move(self, action: Action) -> Move {
                let $body = self;
                Move { action, note: $note, reason: $reason, more: $more }
            }
        }
    };
}

/// An assessment; what was set before counts where it is left out.
#[derive(Debug, ToSchema)]
pub struct TriageBody {
    #[schema(value_type = Option<String>)]
    pub severity: Option<muster_network::alert::Severity>,
    #[schema(value_type = Option<String>)]
    pub urgency: Option<muster_network::alert::Urgency>,
    #[schema(value_type = Option<String>)]
    pub certainty: Option<muster_network::alert::Certainty>,
    /// 1 to 5.
    pub ics_type: Option<u8>,
    pub note: Option<String>,
}

impl FromJson for TriageBody {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            severity: fields.choice("severity"),
            urgency: fields.choice("urgency"),
            certainty: fields.choice("certainty"),
            ics_type: fields.choice("ics_type"),
            note: fields.string("note"),
        }
    }
}

asks!(TriageBody, body => body.note, None, More {
    severity: body.severity,
    urgency: body.urgency,
    certainty: body.certainty,
    ics_type: body.ics_type,
    ..More::default()
});

/// A note for the timeline.
#[derive(Debug, ToSchema)]
pub struct MoveNote {
    pub note: Option<String>,
}

impl FromJson for MoveNote {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self { note: fields.string("note") }
    }
}

asks!(MoveNote, body => body.note, None, More::default());

/// Who commands, where nobody does yet.
#[derive(Debug, ToSchema)]
pub struct ActivateBody {
    /// `usr_…`
    pub commander: Option<String>,
    pub note: Option<String>,
}

impl FromJson for ActivateBody {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self { commander: fields.string("commander"), note: fields.string("note") }
    }
}

asks!(ActivateBody, body => body.note, None, More { commander: body.commander, ..More::default() });

/// One ICS type up or down.
#[derive(Debug, ToSchema)]
pub struct EscalateBody {
    pub note: String,
    /// `up` (default): towards type 1; `down`: towards type 5.
    #[schema(value_type = Option<String>)]
    pub direction: Option<Direction>,
}

/// Which way an escalation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Up,
    Down,
}

impl FromJson for EscalateBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let note = fields.string("note");
        let direction = fields.choice("direction");
        Self { note: fields.require("note", note).unwrap_or_default(), direction }
    }
}

impl Asks for EscalateBody {
    fn into_move(self, action: Action) -> Move {
        let action = if self.direction == Some(Direction::Down) { Action::DeEscalate } else { action };
        Move { note: Some(self.note), ..Move::new(action) }
    }
}

/// Why.
#[derive(Debug, ToSchema)]
pub struct ReasonBody {
    /// 1 to 10,000 characters.
    pub reason: String,
}

impl FromJson for ReasonBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let reason = fields.string("reason");
        Self { reason: fields.require("reason", reason).unwrap_or_default() }
    }
}

asks!(ReasonBody, body => None, Some(body.reason), More::default());

/// Which incident it is the same as, and why.
#[derive(Debug, ToSchema)]
pub struct DuplicateBody {
    /// An open incident, `inc_…`.
    pub duplicate_of: String,
    pub reason: String,
}

impl FromJson for DuplicateBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let (of, reason) = (fields.string("duplicate_of"), fields.string("reason"));
        Self {
            duplicate_of: fields.require("duplicate_of", of).unwrap_or_default(),
            reason: fields.require("reason", reason).unwrap_or_default(),
        }
    }
}

asks!(DuplicateBody, body => None, Some(body.reason), More {
    duplicate_of: Some(body.duplicate_of),
    ..More::default()
});

/// Until when it is silent.
#[derive(Debug, ToSchema)]
pub struct SilenceBody {
    /// RFC 3339, within 30 days; left out, the silence ends.
    #[schema(value_type = Option<String>)]
    pub until: Option<Millis>,
    pub note: Option<String>,
}

impl FromJson for SilenceBody {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self { until: fields.choice("until"), note: fields.string("note") }
    }
}

asks!(SilenceBody, body => body.note, None, More { until: body.until, ..More::default() });

/// Who works on it. A list replaces the one before.
#[derive(Debug, ToSchema)]
pub struct AssignBody {
    /// `usr_…`
    pub assignees: Option<Vec<String>>,
    /// `usr_…`
    pub commander: Option<String>,
    pub organisations: Option<Vec<String>>,
    pub note: Option<String>,
}

impl FromJson for AssignBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            assignees: fields.choice("assignees"),
            commander: fields.string("commander"),
            organisations: fields.choice("organisations"),
            note: fields.string("note"),
        }
    }
}

asks!(AssignBody, body => body.note, None, More {
    assignees: body.assignees,
    commander: body.commander,
    organisations: body.organisations,
    ..More::default()
});
