//! Messages of the key actor.

use std::sync::Arc;
use std::time::Duration;

use actix::Message;

use super::record::{KeyRecord, LimitOverride, PlanA, PlanB, Role, Scope};
use super::team::{OwnerRecord, TeamRecord};
use super::token::Token;
use muster_core::guard::Permit;
use muster_core::idempotency::Idempotency;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Millis};

/// A key to create.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewKey {
    /// 1 to 100 characters, not only white space.
    pub name: String,
    /// Owner, as displayed. Not checked.
    pub owner: String,
    /// Plan on interface A.
    pub plan_a: PlanA,
    /// Plan on interface B.
    pub plan_b: PlanB,
    /// At least one. Duplicates are removed.
    pub scopes: Vec<Scope>,
    /// Duplicates are removed.
    pub roles: Vec<Role>,
    /// Limits that replace those of the plans.
    pub limits: Option<LimitOverride>,
    /// Largest cost per calendar month, in USD, 0 or more; `None` means no limit.
    pub budget_usd: Option<f64>,
    /// Time in the future from which on the key is rejected; `None` means never.
    pub expires_at: Option<Millis>,
    /// Team that the key belongs to.
    pub team: Option<String>,
    /// The models that the key may use; empty means all.
    pub models: Vec<String>,
    /// Time for which answers are cached, in seconds: 0 means never, `None`: the time of the team.
    pub cache_seconds: Option<u64>,
}

/// Changes of a key. A field that is `None` keeps its value; an inner `None` removes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeyPatch {
    /// Display name.
    pub name: Option<String>,
    /// Owner.
    pub owner: Option<String>,
    /// Plan on interface A.
    pub plan_a: Option<PlanA>,
    /// Plan on interface B.
    pub plan_b: Option<PlanB>,
    /// All scopes from now on.
    pub scopes: Option<Vec<Scope>>,
    /// All roles from now on.
    pub roles: Option<Vec<Role>>,
    /// All limits of its own from now on.
    pub limits: Option<Option<LimitOverride>>,
    /// Budget per calendar month, in USD.
    pub budget_usd: Option<Option<f64>>,
    /// Time from which on the key is rejected.
    pub expires_at: Option<Option<Millis>>,
    /// Team that the key belongs to.
    pub team: Option<Option<String>>,
    /// The models that the key may use; empty means all.
    pub models: Option<Vec<String>>,
    /// Time for which answers are cached, in seconds.
    pub cache_seconds: Option<Option<u64>>,
}

/// A team to create.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewTeam {
    /// 1 to 100 characters, not only white space.
    pub name: String,
    /// Largest cost of all keys of the team per calendar month, in USD; `None` means no limit.
    pub budget_usd: Option<f64>,
    /// The models that keys of the team may use; empty means all.
    pub models: Vec<String>,
    /// Time for which answers are cached for all keys of the team, in seconds; `None` means never.
    pub cache_seconds: Option<u64>,
}

/// Changes of a team. A field that is `None` keeps its value; an inner `None` removes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TeamPatch {
    /// Display name.
    pub name: Option<String>,
    /// Budget per calendar month, in USD.
    pub budget_usd: Option<Option<f64>>,
    /// The models that keys of the team may use; empty means all.
    pub models: Option<Vec<String>>,
    /// Time for which answers are cached, in seconds.
    pub cache_seconds: Option<Option<u64>>,
}

/// Under whose authority a key is created, rotated or revoked.
#[derive(Debug, Clone)]
pub enum KeyIssuer {
    /// The operator of the machine, by the command line or the first start.
    Operator,
    /// Another key, which can grant only what it has itself.
    Key(Arc<KeyRecord>),
}

impl KeyIssuer {
    /// Returns the identifier that the audit log contains.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Operator => "system",
            Self::Key(key) => &key.id,
        }
    }
}

/// Creates a key.
#[derive(Debug, Message)]
#[rtype(result = "Result<CreatedKey, Error>")]
pub(super) struct Create {
    pub new: NewKey,
    pub issuer: KeyIssuer,
    /// A key that the operator has chosen, for the first start; otherwise one is generated.
    pub token: Option<Token>,
    pub idempotency: Option<Idempotency>,
    pub permit: Option<Permit>,
}

/// A new or rotated key with its secret.
#[derive(Debug, Clone)]
pub struct CreatedKey {
    /// The stored record.
    pub record: Arc<KeyRecord>,
    /// The whole key. It is stored nowhere, so this response is the only one that contains it.
    pub key: Token,
    /// Whether this response was returned before, for the same `Idempotency-Key`.
    pub replayed: bool,
}

/// Revokes a key at once. Its record is kept.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<KeyRecord>, Error>")]
pub(super) struct Revoke {
    pub id: String,
    pub issuer: KeyIssuer,
}

/// Changes a key.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<KeyRecord>, Error>")]
pub(super) struct Edit {
    pub id: String,
    pub patch: KeyPatch,
    pub issuer: KeyIssuer,
    pub if_match: IfMatch,
    pub permit: Option<Permit>,
}

/// Creates a team.
#[derive(Debug, Message)]
#[rtype(result = "Result<(Arc<TeamRecord>, bool), Error>")]
pub(super) struct CreateTeam {
    pub new: NewTeam,
    pub issuer: KeyIssuer,
    pub idempotency: Option<Idempotency>,
}

/// Changes a team.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<TeamRecord>, Error>")]
pub(super) struct EditTeam {
    pub id: String,
    pub patch: TeamPatch,
    pub issuer: KeyIssuer,
    pub if_match: IfMatch,
}

/// Deletes a team without keys.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<TeamRecord>, Error>")]
pub(super) struct DeleteTeam {
    pub id: String,
    pub issuer: KeyIssuer,
    pub if_match: IfMatch,
}

/// Sets the budget of an owner; `None` returns to that of the settings.
#[derive(Debug, Message)]
#[rtype(result = "Result<OwnerRecord, Error>")]
pub(super) struct SetOwner {
    pub owner: String,
    pub budget_usd: Option<f64>,
    pub issuer: KeyIssuer,
}

/// Replaces the secret of a key. The old one is accepted for `grace` more.
#[derive(Debug, Message)]
#[rtype(result = "Result<CreatedKey, Error>")]
pub(super) struct Rotate {
    pub id: String,
    pub issuer: KeyIssuer,
    pub grace: Duration,
    pub permit: Option<Permit>,
}

/// Returns a key by its identifier.
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<Arc<KeyRecord>>, Error>")]
pub(super) struct Get {
    pub id: String,
}

/// Returns a page of keys, newest first.
#[derive(Debug, Message)]
#[rtype(result = "Result<KeyPage, Error>")]
pub(super) struct List {
    pub limit: usize,
    /// Cursor: `next` of the previous page.
    pub after: Option<String>,
}

/// A page of keys, newest first.
#[derive(Debug, Clone, Default)]
pub struct KeyPage {
    /// Keys of the page.
    pub keys: Vec<Arc<KeyRecord>>,
    /// Cursor of the next page; `None` after the last one.
    pub next: Option<String>,
}

/// Records that a key was used. It is written at most once per minute and key, and no caller waits for it.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Touch {
    pub lookup: String,
    pub at: Millis,
}
