//! Stored records of API keys.

use muster_store::{Encoding, Record, StoreError, Tree};
use serde::{Deserialize, Serialize};

use super::token::{Secret, SecretHash, matches};
use muster_core::Millis;

/// A group of routes that a key may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Agents, their tasks and the feed of these.
    Agents,
    /// Chat completions.
    Chat,
    /// Semantic memory.
    Memory,
    /// Engines.
    Engines,
    /// Administration of keys and the server.
    Admin,
    /// Medical agents and engines.
    Medical,
    /// `/metrics` only.
    Metrics,
}

impl Scope {
    /// All scopes, in a fixed order.
    pub const ALL: [Self; 7] =
        [Self::Agents, Self::Chat, Self::Memory, Self::Engines, Self::Admin, Self::Medical, Self::Metrics];

    /// Returns the name used in requests and responses.
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

/// A function of the key's bearer in the governance of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Has every right.
    SuperAdmin,
    /// Reads audit data.
    Auditor,
    /// Decides about security.
    Security,
    /// Operates agents and tasks.
    Operations,
}

impl Role {
    /// All roles, in a fixed order.
    pub const ALL: [Self; 4] = [Self::SuperAdmin, Self::Auditor, Self::Security, Self::Operations];

    /// Returns the name used in requests and responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SuperAdmin => "super_admin",
            Self::Auditor => "auditor",
            Self::Security => "security",
            Self::Operations => "operations",
        }
    }
}

/// A plan on interface A. Ordered: each plan includes those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanA {
    /// The smallest plan.
    #[default]
    Free,
    /// The second plan.
    Starter,
    /// The third plan.
    Pro,
    /// The largest plan.
    Enterprise,
}

/// A plan on interface B. Ordered like [`PlanA`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanB {
    /// The smallest plan.
    #[default]
    Free,
    /// The second plan.
    Pro,
    /// The largest plan.
    Enterprise,
}

/// Limits of a single key that replace those of its plans. `None` keeps the plan's limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitOverride {
    /// Requests per minute, on both interfaces.
    pub requests_per_minute: Option<u64>,
    /// Requests per hour on interface B.
    pub requests_per_hour: Option<u64>,
    /// Requests per day on interface A.
    pub requests_per_day: Option<u64>,
    /// Tokens per minute on interface B.
    pub tokens_per_minute: Option<u64>,
    /// Tokens per day on interface A.
    pub tokens_per_day: Option<u64>,
}

/// A secret that was replaced and is accepted until its grace period ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Replaced {
    pub(super) sha256: SecretHash,
    pub(super) until: Millis,
}

/// A key. Contains hashes of its secrets only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Identifier, `key_…`.
    pub id: String,
    /// Lookup identifier: the 12 characters of the key that are not secret.
    pub lookup: String,
    pub(super) secret_sha256: SecretHash,
    /// Display name, 1 to 100 characters.
    pub name: String,
    /// Owner, as displayed.
    pub owner: String,
    /// Plan on interface A.
    pub plan_a: PlanA,
    /// Plan on interface B.
    pub plan_b: PlanB,
    /// Scopes, sorted, without duplicates.
    pub scopes: Vec<Scope>,
    /// Roles, sorted, without duplicates.
    pub roles: Vec<Role>,
    /// Limits that replace those of the plans.
    pub limits: Option<LimitOverride>,
    /// Largest cost per calendar month, in USD; `None` means no limit.
    pub budget_usd: Option<f64>,
    /// Identifier of the team that the key belongs to.
    #[serde(default)]
    pub team: Option<String>,
    /// The models that the key may use; empty means all.
    #[serde(default)]
    pub models: Vec<String>,
    /// Time for which answers are cached, in seconds: 0 means never, `None`: the time of the team.
    #[serde(default)]
    pub cache_seconds: Option<u64>,
    /// Number of the change that this record is the result of, from 1; its use is no change.
    #[serde(default = "first_version")]
    pub version: u64,
    /// Time of creation.
    pub created_at: Millis,
    /// Time from which on the key is rejected; `None` means never.
    pub expires_at: Option<Millis>,
    /// Time of use, recorded at most once a minute.
    pub last_used_at: Option<Millis>,
    /// Time of revocation; `None` if the key was not revoked.
    pub revoked_at: Option<Millis>,
    /// Who made the key; `None` for keys of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// The secret before the latest rotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<Replaced>,
}

fn first_version() -> u64 {
    1
}

impl Record for KeyRecord {
    const TREE: Tree = Tree::Keys;
    // An older program would ignore the models that a key is bound to.
    const SCHEMA: u16 = 2;
    // Readable by auditors.
    const ENCODING: Encoding = Encoding::Json;

    /// The first version had neither team, models, cache nor version.
    fn upgrade(from_schema: u16, bytes: &[u8]) -> Result<Self, StoreError> {
        match from_schema {
            1 => serde_json::from_slice(bytes).map_err(|error| StoreError::Corrupt(format!("keys: {error}"))),
            other => Err(StoreError::Corrupt(format!("keys: schema {other} is unknown"))),
        }
    }
}

impl KeyRecord {
    /// Creates the record of a caller that has no key, such as a user or a device, for code that works on keys. It has no
    /// scope and the smallest plans. No secret matches it, and it is never stored.
    pub fn without_secret(id: &str, name: &str) -> Self {
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
            team: None,
            models: Vec::new(),
            cache_seconds: None,
            version: 1,
            created_at: Millis(0),
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
            created_by: None,
            replaced: None,
        }
    }

    /// Returns whether the key grants a scope. `admin` includes `metrics`.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || (scope == Scope::Metrics && self.scopes.contains(&Scope::Admin))
    }

    /// Returns until when the secret before the latest rotation is accepted, which may be in the past.
    pub fn old_secret_until(&self) -> Option<Millis> {
        self.replaced.as_ref().map(|replaced| replaced.until)
    }

    /// Returns until when the secret of this hash is accepted, which may be in the past; `None` if it is not a secret of
    /// this key.
    pub(super) fn secret_until(&self, hash: &SecretHash) -> Option<Millis> {
        if matches(hash, &self.secret_sha256) {
            return Some(Millis(u64::MAX));
        }
        self.replaced.as_ref().filter(|replaced| matches(hash, &replaced.sha256)).map(|replaced| replaced.until)
    }

    /// Returns whether a secret is accepted at `now`. Always compares with both secrets, so that the time does not reveal
    /// which one matched.
    pub(super) fn accepts(&self, secret: &Secret, now: Millis) -> bool {
        let hash = secret.hash();
        let present = matches(&hash, &self.secret_sha256);
        let replaced = self.replaced.as_ref();
        let old = matches(&hash, replaced.map_or(&[0; 32], |replaced| &replaced.sha256));
        present || (old && replaced.is_some_and(|replaced| now < replaced.until))
    }
}

#[cfg(test)]
mod tests {
    use muster_store::Rec;

    use super::*;

    #[test]
    fn a_record_of_the_first_version_is_read_and_allows_every_model() {
        let record = KeyRecord { scopes: vec![Scope::Chat], ..KeyRecord::without_secret("key_1", "n") };
        let mut old = serde_json::to_value(&record).unwrap();
        for added in ["team", "models", "cache_seconds", "version"] {
            assert!(old.as_object_mut().unwrap().remove(added).is_some(), "{added}");
        }
        let rec = Rec { schema: 1, bytes: serde_json::to_vec(&old).unwrap() };
        assert_eq!(KeyRecord::decode(&rec), Ok(record.clone()));
        assert_eq!(KeyRecord::decode(&record.encode().unwrap()), Ok(record.clone()));
        assert!(KeyRecord::decode(&Rec { schema: 3, ..record.encode().unwrap() }).is_err());
    }
}
