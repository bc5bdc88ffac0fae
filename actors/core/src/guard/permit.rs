//! The permit that an approval gives to one command.

use muster_store::Op;
use serde_json::{Value, json};

use super::{GuardedAction, Need};
use crate::journal::Precondition;
use crate::{Error, Kind, Millis};

/// The right to execute an approved action once. It consists of writes that the actor of the domain adds to the batch of
/// its change: the approval becomes `executed` with it, provided that it is still stored as it was read.
#[derive(Debug)]
pub struct Permit {
    /// Identifier of the approval, `apr_…`.
    pub approval: String,
    /// Action that was approved.
    pub action: String,
    /// Resource that was approved.
    pub resource: String,
    /// Principal that may execute it: the requester.
    pub requester: String,
    /// The approval as it was read.
    pub expect: Precondition,
    /// The approval as `executed`, its event and its audit entry.
    pub ops: Vec<Op>,
    /// Time until which it may be used. The approvals' actor gives no other one for the approval until later.
    pub valid_until: Millis,
}

impl Permit {
    /// Checks that the permit is for this need.
    ///
    /// # Errors
    /// `Conflict`: `approval_mismatch` for another action or resource, `state_conflict` if it is no longer valid.
    pub fn check(&self, need: &Need, requester: &str, now: Millis) -> Result<(), Error> {
        let expected = GuardedAction::parse(&self.action) == Some(need.action) && self.resource == need.resource;
        if !expected || self.requester != requester {
            return Err(mismatch(&self.approval, need));
        }
        if now > self.valid_until {
            return Err(Error::new(Kind::Conflict, "the permit of the approval has ended: send the request again")
                .coded("state_conflict"));
        }
        Ok(())
    }
}

/// The error of a permit for something else.
fn mismatch(approval: &str, need: &Need) -> Error {
    let message = format!(
        "{approval} does not approve this request, which is `{}` on {}: send exactly the request that was approved",
        need.action.name(),
        need.resource
    );
    let details = json!({ "action": need.action, "resource": need.resource });
    Error::new(Kind::Conflict, message).coded("approval_mismatch").detailing(details)
}

/// The error of a permit that accompanies a command which needs none.
pub(super) fn not_needed(approval: &str) -> Error {
    let message = format!("the request needs no approval, so {approval} was not used: leave Muster-Approval out");
    Error::new(Kind::Conflict, message).coded("approval_mismatch")
}

/// The decision that a command may be executed, with what its batch must contain.
#[derive(Debug, Default)]
pub struct Cleared {
    expect: Vec<Precondition>,
    ops: Vec<Op>,
    pub(super) approval: Option<String>,
    /// Whether a guarded command was executed at once because there is no quorum yet.
    pub(super) alone: bool,
}

impl Cleared {
    /// The decision on a command that is not guarded.
    pub fn free() -> Self {
        Self::default()
    }

    /// The decision on a guarded command before there is a quorum.
    pub(super) fn alone() -> Self {
        Self { alone: true, ..Self::default() }
    }

    /// The decision on a guarded command with its permit.
    pub(super) fn permitted(permit: Permit) -> Self {
        Self { expect: vec![permit.expect], ops: permit.ops, approval: Some(permit.approval), alone: false }
    }

    /// Returns the identifier of the approval that is executed.
    pub fn approval(&self) -> Option<&str> {
        self.approval.as_deref()
    }

    /// Adds to the details of the command's audit entry under what it was executed.
    #[must_use]
    pub fn annotate(&self, details: Value) -> Value {
        let addition = match &self.approval {
            Some(approval) => ("approval", approval.as_str()),
            None if self.alone => ("quorum", "none"),
            None => return details,
        };
        let mut members = match details {
            Value::Object(members) => members,
            Value::Null => serde_json::Map::new(),
            other => serde_json::Map::from_iter([("details".to_owned(), other)]),
        };
        members.insert(addition.0.to_owned(), addition.1.into());
        Value::Object(members)
    }

    /// Returns the preconditions and writes for the batch of the command.
    pub fn into_parts(self) -> (Vec<Precondition>, Vec<Op>) {
        (self.expect, self.ops)
    }
}
