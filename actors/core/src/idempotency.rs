//! `Idempotency-Key`: the first response is stored in the batch that creates its resource, and returned again for 24 h.
//!
//! A feature that creates something for a caller calls [`Idempotency::replay`] first and adds [`Idempotency::op`] to
//! its batch, both in the same message handler. Of two concurrent requests, the second one therefore finds the response
//! to the first.

use std::collections::HashMap;
use std::time::Duration;

use muster_store::{Batch, Encoding, Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::de::DeserializeOwned;
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

/// First responses that an actor keeps in memory, each with the digest of its request and a mark by which it is removed.
#[derive(Debug)]
struct Responses<T, M>(HashMap<(String, String), ([u8; 32], T, M)>);

impl<T, M> Default for Responses<T, M> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Clone, M> Responses<T, M> {
    /// Returns the first response to a request among those whose mark is valid.
    fn find(&self, request: &Idempotency, valid: impl Fn(&M) -> bool) -> Result<Option<T>, Error> {
        match self.0.get(&(request.principal.clone(), request.key.clone())) {
            Some((digest, response, mark)) if valid(mark) => {
                if *digest == request.digest {
                    Ok(Some(response.clone()))
                } else {
                    Err(reused())
                }
            }
            _ => Ok(None),
        }
    }

    fn insert(&mut self, request: &Idempotency, response: T, mark: M) {
        self.0.insert((request.principal.clone(), request.key.clone()), (request.digest, response, mark));
    }

    fn retain(&mut self, valid: impl Fn(&M) -> bool) {
        self.0.retain(|_, (_, _, mark)| valid(mark));
    }
}

/// First responses of an actor whose decisions are not durable yet, in front of those in the store. `T` is stored as
/// JSON, by the `data` of the response.
#[derive(Debug)]
pub struct PendingResponses<T = Value>(Responses<T, u64>);

impl<T> Default for PendingResponses<T> {
    fn default() -> Self {
        Self(Responses::default())
    }
}

impl<T: Clone + DeserializeOwned> PendingResponses<T> {
    /// Returns the first response to the same request, stored or pending.
    ///
    /// # Errors
    ///
    /// `IdempotencyConflict` if the key was used with another body; `Internal` if the stored response cannot be decoded.
    pub fn replay(&self, request: &Idempotency, store: &StoreHandle, now: Millis) -> Result<Option<T>, Error> {
        if let Some(pending) = self.0.find(request, |_| true)? {
            return Ok(Some(pending));
        }
        let Some(stored) = request.replay(store, now)? else { return Ok(None) };
        serde_json::from_value(stored).map(Some).map_err(|error| {
            tracing::error!(%error, "a stored first response could not be decoded");
            Error::new(Kind::Internal, "the first response could not be decoded")
        })
    }

    /// Keeps the first response to a request until the decision that stores it is durable.
    pub fn insert(&mut self, request: &Idempotency, response: T, decision: u64) {
        self.0.insert(request, response, decision);
    }

    /// Removes the responses that are stored, given the number of the last durable decision.
    pub fn settle(&mut self, durable: u64) {
        self.0.retain(|decision| *decision > durable);
    }
}

/// First responses that must not be stored, since they contain a secret. They are kept in memory only: until they expire
/// or the actor ends. At most [`RecentResponses::CAPACITY`] are kept, and of one principal [`RecentResponses::SHARE`], so
/// that none keeps the responses of another out; the responses to further requests are not kept.
#[derive(Debug)]
pub struct RecentResponses<T>(Responses<T, Millis>);

impl<T> Default for RecentResponses<T> {
    fn default() -> Self {
        Self(Responses::default())
    }
}

impl<T: Clone> RecentResponses<T> {
    /// Largest number of responses.
    pub const CAPACITY: usize = 10_000;
    /// Largest number of responses of one principal.
    pub const SHARE: usize = 1_000;

    /// Returns the first response to the same request, if it was within [`RETENTION`].
    ///
    /// # Errors
    ///
    /// `IdempotencyConflict` if the key was used with another body.
    pub fn replay(&self, request: &Idempotency, now: Millis) -> Result<Option<T>, Error> {
        self.0.find(request, |at| now.since(*at) < RETENTION)
    }

    /// Keeps the first response to a request, unless as many are kept as may be.
    pub fn insert(&mut self, request: &Idempotency, response: T, now: Millis) {
        self.0.retain(|at| now.since(*at) < RETENTION);
        let own = self.0.0.keys().filter(|(principal, _)| *principal == request.principal).count();
        if self.0.0.len() < Self::CAPACITY && own < Self::SHARE {
            self.0.insert(request, response, now);
        }
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
        let first = Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [1; 32] };
        assert_eq!(first.replay(&store, now), Ok(None));
        let op = first.op(now, json!({ "id": "inc_1" })).unwrap();
        store.commit(Batch { ops: vec![op], ..Batch::default() }).await.unwrap();
        assert_eq!(first.replay(&store, now), Ok(Some(json!({ "id": "inc_1" }))));
        let other = Idempotency { digest: [2; 32], ..first.clone() };
        assert_eq!(other.replay(&store, now).unwrap_err().kind, Kind::IdempotencyConflict);
        let stranger = Idempotency { principal: "usr_2".into(), ..other };
        assert_eq!(stranger.replay(&store, now), Ok(None), "keys are scoped to the principal");
        let over = now.plus(RETENTION);
        assert_eq!(first.replay(&store, over), Ok(None));
        sweep(&store, over, None).await.unwrap();
        assert_eq!(store.get(Tree::Idempotency, b"usr_1/k").unwrap(), None);
    }

    fn request(digest: u8) -> Idempotency {
        Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [digest; 32] }
    }

    const NOW: Millis = Millis(1_767_225_600_000);

    #[test]
    fn a_response_that_is_not_durable_yet_is_replayed_for_the_same_body_only() {
        let store: StoreHandle = Arc::new(MemStore::default());
        let mut pending = PendingResponses::default();
        pending.insert(&request(1), json!(7), 3);
        pending.settle(2);
        assert_eq!(pending.replay(&request(1), &store, NOW), Ok(Some(json!(7))));
        assert_eq!(pending.replay(&request(2), &store, NOW).unwrap_err().kind, Kind::IdempotencyConflict);
        pending.settle(3);
        assert_eq!(pending.replay(&request(1), &store, NOW), Ok(None), "it is in the store or was lost");
    }

    #[tokio::test]
    async fn a_typed_response_is_read_from_the_store_once_it_is_not_pending() {
        let store: StoreHandle = Arc::new(MemStore::default());
        let pending = PendingResponses::<u64>::default();
        for (stored, expected) in [(json!(7), Ok(Some(7))), (json!("seven"), Err(Kind::Internal))] {
            let op = request(1).op(NOW, stored).unwrap();
            store.commit(Batch { ops: vec![op], ..Batch::default() }).await.unwrap();
            assert_eq!(pending.replay(&request(1), &store, NOW).map_err(|error| error.kind), expected);
        }
    }

    #[test]
    fn a_response_in_memory_expires_and_their_number_is_bounded() {
        let mut recent = RecentResponses::default();
        recent.insert(&request(1), 7, NOW);
        assert_eq!(recent.replay(&request(1), Millis(NOW.0 + 1)), Ok(Some(7)));
        assert_eq!(recent.replay(&request(2), NOW).unwrap_err().kind, Kind::IdempotencyConflict);
        let over = NOW.plus(RETENTION);
        assert_eq!((recent.replay(&request(1), over), recent.replay(&request(2), over)), (Ok(None), Ok(None)));
        let numbered = |n: usize| Idempotency { key: n.to_string(), ..request(1) };
        for n in 0..=RecentResponses::<usize>::SHARE {
            recent.insert(&numbered(n), n, over);
        }
        let last = RecentResponses::<usize>::SHARE - 1;
        assert_eq!(recent.replay(&numbered(last), over), Ok(Some(last)));
        assert_eq!(recent.replay(&numbered(last + 1), over), Ok(None));
        let other = Idempotency { principal: "usr_2".into(), ..request(3) };
        recent.insert(&other, 7, over);
        assert_eq!(recent.replay(&other, over), Ok(Some(7)), "one principal keeps no other out");
    }
}
