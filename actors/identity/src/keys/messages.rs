//! What the key actor is asked, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use actix::Message;

use super::record::{KeyRecord, LimitOverride, PlanA, PlanB, Role, Scope};
use super::token::Token;
use muster_core::{Error, Millis};

/// What a new key is to be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewKey {
    /// 1 to 100 characters.
    pub name: String,
    pub owner: String,
    pub plan_a: PlanA,
    pub plan_b: PlanB,
    pub scopes: Vec<Scope>,
    pub roles: Vec<Role>,
    pub limits: Option<LimitOverride>,
    pub budget_usd: Option<f64>,
    pub expires_at: Option<Millis>,
}

/// On whose authority a key is made.
#[derive(Debug, Clone)]
pub enum MadeBy {
    /// Whoever holds the machine: the command line and the first start.
    Operator,
    /// Another key; the new one can grant nothing that this one lacks.
    Key(Arc<KeyRecord>),
}

/// Makes a key. `idempotency` is the request's key and a digest of its body.
#[derive(Debug, Message)]
#[rtype(result = "Result<Created, Error>")]
pub(super) struct Create {
    pub new: NewKey,
    pub by: MadeBy,
    /// A key whose secret is already known to the caller (the first start's).
    pub token: Option<Token>,
    pub idempotency: Option<(String, [u8; 32])>,
}

/// A new key; `key` is the whole of it, shown this once.
#[derive(Debug, Clone)]
pub struct Created {
    pub record: Arc<KeyRecord>,
    pub key: Token,
    /// This answer was given before, to the same `Idempotency-Key`.
    pub replayed: bool,
}

/// Ends a key at once. The record stays, marked.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<KeyRecord>, Error>")]
pub(super) struct Revoke {
    pub id: String,
}

/// Gives a key a new secret; the old one is taken for `grace` yet.
#[derive(Debug, Message)]
#[rtype(result = "Result<Created, Error>")]
pub(super) struct Rotate {
    pub id: String,
    pub by: MadeBy,
    pub grace: Duration,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Option<Arc<KeyRecord>>, Error>")]
pub(super) struct Get {
    pub id: String,
}

/// Newest first.
#[derive(Debug, Message)]
#[rtype(result = "Result<KeyPage, Error>")]
pub(super) struct List {
    pub limit: usize,
    /// The last identifier of the page before.
    pub after: Option<String>,
}

/// A page of keys; `next` is the cursor of the page after it.
#[derive(Debug, Clone, Default)]
pub struct KeyPage {
    pub keys: Vec<Arc<KeyRecord>>,
    pub next: Option<String>,
}

/// A key was used; written behind, at most once a minute a key.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Touch {
    pub lookup: String,
    pub at: Millis,
}
