//! What is stored of a key.

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::token::{Secret, SecretHash, matches};
use muster_core::Millis;

/// What a key may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Agents,
    Chat,
    Memory,
    Engines,
    Admin,
    Medical,
    /// `/metrics`, and nothing else.
    Metrics,
}

impl Scope {
    pub const ALL: [Self; 7] =
        [Self::Agents, Self::Chat, Self::Memory, Self::Engines, Self::Admin, Self::Medical, Self::Metrics];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Chat => "chat",
            Self::Memory => "memory",
            Self::Engines => "engines",
            Self::Admin => "admin",
            Self::Medical => "medical",
            Self::Metrics => "metrics",
        }
    }
}

/// What a key's bearer may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    SuperAdmin,
    Auditor,
    Security,
    Operations,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::SuperAdmin, Self::Auditor, Self::Security, Self::Operations];
}

/// The plan of interface A. Ordered: each grants what those before it grant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanA {
    #[default]
    Free,
    Starter,
    Pro,
    Enterprise,
}

/// The plan of interface B. Ordered like [`PlanA`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanB {
    #[default]
    Free,
    Pro,
    Enterprise,
}

/// Limits of a key of its own, in place of its plans'. A field left out keeps the plan's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitOverride {
    pub requests_per_minute: Option<u64>,
    /// Interface B's.
    pub requests_per_hour: Option<u64>,
    /// Interface A's.
    pub requests_per_day: Option<u64>,
    /// Interface B's.
    pub tokens_per_minute: Option<u64>,
    /// Interface A's.
    pub tokens_per_day: Option<u64>,
}

/// A secret that was replaced, and is taken for a while yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Replaced {
    pub(super) sha256: SecretHash,
    pub(super) until: Millis,
}

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord {
    pub id: String,
    /// The 12 characters that a request's key is found by.
    pub lookup: String,
    pub(super) secret_sha256: SecretHash,
    pub name: String,
    pub owner: String,
    pub plan_a: PlanA,
    pub plan_b: PlanB,
    pub scopes: Vec<Scope>,
    pub roles: Vec<Role>,
    pub limits: Option<LimitOverride>,
    /// For a calendar month.
    pub budget_usd: Option<f64>,
    pub created_at: Millis,
    pub expires_at: Option<Millis>,
    pub last_used_at: Option<Millis>,
    pub revoked_at: Option<Millis>,
    /// The secret before the latest rotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<Replaced>,
}

impl Record for KeyRecord {
    const TREE: Tree = Tree::Keys;
    const SCHEMA: u16 = 1;
    // A person may have to read what a key was allowed.
    const ENCODING: Encoding = Encoding::Json;
}

impl KeyRecord {
    /// What stands for a person where a key is asked for: nothing authenticates with it, and it is never stored.
    pub fn standing_in(id: &str, name: &str) -> Self {
        Self {
            id: id.to_owned(),
            lookup: String::new(),
            secret_sha256: [0; 32],
            name: name.to_owned(),
            owner: id.to_owned(),
            plan_a: PlanA::Free,
            plan_b: PlanB::Free,
            scopes: Vec::new(),
            roles: Vec::new(),
            limits: None,
            budget_usd: None,
            created_at: Millis(0),
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
            replaced: None,
        }
    }

    /// Whether it may call what needs this scope. `admin` includes `metrics`.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || (scope == Scope::Metrics && self.scopes.contains(&Scope::Admin))
    }

    /// Until when the secret before the latest rotation is taken, past or to come.
    pub fn old_secret_until(&self) -> Option<Millis> {
        self.replaced.as_ref().map(|replaced| replaced.until)
    }

    /// Until when a secret of that hash is taken, past or to come; `None` for one that is not the key's.
    pub(super) fn secret_until(&self, hash: &SecretHash) -> Option<Millis> {
        if matches(hash, &self.secret_sha256) {
            return Some(Millis(u64::MAX));
        }
        self.replaced.as_ref().filter(|replaced| matches(hash, &replaced.sha256)).map(|replaced| replaced.until)
    }

    /// Both secrets are compared in any case, so that the time tells nothing of which one it was.
    pub(super) fn takes(&self, secret: &Secret, now: Millis) -> bool {
        let hash = secret.hash();
        let present = matches(&hash, &self.secret_sha256);
        let replaced = self.replaced.as_ref();
        let old = matches(&hash, replaced.map_or(&[0; 32], |replaced| &replaced.sha256));
        present || (old && replaced.is_some_and(|replaced| now < replaced.until))
    }
}
