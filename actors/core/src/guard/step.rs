//! A change of an approval in the batch of what waits for it.

use muster_store::Op;

use super::Need;
use crate::journal::Precondition;
use crate::{Error, Kind};

/// How an approval stands once the writes of a step are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepOutcome {
    /// It waits for further decisions.
    Waits,
    /// The action is executed.
    Executed,
    /// It has ended without an execution; why, for people.
    Ended(String),
}

/// Writes that open an approval, or record a decision on it. The actor of what waits for the approval adds them to the
/// batch of its own change, so that neither is stored without the other.
#[derive(Debug)]
pub struct ApprovalStep {
    /// Identifier of the approval, `apr_…`.
    pub approval: String,
    /// Name of the action.
    pub action: String,
    /// Identifier of what waits.
    pub resource: String,
    /// Number of people that the quorum takes.
    pub people: u32,
    /// People whose decisions stand after it.
    pub decided_by: Vec<String>,
    /// How the approval stands after it.
    pub outcome: StepOutcome,
    /// The approval as it was read.
    pub expect: Precondition,
    /// The approval, its events and its audit entries.
    pub ops: Vec<Op>,
}

impl ApprovalStep {
    /// Checks that the step opens the approval of this need.
    ///
    /// # Errors
    /// `Conflict` (`state_conflict`): what it was prepared for has changed meanwhile.
    pub(super) fn check(self, need: &Need) -> Result<Self, Error> {
        if self.action == need.action.name() && self.resource == need.resource {
            return Ok(self);
        }
        Err(changed())
    }

    /// Checks that the step decides this approval.
    ///
    /// # Errors
    /// `Conflict` (`state_conflict`): another approval is waited for by now.
    pub fn decides(self, approval: &str) -> Result<Self, Error> {
        if self.approval == approval { Ok(self) } else { Err(changed()) }
    }
}

pub(super) fn changed() -> Error {
    let message = "what waits for the approval has changed meanwhile: send the request again";
    Error::new(Kind::Conflict, message).coded("state_conflict")
}
