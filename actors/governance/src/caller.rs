//! Who calls: what the edge knows about a principal, and what it may see. Pure.

use muster_auth::PublicKey;
use muster_core::Millis;
use muster_core::guard::{QuorumRole, Requester};

use crate::approval::{ApprovalRecord, RequesterKind, RequesterRecord};

/// The session of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFacts {
    /// Time of the login.
    pub since: Millis,
    /// Thumbprint of the key that it is bound to.
    pub jkt: Option<String>,
    /// That key, where the request proved to hold it and it is an Ed25519 key.
    pub key: Option<PublicKey>,
}

/// A principal that uses governance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GovernanceCaller {
    /// As whom an approval names it.
    pub requester: RequesterRecord,
    /// Quorum roles that a person holds; none for others: people decide.
    pub roles: Vec<QuorumRole>,
    /// Whether it has the role `super_admin`.
    pub is_super_admin: bool,
    /// Whether it reads everything: an auditor or a `super_admin`.
    pub is_reader: bool,
    /// Session of a person.
    pub session: Option<SessionFacts>,
}

impl GovernanceCaller {
    /// The server itself: it reads everything, cancels what nothing waits for any more, and decides nothing.
    pub fn system() -> Self {
        let requester = RequesterRecord {
            id: "system".to_owned(),
            kind: RequesterKind::System,
            owner: None,
            concerned: Vec::new(),
        };
        Self { requester, roles: Vec::new(), is_super_admin: true, is_reader: true, session: None }
    }

    /// Returns the identifier.
    pub fn id(&self) -> &str {
        &self.requester.id
    }

    /// Returns whether it is a person.
    pub fn is_person(&self) -> bool {
        self.requester.kind == RequesterKind::User
    }

    /// Returns the requester as guards know it.
    pub fn as_requester(&self) -> Requester<'_> {
        Requester { id: self.id(), is_super_admin: self.is_super_admin }
    }

    /// Returns whether it may see an approval: its own, one that it may decide, or every one.
    pub fn may_see(&self, record: &ApprovalRecord, delegated: &[QuorumRole]) -> bool {
        let decides = |role: &QuorumRole| self.roles.contains(role) || delegated.contains(role);
        self.is_reader || record.requester.id == self.id() || (self.is_person() && record.quorum.iter().any(decides))
    }
}
