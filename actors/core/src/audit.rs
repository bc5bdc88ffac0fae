//! The audit log: security-relevant acts, written in the batch of the act itself, so that neither is without the other.

use muster_store::{Encoding, Op, Record, StoreError, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Millis;
use crate::ids::{IdKind, new_id};

/// An act. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// `aud_…`, in the order of time.
    pub id: String,
    pub at: Millis,
    /// `usr_…`, `key_…`, `dev_…` or `system`.
    pub actor: String,
    /// Such as `refresh_reuse_detected`.
    pub action: String,
    /// What it was done to, by its identifier.
    pub resource: String,
    pub details: Value,
}

impl AuditEntry {
    /// An act of the principal whose identifier is `actor`; the principal may have been deleted since.
    pub fn new(at: Millis, actor: &str, action: &str, resource: &str, details: Value) -> Self {
        let id = new_id(IdKind::Audit);
        Self { id, at, actor: actor.to_owned(), action: action.to_owned(), resource: resource.to_owned(), details }
    }

    /// The write that belongs into the batch of the act.
    ///
    /// # Errors
    /// It is too large to be stored.
    pub fn op(&self) -> Result<Op, StoreError> {
        Ok(Op::Put { tree: Tree::Audit, key: self.id.clone().into_bytes(), rec: self.encode()? })
    }
}

impl Record for AuditEntry {
    const TREE: Tree = Tree::Audit;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
