//! The audit log: security-relevant actions, each written in the same batch as the action itself, so that neither
//! exists without the other.

use muster_store::{Encoding, Op, Record, StoreError, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Millis;
use crate::ids::{IdKind, new_id};

/// An entry of the audit log. Never contains a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// `aud_…`; sorts by time.
    pub id: String,
    /// Time of the action.
    pub at: Millis,
    /// `usr_…`, `key_…`, `dev_…` or `system`.
    pub actor: String,
    /// Name of the action, such as `refresh_reuse_detected`.
    pub action: String,
    /// Identifier of the resource that the action affected.
    pub resource: String,
    /// Further details of the action.
    pub details: Value,
}

impl AuditEntry {
    /// Creates an entry for an action of the principal `actor`, who may have been deleted since.
    pub fn new(at: Millis, actor: &str, action: &str, resource: &str, details: Value) -> Self {
        let id = new_id(IdKind::Audit);
        Self { id, at, actor: actor.to_owned(), action: action.to_owned(), resource: resource.to_owned(), details }
    }

    /// Returns the write to add to the batch of the action.
    ///
    /// # Errors
    ///
    /// Fails if the entry is too large to be stored.
    pub fn op(&self) -> Result<Op, StoreError> {
        Ok(Op::Put { tree: Tree::Audit, key: self.id.clone().into_bytes(), rec: self.encode()? })
    }
}

impl Record for AuditEntry {
    const TREE: Tree = Tree::Audit;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
