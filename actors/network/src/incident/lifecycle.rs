//! The states of an incident and which actions each allows (contract 1, "Incidents and alerts").

use serde::{Deserialize, Serialize};

use muster_core::principal::Permission;
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
    /// Action on an incident. The name of every action but [`Action::Edit`] is the last part of its path, `POST
    /// /api/v1/incidents/{id}/{name}`.
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
        /// Mark as over. A published alert is ended by an all-clear.
        Resolve = "resolve",
        /// Close; afterwards only notes are accepted.
        Close = "close",
        /// Make active again.
        Reopen = "reopen",
        /// Mark as a duplicate of another incident. A published alert is ended by a CAP Cancel.
        MarkDuplicate = "duplicate",
        /// Mark as a false alarm: it was reported but did not happen. A published alert is ended by a CAP Cancel.
        FalseAlarm = "false-alarm",
        /// Call off. A published alert is ended by a CAP Cancel.
        Cancel = "cancel",
        /// Suppress urgent events for a time.
        Silence = "silence",
        /// Assign people and organisations.
        Assign = "assign",
        /// Change fields: `PATCH /api/v1/incidents/{id}`.
        Edit = "edit",
        /// Request, commit and release resources.
        Resources = "resources",
        /// Publish an alert.
        Publish = "alerts",
        /// Add a note, in every state.
        Note = "notes",
    }
}

impl Action {
    /// Returns the permission that a person needs.
    pub const fn permission(self) -> Permission {
        match self {
            Self::Publish => Permission::AlertsPublish,
            _ => Permission::IncidentsWrite,
        }
    }

    /// Returns whether the action is a verb with a path of its own, as all are but the change of fields.
    pub const fn is_verb(self) -> bool {
        !matches!(self, Self::Edit)
    }

    /// Returns whether the action ends the incident, and so its alert.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Resolve | Self::MarkDuplicate | Self::FalseAlarm | Self::Cancel)
    }
}

impl State {
    /// Returns whether the incident is open (reported to contained); further reports attach to open incidents only.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Reported | Self::Triaged | Self::Acknowledged | Self::Active | Self::Contained)
    }

    /// Returns whether this state allows an action.
    pub const fn permits(self, action: Action) -> bool {
        match action {
            Action::Triage => matches!(self, Self::Reported),
            Action::Acknowledge => matches!(self, Self::Reported | Self::Triaged),
            Action::Activate => matches!(self, Self::Triaged | Self::Acknowledged),
            Action::Contain | Action::Escalate | Action::DeEscalate => matches!(self, Self::Active),
            Action::Resolve => matches!(self, Self::Active | Self::Contained),
            Action::Close => matches!(self, Self::Resolved),
            Action::Reopen => matches!(self, Self::Resolved | Self::Closed),
            Action::MarkDuplicate | Action::FalseAlarm | Action::Cancel => self.is_open(),
            Action::Silence | Action::Assign | Action::Resources => self.is_open(),
            Action::Edit => self.is_open() || matches!(self, Self::Resolved),
            Action::Publish => self.is_open() && !matches!(self, Self::Reported),
            Action::Note => true,
        }
    }

    /// Returns the verbs that this state allows.
    pub fn allowed(self) -> Vec<Action> {
        Action::ALL.iter().copied().filter(|action| action.is_verb() && self.permits(*action)).collect()
    }

    /// Checks that this state allows an action.
    ///
    /// # Errors
    /// `Conflict` with the allowed actions.
    pub fn require(self, action: Action) -> Result<(), Error> {
        if self.permits(action) {
            return Ok(());
        }
        let names: Vec<_> = self.allowed().iter().map(|action| action.name()).collect();
        let (state, action) = (self.name(), action.name());
        let message = format!("an incident that is {state} does not take `{action}`: it takes {}", names.join(", "));
        Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(self.rejection_details()))
    }

    /// Returns the details of a rejection.
    pub(super) fn rejection_details(self) -> serde_json::Value {
        serde_json::json!({ "state": self, "allowed": self.allowed() })
    }
}
