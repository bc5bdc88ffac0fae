//! A deploy as stored.

use muster_core::Millis;
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

/// What runs: the program and its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Version of the program.
    pub version: String,
    /// Commit that it was built from, if the build names it.
    pub commit: Option<String>,
    /// Hex SHA-256 of the program's file.
    pub binary_sha256: String,
    /// Hex SHA-256 of the settings in effect, in canonical JSON (RFC 8785), without secrets.
    pub config_sha256: String,
}

/// How a deploy ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeployEnd {
    /// The server was stopped in order, or its settings were reloaded.
    Clean,
    /// The server ended without stopping.
    Killed,
}

impl DeployEnd {
    /// Returns the name used in responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Killed => "killed",
        }
    }
}

/// A deploy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deploy {
    /// `dep_…`; sorts by time.
    pub id: String,
    /// When it began.
    pub at: Millis,
    /// What runs.
    pub program: Program,
    /// Identifier of the governance policy in force when it began.
    pub policy: String,
    /// The deploy before it.
    pub previous: Option<String>,
    /// When it ended; for a killed one, when that was found out.
    pub ended_at: Option<Millis>,
    /// How it ended; `None` while it runs.
    pub end: Option<DeployEnd>,
}

impl Record for Deploy {
    const TREE: Tree = Tree::Deploys;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
