//! Stored records of approvals.

use std::collections::BTreeMap;

use muster_core::Millis;
use muster_core::guard::{QuorumRole, Risk};
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// State of an approval. All but the first two are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// The quorum is open.
    Pending,
    /// The quorum is met: the requester may execute the action.
    Approved,
    /// A decider rejected it.
    Rejected,
    /// A rule forbids it.
    Vetoed,
    /// Its time ended.
    Expired,
    /// The requester, or who may, withdrew it.
    Cancelled,
    /// A decider withdrew an approval that was met, or the quorum no longer held at the execution.
    Revoked,
    /// The action was executed.
    Executed,
}

impl ApprovalState {
    /// All states, in a fixed order.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Approved,
        Self::Rejected,
        Self::Vetoed,
        Self::Expired,
        Self::Cancelled,
        Self::Revoked,
        Self::Executed,
    ];

    /// Returns the name used in requests and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Vetoed => "vetoed",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Revoked => "revoked",
            Self::Executed => "executed",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Returns whether nothing changes any more.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::Approved)
    }
}

/// Kind of a requester.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequesterKind {
    /// A person.
    User,
    /// A service account.
    Service,
    /// An API key.
    Key,
    /// A device.
    Device,
    /// The server itself.
    System,
}

/// Who requests an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequesterRecord {
    /// `usr_…`, `svc_…`, `key_…`, `dev_…` or `system`.
    pub id: String,
    /// Kind.
    pub kind: RequesterKind,
    /// Owner of a key, as displayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// People who never decide about it: the requester, the owner and the maker of its key, whom its agent acts for.
    #[serde(default)]
    pub concerned: Vec<String>,
}

/// What a decision says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// Approves.
    Approve,
    /// Rejects.
    Reject,
    /// Approves without a quorum, by a `super_admin`.
    BreakGlass,
}

impl DecisionKind {
    /// Returns the name used in signed bytes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::BreakGlass => "break_glass",
        }
    }
}

/// A decision of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The person, `usr_…`.
    pub by: String,
    /// Role for which the person decides; `None` for break-glass.
    pub role: Option<QuorumRole>,
    /// What the decision says.
    pub decision: DecisionKind,
    /// Up to 1,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Time of the decision.
    pub at: Millis,
    /// Who delegated the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegated_from: Option<String>,
    /// Thumbprint of the key that signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// Nonce that was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// Signature, base64url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// What rules said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VetoRecord {
    /// Rules that forbid the action.
    pub rules: Vec<String>,
    /// Identifier of the rules that judged it last.
    pub policy: String,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded.
    Ok,
    /// It failed.
    Failed,
}

/// The execution of an approved action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Time of the execution.
    pub at: Millis,
    /// Principal that executed it.
    pub by: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Remark of the principal, for actions that the server does not execute itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// An approval without a quorum.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakGlass {
    /// The people who signed.
    pub by: Vec<String>,
    /// Time until which another person must review it; `None` until the second one has signed.
    pub review_due_at: Option<Millis>,
    /// Who reviewed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_by: Option<String>,
    /// What the review says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// Whether the overdue review was reported.
    #[serde(default)]
    pub overdue_reported: bool,
}

/// The stored record of an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRecord {
    /// Identifier, `apr_…`.
    pub id: String,
    /// Name of the action.
    pub action: String,
    /// Identifier of what the action changes.
    pub resource: String,
    /// Risk, at least that of the action.
    pub risk: Risk,
    /// Why it is requested.
    pub reason: String,
    /// Hex SHA-256 of the payload's RFC 8785 form.
    pub payload_sha256: String,
    /// Whether a payload is stored.
    pub has_payload: bool,
    /// Whether the server executes the action itself, with the change.
    pub guarded: bool,
    /// Number of devices or tasks that it affects.
    #[serde(default)]
    pub blast: u64,
    /// New budget as a percentage of the present one.
    #[serde(default)]
    pub budget_pct: u64,
    /// Who requests it.
    pub requester: RequesterRecord,
    /// State.
    pub state: ApprovalState,
    /// Incremented with each change.
    pub version: u64,
    /// Roles that must each be covered by another person.
    pub quorum: Vec<QuorumRole>,
    /// Decisions that were not withdrawn, in order.
    pub decisions: Vec<Decision>,
    /// Number of decisions and withdrawals by person, so that no signature is used twice.
    #[serde(default)]
    pub turns: BTreeMap<String, u32>,
    /// What rules said.
    pub veto: VetoRecord,
    /// Time of the opening.
    pub created_at: Millis,
    /// Time of the last change.
    pub updated_at: Millis,
    /// Time from which it is expired.
    pub expires_at: Millis,
    /// The execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
    /// An approval without a quorum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<BreakGlass>,
    /// Why it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<String>,
}

impl Record for ApprovalRecord {
    const TREE: Tree = Tree::Approvals;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl ApprovalRecord {
    /// Returns the number of the person's next decision.
    pub fn turn(&self, person: &str) -> u32 {
        self.turns.get(person).copied().unwrap_or_default()
    }

    /// Returns whether a review by another person is due, at any time.
    pub fn awaits_review(&self) -> bool {
        self.break_glass.as_ref().is_some_and(|glass| glass.review_due_at.is_some() && glass.reviewed_by.is_none())
    }
}

/// The payload of an approval, apart from its record: it never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PayloadRecord(pub Value);

impl PayloadRecord {
    /// Returns the key of an approval's payload.
    pub fn key(approval: &str) -> Vec<u8> {
        [b"payload/", approval.as_bytes()].concat()
    }
}

impl Record for PayloadRecord {
    const TREE: Tree = Tree::Approvals;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
