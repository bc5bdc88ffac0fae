//! `Idempotency-Key`: the first response is stored in the batch that creates its resource, and returned again for 24 h.
//!
//! A feature that creates something for a caller calls [`Idempotency::replay`] first and adds [`Idempotency::op`] to
//! its batch, both in the same message handler. Of two concurrent requests, the second one therefore finds the response
//! to the first.

use std::time::Duration;

use muster_store::{Batch, Encoding, Op, Order, Record, Scan, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Kind, Millis};

/// Time for which a response is kept.
pub const RETENTION: Duration = Duration::from_secs(24 * 3600);

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
            let message = "this Idempotency-Key was used with another body: use a new key";
            return Err(Error::new(Kind::IdempotencyConflict, message));
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

/// Deletes expired responses, one page at a time beginning at `from`; returns the start of the next page.
///
/// # Errors
///
/// Returns the error of the store.
pub async fn sweep(store: &StoreHandle, now: Millis, from: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, StoreError> {
    let scan = Scan { prefix: Vec::new(), from, limit: 500, order: Order::Ascending };
    let page = store.scan(Tree::Idempotency, &scan)?;
    let over = |rec| StoredResponse::decode(rec).is_ok_and(|stored| now.since(stored.at) >= RETENTION);
    let old = page.items.iter().filter(|(_, rec)| over(rec));
    let batch = old.fold(Batch::default(), |batch, (key, _)| batch.and_delete(Tree::Idempotency, key.clone()));
    if !batch.ops.is_empty() {
        store.commit(batch).await?;
    }
    Ok(page.next)
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
    let scan = Scan { prefix: format!("{principal}/").into_bytes(), from, limit: 500, order: Order::Ascending };
    let page = store.scan(Tree::Idempotency, &scan)?;
    let ours = page
        .items
        .into_iter()
        .filter(|(_, rec)| StoredResponse::decode(rec).is_ok_and(|stored| matches(&stored.response)));
    Ok((ours.map(|(key, _)| Op::Delete { tree: Tree::Idempotency, key }).collect(), page.next))
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
}
