//! Messages of the governance actor.

use std::sync::Arc;

use actix::Message;
use muster_core::guard::{ApprovalStep, Need, Permit, QuorumRole, Risk};
use muster_core::idempotency::Idempotency;
use muster_core::{Error, Millis};
use serde_json::Value;

use crate::approval::{ApprovalRecord, ApprovalState, DecisionKind, Outcome};
use crate::caller::GovernanceCaller;
use crate::decider::{DeciderRecord, DelegationRecord};
use crate::signature::Challenge;

/// A request for an approval.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApproval {
    /// Name of the action.
    pub action: String,
    /// Identifier of what the action changes.
    pub resource: String,
    /// Risk; raised to that of the action.
    pub risk: Risk,
    /// Why, 1 to 500 characters.
    pub reason: String,
    /// What is to be executed.
    pub payload: Option<Value>,
    /// Number of devices or tasks.
    pub blast: u64,
    /// New budget as a percentage of the present one.
    pub budget_pct: u64,
    /// Whether a critical incident concerns something that the action affects.
    pub amid_critical_incident: bool,
    /// Time until it expires, in seconds.
    pub expires_in_seconds: u64,
}

impl NewApproval {
    /// Default of `expires_in_seconds`: a day.
    pub const DEFAULT_SECONDS: u64 = 86_400;

    /// Creates the request of a guarded command.
    pub fn of(need: Need, reason: String, payload: Value) -> Self {
        Self {
            action: need.action.name().to_owned(),
            resource: need.resource,
            risk: need.risk,
            reason,
            payload: Some(payload),
            blast: need.blast,
            budget_pct: need.budget_pct,
            amid_critical_incident: need.amid_critical_incident,
            expires_in_seconds: Self::DEFAULT_SECONDS,
        }
    }
}

/// An approval as a caller sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalView {
    /// The record.
    pub record: Arc<ApprovalRecord>,
    /// Its state at present.
    pub state: ApprovalState,
    /// Roles of the quorum that are covered at present.
    pub met: Vec<QuorumRole>,
    /// The payload.
    pub payload: Option<Value>,
    /// Nonce for the caller's next decision, if it may decide.
    pub challenge: Option<Challenge>,
}

/// Opens an approval.
#[derive(Debug, Message)]
#[rtype(result = "Result<(ApprovalView, bool), Error>")]
pub(crate) struct Open {
    pub caller: GovernanceCaller,
    pub new: NewApproval,
    pub idempotency: Option<Idempotency>,
}

/// Shows records to a caller.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<ApprovalView>, Error>")]
pub(crate) struct Show {
    pub caller: GovernanceCaller,
    pub records: Vec<(Arc<ApprovalRecord>, Option<Value>)>,
}

/// A decision as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRequest {
    /// Approve or reject.
    pub decision: DecisionKind,
    /// The role.
    pub role: Option<QuorumRole>,
    /// Remark.
    pub comment: Option<String>,
    /// The nonce that was signed.
    pub nonce: Option<String>,
    /// Thumbprint of the key.
    pub kid: Option<String>,
    /// The signature, base64url.
    pub signature: Option<String>,
}

/// What a person or a requester does to an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAct {
    /// Decides, or signs a break-glass.
    Decide(DecisionRequest),
    /// Withdraws all own decisions.
    Withdraw,
    /// Cancels, with the reason.
    Cancel(String),
    /// Reports an execution that is not the server's.
    Execute(Outcome, Option<String>),
    /// Reviews a break-glass, with a comment.
    Review(String),
}

/// Applies an act.
#[derive(Debug, Message)]
#[rtype(result = "Result<ApprovalView, Error>")]
pub(crate) struct Act {
    pub caller: GovernanceCaller,
    pub id: String,
    pub act: ApprovalAct,
}

/// Requests the permit of an approved action.
#[derive(Debug, Message)]
#[rtype(result = "Result<Permit, Error>")]
pub(crate) struct Acquire {
    pub caller: GovernanceCaller,
    pub id: String,
    pub payload_sha256: String,
}

/// Reads an approval from the store again, after another actor's batch with its writes has ended.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(crate) struct Settle {
    pub id: String,
}

/// Checks that the actor responds.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Ping;

/// Prepares the opening of an approval for what waits in a state of its own.
#[derive(Debug, Message)]
#[rtype(result = "Result<ApprovalStep, Error>")]
pub(crate) struct PrepareOpening {
    pub caller: GovernanceCaller,
    pub new: NewApproval,
}

/// Prepares a decision on such an approval.
#[derive(Debug, Message)]
#[rtype(result = "Result<ApprovalStep, Error>")]
pub(crate) struct PrepareDecision {
    pub caller: GovernanceCaller,
    pub id: String,
    pub decision: DecisionRequest,
    /// Whether a critical incident concerns something that the action affects.
    pub amid_critical_incident: bool,
}

/// Enrols the caller as a decider, or a further key.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<DeciderRecord>, Error>")]
pub(crate) struct Enrol {
    pub caller: GovernanceCaller,
    pub roles: Vec<QuorumRole>,
    pub jwk: Value,
    pub proof: String,
    pub permit: Option<Permit>,
}

/// Ends a decider.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(crate) struct RemoveDecider {
    pub caller: GovernanceCaller,
    pub user: String,
}

/// Ends the suspension of the caller.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<DeciderRecord>, Error>")]
pub(crate) struct Resume {
    pub caller: GovernanceCaller,
    pub proof: String,
}

/// A delegation to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelegation {
    /// Who decides instead.
    pub to: String,
    /// The role.
    pub role: QuorumRole,
    /// Time until which it is in force.
    pub until: Millis,
    /// Nonce that was signed.
    pub nonce: String,
    /// The signature, base64url.
    pub signature: String,
}

/// Delegates a role of the caller.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<DelegationRecord>, Error>")]
pub(crate) struct Delegate {
    pub caller: GovernanceCaller,
    pub new: NewDelegation,
}

/// Ends a delegation.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(crate) struct EndDelegation {
    pub caller: GovernanceCaller,
    pub id: String,
}

/// A decider as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeciderView {
    /// The record.
    pub record: Arc<DeciderRecord>,
    /// Whether it is suspended, or its account does not hold the roles any more.
    pub suspended: bool,
}

/// All deciders and delegations, and a nonce for the caller's next delegation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeciderList {
    /// Name of the server in signed bytes, `ins_…`.
    pub server: String,
    /// Whether there is a quorum.
    pub constituted: bool,
    /// The deciders.
    pub deciders: Vec<DeciderView>,
    /// The delegations in force.
    pub delegations: Vec<Arc<DelegationRecord>>,
    /// Nonce for a delegation, if the caller is a decider.
    pub challenge: Option<Challenge>,
}

/// Lists deciders and delegations.
#[derive(Debug, Message)]
#[rtype(result = "Result<DeciderList, Error>")]
pub(crate) struct ListDeciders {
    pub caller: GovernanceCaller,
}
