//! `Idempotency-Key`: the first answer is stored in the batch that creates what it tells of, and given again for 24 h.
//!
//! Whoever creates something for a caller asks [`Idempotency::replay`] first and adds [`Idempotency::op`] to its batch.
//! Both in one actor's turn: so of two that race, the second finds the first one's answer.

use std::collections::HashMap;
use std::time::Duration;

use muster_store::{Batch, Encoding, Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Kind, Millis};

/// How long an answer is given again.
pub const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);

/// Answers read at a time.
const PAGE: usize = 500;

/// A request that names itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// Whose key it is: `usr_…`, `key_…`, `dev_…`.
    pub principal: String,
    /// 1 to 255 visible ASCII characters.
    pub key: String,
    /// SHA-256 of route and body: the same key with another body is a conflict.
    pub digest: [u8; 32],
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    at: Millis,
    digest: [u8; 32],
    /// The `data` of the answer.
    answer: Value,
}

impl Record for Kept {
    const TREE: Tree = Tree::Idempotency;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl Idempotency {
    fn place(&self) -> Vec<u8> {
        [self.principal.as_bytes(), b"/", self.key.as_bytes()].concat()
    }

    /// The first answer, where there was one within 24 h.
    ///
    /// # Errors
    /// `IdempotencyConflict` where the key was used with another body.
    pub fn replay(&self, store: &StoreHandle, now: Millis) -> Result<Option<Value>, Error> {
        let Some(rec) = store.get(Tree::Idempotency, &self.place())? else { return Ok(None) };
        let kept = Kept::decode(&rec)?;
        if now.since(kept.at) >= KEPT_FOR {
            return Ok(None);
        }
        if kept.digest != self.digest {
            return Err(reused());
        }
        Ok(Some(kept.answer))
    }

    /// The write that belongs into the batch that creates.
    ///
    /// # Errors
    /// The answer is too large to be stored.
    pub fn op(&self, now: Millis, answer: Value) -> Result<Op, StoreError> {
        let kept = Kept { at: now, digest: self.digest, answer };
        Ok(Op::Put { tree: Tree::Idempotency, key: self.place(), rec: kept.encode()? })
    }
}

/// First answers whose decisions are not durable yet, of an actor that writes through a journal.
#[derive(Debug, Default)]
pub struct PendingAnswers(HashMap<(String, String), PendingAnswer>);

#[derive(Debug)]
struct PendingAnswer {
    digest: [u8; 32],
    answer: Value,
    /// The decision that stores it.
    decision: u64,
}

impl PendingAnswers {
    /// The first answer to the same request, stored or about to be.
    ///
    /// # Errors
    /// `IdempotencyConflict` where the key was used with another body; it cannot be read.
    pub fn replay(&self, request: &Idempotency, store: &StoreHandle, now: Millis) -> Result<Option<Value>, Error> {
        match self.0.get(&(request.principal.clone(), request.key.clone())) {
            Some(pending) if pending.digest == request.digest => Ok(Some(pending.answer.clone())),
            Some(_) => Err(reused()),
            None => request.replay(store, now),
        }
    }

    /// Keeps the first answer to a request until the decision that stores it is durable.
    pub fn insert(&mut self, request: &Idempotency, answer: Value, decision: u64) {
        let pending = PendingAnswer { digest: request.digest, answer, decision };
        self.0.insert((request.principal.clone(), request.key.clone()), pending);
    }

    /// Forgets the answers that are stored, given the last durable decision.
    pub fn settle(&mut self, durable: u64) {
        self.0.retain(|_, pending| pending.decision > durable);
    }
}

fn reused() -> Error {
    Error::new(Kind::IdempotencyConflict, "this Idempotency-Key was used with another body: take a new one")
}

/// Deletes answers past their time, a page at a time from `from`; gives where to go on.
///
/// # Errors
/// The store refuses.
pub async fn sweep(store: &StoreHandle, now: Millis, from: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, StoreError> {
    let (ops, next) = page(store, Vec::new(), from, |kept| now.since(kept.at) >= KEPT_FOR)?;
    if !ops.is_empty() {
        store.commit(Batch { ops, ..Batch::default() }).await?;
    }
    Ok(next)
}

/// The writes that take a principal's answers of some sort back, a page at a time from `from`; and where to go on.
///
/// # Errors
/// They cannot be read.
pub fn kept_of(
    store: &StoreHandle,
    principal: &str,
    from: Option<Vec<u8>>,
    sort: impl Fn(&Value) -> bool,
) -> Result<(Vec<Op>, Option<Vec<u8>>), StoreError> {
    page(store, format!("{principal}/").into_bytes(), from, |kept| sort(&kept.answer))
}

/// The writes that delete the kept answers of a page that `matches`, and where the next page starts. One that cannot be
/// decoded stays.
fn page(
    store: &StoreHandle,
    prefix: Vec<u8>,
    from: Option<Vec<u8>>,
    matches: impl Fn(&Kept) -> bool,
) -> Result<(Vec<Op>, Option<Vec<u8>>), StoreError> {
    let mut entries = store.entries(Tree::Idempotency, prefix, PageRequest::of(PAGE).starting_at(from));
    let mut ops = Vec::new();
    for entry in entries.by_ref().take(PAGE) {
        let (key, rec) = entry?;
        if Kept::decode(&rec).is_ok_and(|kept| matches(&kept)) {
            ops.push(Op::Delete { tree: Tree::Idempotency, key });
        }
    }
    Ok((ops, entries.resume_at()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_store::MemStore;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_given_again_for_a_day_to_the_same_body_only() {
        let store: StoreHandle = Arc::new(MemStore::default());
        let now = Millis(1_767_225_600_000);
        let asked = Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [1; 32] };
        assert_eq!(asked.replay(&store, now), Ok(None));
        let op = asked.op(now, json!({ "id": "inc_1" })).unwrap();
        store.commit(Batch { ops: vec![op], ..Batch::default() }).await.unwrap();
        assert_eq!(asked.replay(&store, now), Ok(Some(json!({ "id": "inc_1" }))));
        let other = Idempotency { digest: [2; 32], ..asked.clone() };
        assert_eq!(other.replay(&store, now).unwrap_err().kind, Kind::IdempotencyConflict);
        let stranger = Idempotency { principal: "usr_2".into(), ..other };
        assert_eq!(stranger.replay(&store, now), Ok(None), "keys are each principal's own");
        let over = now.plus(KEPT_FOR);
        assert_eq!(asked.replay(&store, over), Ok(None));
        sweep(&store, over, None).await.unwrap();
        assert_eq!(store.get(Tree::Idempotency, b"usr_1/k").unwrap(), None);
    }

    #[test]
    fn an_answer_that_is_not_durable_yet_is_given_again_to_the_same_body_only() {
        let store: StoreHandle = Arc::new(MemStore::default());
        let (now, mut pending) = (Millis(1_767_225_600_000), PendingAnswers::default());
        let asked = Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [1; 32] };
        pending.insert(&asked, json!(7), 3);
        pending.settle(2);
        assert_eq!(pending.replay(&asked, &store, now), Ok(Some(json!(7))));
        let other = Idempotency { digest: [2; 32], ..asked.clone() };
        assert_eq!(pending.replay(&other, &store, now).unwrap_err().kind, Kind::IdempotencyConflict);
        pending.settle(3);
        assert_eq!(pending.replay(&asked, &store, now), Ok(None), "the store has it, or nobody");
    }
}
