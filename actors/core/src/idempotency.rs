//! `Idempotency-Key`: the first answer is stored in the batch that creates what it tells of, and given again for 24 h.
//!
//! Whoever creates something for a caller asks [`Idempotency::replay`] first and adds [`Idempotency::op`] to its batch.
//! Both in one actor's turn: so of two that race, the second finds the first one's answer.

use std::time::Duration;

use muster_store::{Batch, Encoding, Op, Order, Record, Scan, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Kind, Millis};

/// How long an answer is given again.
pub const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);

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
            let message = "this Idempotency-Key was used with another body: take a new one";
            return Err(Error::new(Kind::IdempotencyConflict, message));
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

/// Deletes answers past their time, a page at a time from `from`; gives where to go on.
///
/// # Errors
/// The store refuses.
pub async fn sweep(store: &StoreHandle, now: Millis, from: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, StoreError> {
    let scan = Scan { prefix: Vec::new(), from, limit: 500, order: Order::Ascending };
    let page = store.scan(Tree::Idempotency, &scan)?;
    let over = |rec| Kept::decode(rec).is_ok_and(|kept| now.since(kept.at) >= KEPT_FOR);
    let old = page.items.iter().filter(|(_, rec)| over(rec));
    let batch = old.fold(Batch::default(), |batch, (key, _)| batch.and_delete(Tree::Idempotency, key.clone()));
    if !batch.ops.is_empty() {
        store.commit(batch).await?;
    }
    Ok(page.next)
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
    let scan = Scan { prefix: format!("{principal}/").into_bytes(), from, limit: 500, order: Order::Ascending };
    let page = store.scan(Tree::Idempotency, &scan)?;
    let ours = page.items.into_iter().filter(|(_, rec)| Kept::decode(rec).is_ok_and(|kept| sort(&kept.answer)));
    Ok((ours.map(|(key, _)| Op::Delete { tree: Tree::Idempotency, key }).collect(), page.next))
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
}
