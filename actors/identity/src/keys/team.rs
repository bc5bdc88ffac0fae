//! Stored records of teams and of owners' budgets. They share the tree of the keys; each kind has a prefix.

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use muster_core::Millis;

/// Prefix of the keys of owners' records.
pub(super) const OWNERS: &[u8] = b"owner/";

/// A team: its keys share a budget, a list of models and, if it has one, a cache of answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TeamRecord {
    /// Identifier, `team_…`.
    pub id: String,
    /// Display name, 1 to 100 characters.
    pub name: String,
    /// Largest cost of all keys of the team per calendar month, in USD; `None` means no limit.
    pub budget_usd: Option<f64>,
    /// The models that keys of the team may use; empty means all.
    pub models: Vec<String>,
    /// Time for which answers are cached for all keys of the team, in seconds; `None` means never.
    pub cache_seconds: Option<u64>,
    /// Time of creation.
    pub created_at: Millis,
    /// Time of the last change.
    pub updated_at: Millis,
    /// Number of the change that this record is the result of, from 1.
    pub version: u64,
}

/// The budget of an owner that was set at run time, in place of that of the settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnerRecord {
    /// Name of the owner, as keys have it.
    pub owner: String,
    /// Largest cost of all keys of the owner per calendar month, in USD; `None` if the settings apply again.
    pub budget_usd: Option<f64>,
    /// Time of the last change.
    pub updated_at: Millis,
}

impl OwnerRecord {
    /// Returns the key of the record in the store.
    pub(super) fn key(owner: &str) -> Vec<u8> {
        [OWNERS, owner.as_bytes()].concat()
    }
}

impl Record for TeamRecord {
    const TREE: Tree = Tree::Keys;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl Record for OwnerRecord {
    const TREE: Tree = Tree::Keys;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
