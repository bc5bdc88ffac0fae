//! The states of an alert and the actions that each allows.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::record::AlertRecord;
use muster_core::{Error, Kind};

/// State of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// Proposed; a second person has to confirm it.
    PendingSecond,
    /// Published.
    Published,
    /// Superseded by a later message of its chain.
    Superseded,
    /// Expired.
    Expired,
    /// Rejected by a person.
    Rejected,
    /// Not confirmed in time, or parked too long.
    Lapsed,
    /// Withdrawn: its incident changed before it was confirmed.
    Withdrawn,
    /// Imported and stored.
    Stored,
    /// Imported; the message that it refers to is unknown so far.
    Parked,
}

impl AlertState {
    /// Returns the name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PendingSecond => "pending_second",
            Self::Published => "published",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
            Self::Lapsed => "lapsed",
            Self::Withdrawn => "withdrawn",
            Self::Stored => "stored",
            Self::Parked => "parked",
        }
    }
}

/// What an alert that waits to be published lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    /// A person with the permission `alerts:publish`: who caused the message does not have it.
    Permission,
    /// A second person with the permission `alerts:publish`: a message of its chain is public and Severe or Extreme.
    SecondPerson,
}

/// Action of a person on an alert. Its name is the last part of its path, `POST /api/v1/alerts/{id}/{name}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlertAction {
    /// Publish an alert that waits.
    Confirm,
    /// Drop an alert that waits.
    Reject,
    /// End the alert by a CAP Cancel.
    Cancel,
    /// End the alert by a CAP Update with the response AllClear.
    AllClear,
}

impl AlertAction {
    /// All actions.
    pub const ALL: [Self; 4] = [Self::Confirm, Self::Reject, Self::Cancel, Self::AllClear];

    /// Returns the name in JSON and in the path.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Reject => "reject",
            Self::Cancel => "cancel",
            Self::AllClear => "all-clear",
        }
    }
}

impl AlertRecord {
    /// Returns the actions that the alert takes.
    pub fn allowed(&self) -> Vec<AlertAction> {
        match self.state {
            AlertState::PendingSecond => vec![AlertAction::Confirm, AlertAction::Reject],
            _ if self.is_live() => vec![AlertAction::Cancel, AlertAction::AllClear],
            _ => Vec::new(),
        }
    }

    /// # Errors
    /// `Conflict` with the allowed actions.
    pub fn require(&self, action: AlertAction) -> Result<(), Error> {
        let allowed = self.allowed();
        if allowed.contains(&action) {
            return Ok(());
        }
        let names: Vec<_> = allowed.iter().map(|action| action.name()).collect();
        let state = self.state.name();
        let message = if names.is_empty() {
            format!("the alert is {state}: it takes no `{}`", action.name())
        } else {
            format!("the alert is {state}: it takes {}, no `{}`", names.join(" and "), action.name())
        };
        let details = json!({ "state": self.state, "allowed": allowed });
        Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(details))
    }
}
