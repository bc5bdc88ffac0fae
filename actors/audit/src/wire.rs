//! An entry as it is shown and exported: its leaf, and what the leaf commits to.

use muster_core::audit::AuditRecord;
use muster_tlog::Salt;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::export::raw;

/// An entry as responses and exports show it.
#[derive(Debug, Serialize)]
pub struct ShownEntry<'a> {
    /// Number of the entry, from 0.
    pub seq: u64,
    /// The leaf, parsed.
    pub entry: &'a RawValue,
    /// The exact bytes whose hash is in the tree.
    pub leaf: &'a str,
    /// Salt of the details, base64url; null if there are none or they were erased.
    pub salt: Option<String>,
    /// The details; null if there are none or they were erased.
    pub details: Option<&'a RawValue>,
}

impl<'a> ShownEntry<'a> {
    /// Shows a record.
    ///
    /// # Errors
    /// Leaf or details are no JSON.
    pub fn of(seq: u64, record: &'a AuditRecord) -> Result<Self, serde_json::Error> {
        Ok(Self {
            seq,
            entry: raw(&record.leaf)?,
            leaf: &record.leaf,
            salt: record.salt.map(|salt| Salt::new(salt).to_base64url()),
            details: record.details.as_deref().map(raw).transpose()?,
        })
    }
}
