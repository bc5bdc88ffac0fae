//! Eviction of buckets from memory and from the store.

use std::sync::Arc;
use std::time::Duration;

use muster_store::StoreError;

use super::RateShard;
use crate::collect;
use crate::subject::BucketKey;
use muster_core::{Error, Kind};

/// Maximum number of buckets examined in one sweep, to keep it short.
const SWEEP: usize = 1_024;

impl RateShard {
    /// Evicts buckets that were not used for a while: anonymous ones when nothing of them counts any more, stored ones
    /// once the store contains their exact state.
    pub(super) fn sweep(&mut self) {
        let now = self.now();
        let idle = u64::try_from(self.options.idle.as_millis()).unwrap_or(u64::MAX);
        for key in self.anonymous.oldest().take(SWEEP).cloned().collect::<Vec<_>>() {
            let Some(account) = self.account(&key).filter(|account| account.used_at + idle <= now) else { break };
            account.bucket.log.advance(now);
            if account.bucket.log.is_empty() {
                self.remove(&key);
            }
        }
        for key in self.principals.oldest().take(SWEEP).cloned().collect::<Vec<_>>() {
            let Some(account) = self.account(&key).filter(|account| account.used_at + idle <= now) else { break };
            if account.bucket.is_settled(now) {
                self.evict(&key);
            }
        }
        self.flush_some();
    }

    /// Removes expired buckets from the store, outside of the actor.
    pub(super) fn collect(&self, started: u64) {
        let (store, now) = (Arc::clone(&self.store), self.now());
        actix_rt::spawn(async move {
            let reader = Arc::clone(&store);
            let rounds = tokio::task::spawn_blocking(move || collect::rounds(reader.as_ref(), started, now)).await;
            let rounds = rounds.unwrap_or_else(|_| Err(StoreError::Io("a read of the limits ended early".to_owned())));
            match rounds {
                Ok(rounds) => {
                    for batch in rounds {
                        match store.commit(batch).await {
                            // The bucket was used again meanwhile.
                            Ok(()) | Err(StoreError::Conflict) => {}
                            Err(error) => return tracing::warn!(%error, "could not remove expired limits"),
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "could not remove expired limits"),
            }
        });
    }

    fn evict(&mut self, key: &BucketKey) {
        let now = self.now();
        let Some(account) = self.account(key).filter(|account| !account.in_flight() && !account.leaving) else {
            return;
        };
        account.withdraw_allowances();
        account.bucket.log.advance(now);
        if account.is_exact() && !account.bucket.log.is_empty() {
            return self.remove(key);
        }
        account.leaving = true;
        self.flushing.push_back(key.clone());
    }

    /// Makes room for another bucket. An anonymous one replaces the least recently used; for a stored one the eviction
    /// of another is started, which takes a write, so there may temporarily be twice as many.
    pub(super) fn evict_for(&mut self, newcomer: &BucketKey) -> Result<(), Error> {
        if !newcomer.subject.is_stored() {
            let full = self.anonymous.len() >= self.options.max_anonymous.max(1);
            let oldest = self.anonymous.oldest().next().filter(|_| full).cloned();
            oldest.into_iter().for_each(|key| self.remove(&key));
            return Ok(());
        }
        let most = self.options.max_principals.max(1);
        if self.entries.len() - self.anonymous.len() >= most * 2 {
            let error = Error::new(Kind::Unavailable, "too many keys are in use at once: try again");
            return Err(error.retry_in(Duration::from_secs(1)));
        }
        if self.principals.len() >= most {
            let leaving = self.principals.oldest().take(8).cloned().collect::<Vec<_>>();
            leaving.iter().for_each(|key| self.evict(key));
            self.flush_some();
        }
        Ok(())
    }
}
