//! `Idempotency-Key`: the first response is stored in the batch that creates its resource, and returned again for 24 h.
//!
//! A feature that creates something for a caller calls [`Idempotency::replay`] first and adds [`Idempotency::op`] to
//! its batch, both in the same message handler. Of two concurrent requests, the second one therefore finds the response
//! to the first.

use std::collections::HashMap;
use std::time::Duration;

use muster_store::{Batch, Encoding, Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Kind, Millis};

/// Time for which a response is kept.
pub const RETENTION: Duration = Duration::from_secs(24 * 3600);

/// Responses read per page.
const PAGE: usize = 500;

/// An `Idempotency-Key` and the request it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The key's owner: `usr_…`, `key_…` or `dev_…`.
    pub principal: String,
    /// 1 to 255 visible ASCII characters.
    pub key: String,
    /// SHA-256 of route and body: reusing a key with another body is a conflict.
    pub digest: [u8; 32],
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredResponse {
    at: Millis,
    digest: [u8; 32],
    /// The `data` of the response.
    #[serde(rename = "answer")]
    response: Value,
}

impl Record for StoredResponse {
    const TREE: Tree = Tree::Idempotency;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl Idempotency {
    fn storage_key(&self) -> Vec<u8> {
        [self.principal.as_bytes(), b"/", self.key.as_bytes()].concat()
    }

    /// Returns the first response, if there was one within 24 h.
    ///
    /// # Errors
    ///
    /// `IdempotencyConflict` if the key was used with another body.
    pub fn replay(&self, store: &StoreHandle, now: Millis) -> Result<Option<Value>, Error> {
        let Some(rec) = store.get(Tree::Idempotency, &self.storage_key())? else { return Ok(None) };
        let stored = StoredResponse::decode(&rec)?;
        if now.since(stored.at) >= RETENTION {
            return Ok(None);
        }
        if stored.digest != self.digest {
            return Err(reused());
        }
        Ok(Some(stored.response))
    }

    /// Returns the write to add to the batch that creates the resource.
    ///
    /// # Errors
    ///
    /// Fails if the response is too large to be stored.
    pub fn op(&self, now: Millis, response: Value) -> Result<Op, StoreError> {
        let stored = StoredResponse { at: now, digest: self.digest, response };
        Ok(Op::Put { tree: Tree::Idempotency, key: self.storage_key(), rec: stored.encode()? })
    }
}

/// First responses of an actor whose decisions are not durable yet.
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
    /// Returns the first response to the same request, stored or pending.
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

    /// Keeps the first response to a request until the decision that stores it is durable.
    pub fn insert(&mut self, request: &Idempotency, answer: Value, decision: u64) {
        let pending = PendingAnswer { digest: request.digest, answer, decision };
        self.0.insert((request.principal.clone(), request.key.clone()), pending);
    }

    /// Drops the responses that are stored, given the number of the last durable decision.
    pub fn settle(&mut self, durable: u64) {
        self.0.retain(|_, pending| pending.decision > durable);
    }
}

fn reused() -> Error {
    Error::new(Kind::IdempotencyConflict, "this Idempotency-Key was used with another body: take a new one")
}

/// Deletes expired responses, one page at a time beginning at `from`; returns the start of the next page.
///
/// # Errors
///
/// Returns the error of the store.
pub async fn sweep(store: &StoreHandle, now: Millis, from: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, StoreError> {
    let (ops, next) = page(store, Vec::new(), from, |kept| now.since(kept.at) >= RETENTION)?;
    if !ops.is_empty() {
        store.commit(Batch { ops, ..Batch::default() }).await?;
    }
    Ok(next)
}

/// Returns the writes that delete those responses of a principal for which `matches` returns true, one page at a time
/// beginning at `from`, and the start of the next page.
///
/// # Errors
///
/// Fails if the responses cannot be read.
pub fn delete_ops_of(
    store: &StoreHandle,
    principal: &str,
    from: Option<Vec<u8>>,
    matches: impl Fn(&Value) -> bool,
) -> Result<(Vec<Op>, Option<Vec<u8>>), StoreError> {
    page(store, format!("{principal}/").into_bytes(), from, |kept| matches(&kept.response))
}

/// Returns the deletions of a page's responses for which `matches` holds, and the start of the next page. A response that
/// cannot be decoded stays.
fn page(
    store: &StoreHandle,
    prefix: Vec<u8>,
    from: Option<Vec<u8>>,
    matches: impl Fn(&StoredResponse) -> bool,
) -> Result<(Vec<Op>, Option<Vec<u8>>), StoreError> {
    let mut entries = store.entries(Tree::Idempotency, prefix, PageRequest::of(PAGE).starting_at(from));
    let mut ops = Vec::new();
    for entry in entries.by_ref().take(PAGE) {
        let (key, rec) = entry?;
        if StoredResponse::decode(&rec).is_ok_and(|kept| matches(&kept)) {
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
    async fn a_response_is_replayed_for_a_day_for_the_same_body_only() {
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
        assert_eq!(stranger.replay(&store, now), Ok(None), "keys are scoped to the principal");
        let over = now.plus(RETENTION);
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
