//! Entries as they are stored.

use muster_store::{Encoding, Record, StoreError, Tree};
use muster_tlog::{Leaf, Salt, commitment};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::AuditEntry;
use crate::Millis;

/// An entry as it is stored: what the tree of hashes commits to, and what can be erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// The canonical bytes of the leaf.
    pub leaf: String,
    /// The salt of the details; absent if there are none or they were erased.
    pub salt: Option<[u8; Salt::LEN]>,
    /// The details as JSON.
    pub details: Option<String>,
}

impl Record for AuditRecord {
    const TREE: Tree = Tree::AuditLog;
    const SCHEMA: u16 = 1;
}

impl AuditRecord {
    /// Parses the leaf.
    ///
    /// # Errors
    /// `Corrupt`: it is no canonical leaf.
    pub fn leaf(&self) -> Result<Leaf, StoreError> {
        Leaf::from_bytes(self.leaf.as_bytes()).map_err(|error| corrupt(&error))
    }

    /// Parses the details; null if there are none.
    ///
    /// # Errors
    /// `Corrupt`: they are no JSON.
    pub fn details(&self) -> Result<Value, StoreError> {
        self.details
            .as_deref()
            .map_or(Ok(Value::Null), |text| serde_json::from_str(text).map_err(|error| corrupt(&error)))
    }

    /// Parses the record.
    ///
    /// # Errors
    /// `Corrupt`: leaf or details cannot be parsed.
    pub fn entry(&self) -> Result<AuditEntry, StoreError> {
        let leaf = self.leaf()?;
        let at = Millis::parse_rfc3339(&leaf.at).ok_or_else(|| corrupt(&"its time is no time"))?;
        Ok(AuditEntry {
            id: leaf.id,
            at,
            actor: leaf.actor,
            via: leaf.via,
            action: leaf.action,
            resource: leaf.resource,
            outcome: leaf.outcome,
            approval: leaf.approval,
            request: leaf.request,
            details: self.details()?,
            after: leaf.after,
        })
    }

    /// Returns whether salt and details are those to which the leaf commits, or are both gone.
    ///
    /// # Errors
    /// As [`AuditRecord::entry`].
    pub fn is_consistent(&self) -> Result<bool, StoreError> {
        let committed = self.leaf()?.details;
        Ok(match (committed, self.salt, &self.details) {
            (_, None, None) => true,
            (Some(committed), Some(salt), Some(_)) => {
                commitment(Salt::new(salt), &self.details()?).is_ok_and(|found| found == committed)
            }
            _ => false,
        })
    }

    /// Returns the record without salt and details. Its leaf, and every proof of it, stay.
    #[must_use]
    pub fn erased(&self) -> Self {
        Self { leaf: self.leaf.clone(), salt: None, details: None }
    }
}

fn corrupt(error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("an entry of the audit log: {error}"))
}

/// An entry as versions before the log stored it. It is only read, to be moved into the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OldAuditEntry {
    /// `aud_…`.
    pub id: String,
    /// Time of the action.
    pub at: Millis,
    /// Principal that acted.
    pub actor: String,
    /// Name of the action.
    pub action: String,
    /// Identifier of the affected resource.
    pub resource: String,
    /// Further details.
    pub details: Value,
}

impl Record for OldAuditEntry {
    const TREE: Tree = Tree::Audit;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl From<OldAuditEntry> for AuditEntry {
    /// Keeps the identifier and the time, and says that it was imported.
    fn from(old: OldAuditEntry) -> Self {
        let OldAuditEntry { id, at, actor, action, resource, mut details } = old;
        // Entries of early versions contain the instruction of a redirected task.
        if let Some(control) = details.pointer_mut("/control").and_then(Value::as_object_mut) {
            control.remove("instruction");
        }
        Self { id, ..Self::new(at, &actor, &action, &resource, details) }.via("import")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_altered_salt_or_detail_is_found_and_an_erased_one_is_none() {
        let record = AuditEntry::new(Millis(0), "a", "b", "c", json!({ "n": 1 })).record().unwrap();
        assert_eq!(record.is_consistent(), Ok(true));
        assert_eq!(record.erased().is_consistent(), Ok(true));
        let mut other = record.clone();
        other.details = Some("{\"n\":2}".into());
        assert_eq!(other.is_consistent(), Ok(false));
        let mut other = record.clone();
        other.salt = other.salt.map(|mut salt| {
            salt[3] ^= 1;
            salt
        });
        assert_eq!(other.is_consistent(), Ok(false));
        assert_eq!(AuditRecord { salt: None, ..record.clone() }.is_consistent(), Ok(false));
        let without = AuditEntry::new(Millis(0), "a", "b", "c", Value::Null).record().unwrap();
        assert_eq!(AuditRecord { leaf: without.leaf, ..record }.is_consistent(), Ok(false));
    }

    #[test]
    fn an_instruction_of_an_early_version_is_not_imported() {
        let control = json!({ "verb": "redirect", "mode": "steer", "instruction": "a secret plan", "agent": null });
        let old = OldAuditEntry {
            id: "aud_1".into(),
            at: Millis(1),
            actor: "usr_1".into(),
            action: "task_redirect".into(),
            resource: "task_1".into(),
            details: json!({ "control": control }),
        };
        let entry = AuditEntry::from(old).record().unwrap().entry().unwrap();
        assert!(!entry.details.to_string().contains("secret plan"));
        assert_eq!((&*entry.id, entry.via.as_deref()), ("aud_1", Some("import")));
        assert_eq!(entry.details["control"]["mode"], "steer");
    }
}
