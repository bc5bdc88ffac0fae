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
            /// All values, in order.
            pub const ALL: &[Self] = &[$(Self::$term,)*];

            /// Returns the name in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$term => $text,)*
                }
            }
        }
    };
}

names! {
    /// State of an incident.
    State {
        /// Reported, not assessed yet.
        Reported = "reported",
        /// Assessed.
        Triaged = "triaged",
        /// Acknowledged by a person; returns to triaged unless it is activated in time.
        Acknowledged = "acknowledged",
        /// Being handled under a commander.
        Active = "active",
        /// Under control, not over yet.
        Contained = "contained",
        /// Over; may be closed or reopened.
        Resolved = "resolved",
        /// Closed; accepts only notes and, for 30 days, a reopening.
        Closed = "closed",
        /// Duplicate of another incident; final.
        Duplicate = "duplicate",
        /// Reported but did not happen; final.
        FalseAlarm = "false_alarm",
        /// Called off; final.
        Canceled = "canceled",
    }
}

names! {
    /// Action on an incident.
    Action {
        /// Assess severity, urgency and certainty.
        Triage = "triage",
        /// Acknowledge.
        Acknowledge = "acknowledge",
        /// Begin the response under a commander.
        Activate = "activate",
        /// Mark as under control.
        Contain = "contain",
        /// Raise the ICS type by one step towards 1.
        Escalate = "escalate",
        /// Lower the ICS type by one step towards 5.
        DeEscalate = "de-escalate",
        /// Mark as over.
        Resolve = "resolve",
        /// Close; afterwards only notes are accepted.
        Close = "close",
        /// Make active again.
        Reopen = "reopen",
        /// Mark as a duplicate of another incident. A CAP Cancel is issued for a published alert.
        MarkDuplicate = "duplicate",
        /// Mark as a false alarm: it was reported but did not happen. A CAP Cancel is issued for a published alert.
        FalseAlarm = "false-alarm",
        /// Call off. A CAP Cancel is issued for a published alert.
        Cancel = "cancel",
        /// Suppress urgent events for a time.
        Silence = "silence",
        /// Assign people and organisations.
        Assign = "assign",
        /// Change fields.
        Edit = "edit",
        /// Request, commit and release resources.
        Resources = "resources",
        /// Publish an alert.
        Publish = "publish",
        /// Add a note, in every state.
        Note = "note",
    }
}

impl State {
    /// Returns whether the incident is open (reported to contained); further reports attach to open incidents only.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Reported | Self::Triaged | Self::Acknowledged | Self::Active | Self::Contained)
    }

    /// Returns the actions that this state allows.
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

    /// Checks that this state allows an action.
    ///
    /// # Errors
    /// `Conflict` with the allowed actions.
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

    /// Returns the details of a rejection.
    pub(super) fn rejection_details(self) -> serde_json::Value {
        serde_json::json!({ "state": self, "allowed": self.allowed() })
    }
}
