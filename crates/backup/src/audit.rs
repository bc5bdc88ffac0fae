//! Compares the records of a backup with its audit log: whoever can write records, and cannot sign, has no entry for them.

use std::collections::HashMap;

use muster_tlog::{Checkpoint, Edge, Hash, Leaf, Salt, commitment, fingerprint};
use serde_json::Value;

/// Why the audit log of a backup is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// An entry is missing between two others.
    #[error("entry {0} of its audit log is missing")]
    Missing(u64),
    /// An entry is no longer what it was.
    #[error("entry {seq} of its audit log was altered: {why}")]
    Altered {
        /// Number of the entry.
        seq: u64,
        /// What does not agree.
        why: String,
    },
    /// The log has fewer entries than its signed checkpoint.
    #[error("its audit log has {found} entries, its signed checkpoint {signed}: the end is missing")]
    TailMissing {
        /// Entries of the signed checkpoint.
        signed: u64,
        /// Entries of the log.
        found: u64,
    },
    /// The entries are not those that were signed.
    #[error("the root over the first {0} entries of its audit log is not the one that was signed: they were altered")]
    Root(u64),
}

/// A record that its audit log contradicts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Discrepancy {
    /// No entry of the log says what the record allows.
    #[error("no entry of the audit log is about it")]
    NoEntry,
    /// The newest entry says something else.
    #[error("entry {0} of the audit log, the newest about it, says that it allows something else")]
    Differs(u64),
    /// The record cannot be compared.
    #[error("it cannot be compared with the audit log: {0}")]
    Unreadable(String),
}

/// Collects the entries of an audit log, in the order of their numbers.
///
/// Memory: the edge of the tree, and for each resource with an `after` its newest one.
#[derive(Debug)]
pub struct AuditCheck {
    edge: Edge,
    signed: Option<Checkpoint>,
    /// Root at the size of the checkpoint, once the log is that long.
    root: Option<Hash>,
    /// Number and `after` of the newest entry by resource.
    newest: HashMap<String, (u64, String)>,
}

impl AuditCheck {
    /// Begins the check of a log with the checkpoint of its header.
    #[must_use]
    pub fn new(signed: Option<Checkpoint>) -> Self {
        let edge = Edge::new();
        let root = signed.as_ref().filter(|signed| signed.size == 0).map(|_| edge.root());
        Self { edge, signed, root, newest: HashMap::new() }
    }

    /// Takes the next entry: its number, its canonical bytes, and salt and details unless they were erased.
    ///
    /// # Errors
    /// [`AuditError::Missing`], [`AuditError::Altered`].
    pub fn append(
        &mut self,
        seq: u64,
        bytes: &[u8],
        salt: Option<Salt>,
        details: Option<&Value>,
    ) -> Result<(), AuditError> {
        if seq != self.edge.size() {
            return Err(AuditError::Missing(self.edge.size()));
        }
        let altered = |why: &dyn std::fmt::Display| AuditError::Altered { seq, why: why.to_string() };
        let leaf = Leaf::from_bytes(bytes).map_err(|error| altered(&error))?;
        match (salt, details, &leaf.details) {
            (Some(salt), Some(details), Some(committed)) => {
                let found = commitment(salt, details).map_err(|error| altered(&error))?;
                if found != *committed {
                    return Err(altered(&"its details are not those that it commits to"));
                }
            }
            (None, None, _) => {}
            _ => return Err(altered(&"it has salt or details without the other, or without a commitment")),
        }
        self.edge.append(Hash::of_leaf(bytes)).map_err(|error| altered(&error))?;
        if self.signed.as_ref().is_some_and(|signed| signed.size == self.edge.size()) {
            self.root = Some(self.edge.root());
        }
        if let Some(after) = leaf.after {
            self.newest.insert(leaf.resource, (seq, after));
        }
        Ok(())
    }

    /// Compares the log with the signed checkpoint. Returns its number of entries.
    ///
    /// # Errors
    /// [`AuditError::TailMissing`], [`AuditError::Root`].
    pub fn finish(&self) -> Result<u64, AuditError> {
        let found = self.edge.size();
        match (&self.signed, self.root) {
            (Some(signed), None) => Err(AuditError::TailMissing { signed: signed.size, found }),
            (Some(signed), Some(root)) if signed.root != root => Err(AuditError::Root(signed.size)),
            _ => Ok(found),
        }
    }

    /// Compares what a record allows with the newest entry about it.
    ///
    /// # Errors
    /// [`Discrepancy`].
    pub fn compare(&self, resource: &str, after: &Value) -> Result<(), Discrepancy> {
        let found = fingerprint(after).map_err(|error| Discrepancy::Unreadable(error.to_string()))?;
        match self.newest.get(resource) {
            None => Err(Discrepancy::NoEntry),
            Some((_, newest)) if *newest == found => Ok(()),
            Some((seq, _)) => Err(Discrepancy::Differs(*seq)),
        }
    }
}
