//! The policy as stored.

use muster_core::Millis;
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::document::PolicyDocument;

/// Key of the only record.
pub(super) const KEY: &[u8] = b"policy";

/// The policy in force, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PolicyRecord {
    /// Counts the changes, from 1.
    pub(super) version: u64,
    pub(super) document: PolicyDocument,
    /// Principal that set it; `system` for the settings file.
    pub(super) by: String,
    pub(super) at: Millis,
    /// Approval of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approval: Option<String>,
    /// Identifier of the policy that the settings file last had: a file that changed since then is taken over while there
    /// is no quorum.
    pub(super) file: String,
    /// Whether it is that of the file.
    pub(super) from_file: bool,
}

impl Record for PolicyRecord {
    const TREE: Tree = Tree::Policy;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
