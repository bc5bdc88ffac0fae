//! The states of an incident and which actions each allows (contract 1, "Incidents and alerts").

use serde::{Deserialize, Serialize};

use muster_core::{Error, Kind};

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $term:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$of])* #[serde(rename = $text)] $term,)*
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$term,)*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$term => $text,)*
                }
            }
        }
    };
}

names! {
    /// Where an incident stands.
    State {
        Reported = "reported",
        Triaged = "triaged",
        Acknowledged = "acknowledged",
        Active = "active",
        Contained = "contained",
        Resolved = "resolved",
        /// Immutable but for annotations.
        Closed = "closed",
        Duplicate = "duplicate",
        FalseAlarm = "false_alarm",
        Canceled = "canceled",
    }
}

names! {
    /// What may be done to an incident.
    Action {
        Triage = "triage",
        Acknowledge = "acknowledge",
        Activate = "activate",
        Contain = "contain",
        Escalate = "escalate",
        DeEscalate = "de-escalate",
        Resolve = "resolve",
        Close = "close",
        Reopen = "reopen",
        MarkDuplicate = "duplicate",
        FalseAlarm = "false-alarm",
        Cancel = "cancel",
        Silence = "silence",
        Assign = "assign",
        /// Change what is known of it.
        Edit = "edit",
        /// Ask for, commit and release resources.
        Resources = "resources",
        Publish = "publish",
        /// Annotate; also what is over.
        Note = "note",
    }
}

impl State {
    /// Reported to contained: what happens still, and what a report of the same attaches to.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Reported | Self::Triaged | Self::Acknowledged | Self::Active | Self::Contained)
    }

    /// What may be done in this state.
    pub fn allowed(self) -> Vec<Action> {
        use Action::*;
        let own: &[Action] = match self {
            Self::Reported => &[Triage, Acknowledge],
            Self::Triaged => &[Acknowledge, Activate, Publish],
            Self::Acknowledged => &[Activate, Publish],
            Self::Active => &[Contain, Escalate, DeEscalate, Resolve, Publish],
            Self::Contained => &[Resolve, Publish],
            Self::Resolved => &[Close, Reopen, Edit],
            Self::Closed => &[Reopen],
            Self::Duplicate | Self::FalseAlarm | Self::Canceled => &[],
        };
        let open: &[Action] = &[MarkDuplicate, FalseAlarm, Cancel, Silence, Assign, Edit, Resources];
        let open = if self.is_open() { open } else { &[] };
        own.iter().chain(open).chain(&[Note]).copied().collect()
    }

    /// # Errors
    /// `Conflict`, with what would be allowed.
    pub fn require(self, action: Action) -> Result<(), Error> {
        let allowed = self.allowed();
        if allowed.contains(&action) {
            return Ok(());
        }
        let names: Vec<_> = allowed.iter().map(|action| action.name()).collect();
        let message = format!("an incident that is {} does not take `{}`", self.name(), action.name());
        let message = if names.is_empty() { message } else { format!("{message}: it takes {}", names.join(", ")) };
        Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(self.rejection_details()))
    }

    /// The details of a refusal.
    pub(super) fn rejection_details(self) -> serde_json::Value {
        serde_json::json!({ "state": self, "allowed": self.allowed() })
    }
}
