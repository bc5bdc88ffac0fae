//! Approvals, deciders and delegations as responses show them.

use muster_core::Millis;
use muster_core::guard::{QuorumRole, Risk};
use muster_governance::{
    ApprovalState, ApprovalView, DeciderView, DecisionKind, DelegationRecord, Outcome, RequesterKind,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// An approval.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalBody {
    pub id: String,
    /// Name of the action, such as `key.grant`.
    pub action: String,
    /// Identifier of what the action changes; of what is new its name, e-mail or key identifier.
    pub resource: String,
    #[schema(value_type = String)]
    pub risk: Risk,
    pub reason: String,
    /// What is to be executed: method, path, query and body of the request. Only in the answer for a single approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Value>,
    /// Hexadecimal SHA-256 of the payload's RFC 8785 form.
    pub payload_sha256: String,
    pub requester: ApprovalRequester,
    #[schema(value_type = String)]
    pub state: ApprovalState,
    /// Incremented with each change.
    pub version: u64,
    pub quorum: ApprovalQuorum,
    pub decisions: Vec<ApprovalDecision>,
    pub veto: ApprovalVeto,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Millis,
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ApprovalExecution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<ApprovalBreakGlass>,
    /// Nonce for the caller's next decision, if the caller may decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge: Option<ChallengeBody>,
}

/// Who requests an approval.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalRequester {
    pub id: String,
    #[schema(value_type = String)]
    pub kind: RequesterKind,
    /// Owner of a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// The quorum of an approval.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalQuorum {
    /// Roles that must each be covered by another person.
    #[schema(value_type = Vec<String>)]
    pub roles: Vec<QuorumRole>,
    /// Whether each decision must be signed.
    pub signed: bool,
    /// Roles that are covered at present.
    #[schema(value_type = Vec<String>)]
    pub met: Vec<QuorumRole>,
}

/// A decision of a person.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalDecision {
    pub by: String,
    /// The role for which the person decided; `super_admin` for a break-glass.
    pub role: String,
    #[schema(value_type = String)]
    pub decision: DecisionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegated_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// Rules that forbid the action.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalVeto {
    pub rules: Vec<String>,
    /// Identifier of the rules that judged it last.
    pub policy: String,
}

/// The execution of the action.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalExecution {
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
    pub by: String,
    #[schema(value_type = String)]
    pub outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// An approval without a quorum.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalBreakGlass {
    pub by: Vec<String>,
    /// Time until which another person must review it; null until the second one has signed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub review_due_at: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
}

/// A nonce to sign.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChallengeBody {
    pub nonce: String,
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Millis,
}

impl From<&ApprovalView> for ApprovalBody {
    fn from(view: &ApprovalView) -> Self {
        let record = &view.record;
        let decisions = record.decisions.iter().map(|decision| ApprovalDecision {
            by: decision.by.clone(),
            role: decision.role.map_or("super_admin", QuorumRole::name).to_owned(),
            decision: decision.decision,
            comment: decision.comment.clone(),
            at: decision.at,
            delegated_from: decision.delegated_from.clone(),
            kid: decision.kid.clone(),
            nonce: decision.nonce.clone(),
            signature: decision.signature.clone(),
        });
        Self {
            id: record.id.clone(),
            action: record.action.clone(),
            resource: record.resource.clone(),
            risk: record.risk,
            reason: record.reason.clone(),
            payload: view.payload.clone(),
            payload_sha256: record.payload_sha256.clone(),
            requester: ApprovalRequester {
                id: record.requester.id.clone(),
                kind: record.requester.kind,
                owner: record.requester.owner.clone(),
            },
            state: view.state,
            version: record.version,
            quorum: ApprovalQuorum {
                roles: record.quorum.clone(),
                signed: record.risk.is_signed(),
                met: view.met.clone(),
            },
            decisions: decisions.collect(),
            veto: ApprovalVeto { rules: record.veto.rules.clone(), policy: record.veto.policy.clone() },
            created_at: record.created_at,
            expires_at: record.expires_at,
            execution: record.execution.as_ref().map(|execution| ApprovalExecution {
                at: execution.at,
                by: execution.by.clone(),
                outcome: execution.outcome,
                note: execution.note.clone(),
            }),
            break_glass: record.break_glass.as_ref().map(|glass| ApprovalBreakGlass {
                by: glass.by.clone(),
                review_due_at: glass.review_due_at,
                reviewed_by: glass.reviewed_by.clone(),
                review: glass.review.clone(),
            }),
            challenge: view
                .challenge
                .as_ref()
                .map(|challenge| ChallengeBody { nonce: challenge.nonce.clone(), expires_at: challenge.expires_at }),
        }
    }
}

/// A page of approvals.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalList {
    pub approvals: Vec<ApprovalBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A key of a decider.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeciderKeyBody {
    /// RFC 7638 thumbprint.
    pub kid: String,
    /// The public Ed25519 JWK.
    #[schema(value_type = Object)]
    pub jwk: Value,
    #[schema(value_type = String, format = DateTime)]
    pub enrolled_at: Millis,
}

/// A decider.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeciderBody {
    pub user: String,
    #[schema(value_type = Vec<String>)]
    pub roles: Vec<QuorumRole>,
    pub keys: Vec<DeciderKeyBody>,
    #[schema(value_type = String, format = DateTime)]
    pub enrolled_at: Millis,
    /// Whether the decider decides nothing at present: another changed the account, or it no longer holds the roles.
    pub suspended: bool,
}

impl From<&DeciderView> for DeciderBody {
    fn from(view: &DeciderView) -> Self {
        let keys = view.record.keys.iter().map(|key| DeciderKeyBody {
            kid: key.kid.clone(),
            jwk: key.jwk(),
            enrolled_at: key.enrolled_at,
        });
        Self {
            user: view.record.user.clone(),
            roles: view.record.roles.clone(),
            keys: keys.collect(),
            enrolled_at: view.record.enrolled_at,
            suspended: view.suspended,
        }
    }
}

/// All deciders.
#[derive(Debug, Serialize, ToSchema)]
pub struct DecidersBody {
    /// Name of this server in signed bytes, `ins_…`.
    pub server: String,
    /// Whether each role of the quorum has had a decider of its own: guarded actions need an approval.
    pub constituted: bool,
    pub deciders: Vec<DeciderBody>,
}

/// A delegation in force.
#[derive(Debug, Serialize, ToSchema)]
pub struct DelegationBody {
    pub id: String,
    pub from: String,
    pub to: String,
    #[schema(value_type = String)]
    pub role: QuorumRole,
    #[schema(value_type = String, format = DateTime)]
    pub until: Millis,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Millis,
    pub nonce: String,
    pub kid: String,
    pub signature: String,
}

impl From<&DelegationRecord> for DelegationBody {
    fn from(record: &DelegationRecord) -> Self {
        Self {
            id: record.id.clone(),
            from: record.from.clone(),
            to: record.to.clone(),
            role: record.role,
            until: record.until,
            created_at: record.created_at,
            nonce: record.nonce.clone(),
            kid: record.kid.clone(),
            signature: record.signature.clone(),
        }
    }
}

/// All delegations in force.
#[derive(Debug, Serialize, ToSchema)]
pub struct DelegationsBody {
    pub delegations: Vec<DelegationBody>,
    /// Nonce for a delegation by the caller, if the caller is a decider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge: Option<ChallengeBody>,
}
