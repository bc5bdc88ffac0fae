//! The close of a day. Pure.

use muster_core::Millis;
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What the ledger has of one key and model on a day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerRow {
    /// The API key or user.
    pub key: String,
    /// The model.
    pub model: String,
    /// Number of calls.
    pub requests: u64,
    /// Cost in billionths of a US dollar.
    pub cost_nanos: u64,
    /// Charged for calls whose outcome was lost in a crash, in billionths of a US dollar.
    pub unsettled_nanos: u64,
}

/// The ledger of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayBooks {
    /// In any order.
    pub rows: Vec<LedgerRow>,
    /// Whether the day is over and nothing can be charged to it any more.
    pub settled: bool,
}

/// Sum and hash of the rows of a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Everything that was charged, in billionths of a US dollar.
    pub nanos: u64,
    /// Number of rows.
    pub rows: u64,
    /// Hex SHA-256 of the rows.
    pub sha256: String,
}

impl Totals {
    /// Sums up rows. The hash is that of one line for each row, in the order of key and model: the JSON array `[key, model,
    /// requests, cost_nanos, unsettled_nanos]` without spaces, and a line feed.
    pub fn of(mut rows: Vec<LedgerRow>) -> Self {
        rows.sort_unstable();
        let (mut nanos, mut hash) = (0_u64, Sha256::new());
        for row in &rows {
            nanos = nanos.saturating_add(row.cost_nanos).saturating_add(row.unsettled_nanos);
            let line = (&row.key, &row.model, row.requests, row.cost_nanos, row.unsettled_nanos);
            // Texts and integers can always be written.
            hash.update(serde_json::to_vec(&line).unwrap_or_default());
            hash.update(b"\n");
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Self { nanos, rows: rows.len() as u64, sha256 }
    }
}

/// The close of a day as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Close {
    /// `YYYY-MM-DD` (UTC).
    pub day: String,
    /// Sum and hash.
    pub totals: Totals,
    /// When it was closed.
    pub at: Millis,
    /// Identifier of its entry of the audit log.
    pub entry: String,
}

impl Record for Close {
    const TREE: Tree = Tree::Closes;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
