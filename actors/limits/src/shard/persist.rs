//! Reads and writes of buckets outside of the actor, and the final writes of a shard.

use std::sync::Arc;
use std::time::Duration;

use muster_store::StoreError;

use super::{Entry, Event, RateShard};
use crate::account::Account;
use crate::log::Spend;
use crate::record;
use crate::record::Stored;
use crate::subject::BucketKey;
use muster_core::Error;

/// Time limit of a read or write. Shorter than a caller's time limit, so that the error states the reason.
const DISK_LIMIT: Duration = Duration::from_secs(4);
/// Maximum number of concurrent exact writes, which leaves capacity in the store's queue.
const MAX_FLUSHES: usize = 64;

impl RateShard {
    /// Creates the entry of a bucket that is not in memory.
    pub(super) fn open(&mut self, key: &BucketKey, now: u64) -> Result<(), Error> {
        self.evict_for(key)?;
        if key.subject.is_stored() {
            self.entries.insert(key.clone(), Entry::Loading(Vec::new()));
            self.load(key.clone());
        } else {
            self.insert(key.clone(), Account::in_memory(now));
        }
        Ok(())
    }

    fn insert(&mut self, key: BucketKey, mut account: Account) {
        account.place = self.pool(&key).insert(key.clone());
        self.entries.insert(key, Entry::Ready(Box::new(account)));
    }

    fn load(&self, key: BucketKey) {
        let (store, events) = (Arc::clone(&self.store), self.events.clone());
        actix_rt::spawn(async move {
            let wanted = key.clone();
            let read = tokio::task::spawn_blocking(move || record::read(store.as_ref(), &wanted));
            let found = match tokio::time::timeout(DISK_LIMIT, read).await {
                Ok(Ok(found)) => found,
                Ok(Err(_)) => Err(StoreError::Io("a read of the limits ended early".to_owned())),
                Err(_) => Err(StoreError::Busy),
            };
            // Fails if the shard is gone, which does not need the result.
            let _ = events.send(Event::Loaded(key, found));
        });
    }

    pub(super) fn loaded(&mut self, key: BucketKey, found: Result<Option<Stored>, StoreError>) {
        let Some(Entry::Loading(deferred)) = self.entries.remove(&key) else { return };
        match found {
            Ok(stored) => {
                self.insert(key, Account::restore(stored, self.now()));
                deferred.into_iter().for_each(|work| work(Ok(&mut *self)));
            }
            Err(error) => {
                tracing::error!(subject = ?key.subject, category = key.category.name(), %error, "could not read limits");
                let error = Error::from(error);
                deferred.into_iter().for_each(|work| work(Err(error.clone())));
            }
        }
    }

    /// Requests the next lease when half of the current one is used, so that admissions seldom wait. While draining,
    /// every change is written without a lease.
    pub(super) fn renew(&mut self, key: &BucketKey) {
        let draining = self.draining;
        let Some(account) = self.account(key) else { return };
        if draining && !account.in_flight() && !account.is_exact() {
            self.write(key, Spend::default());
        } else if account.wants_renewal() {
            let grant = account.grant();
            self.write(key, grant);
        }
    }

    pub(super) fn write(&mut self, key: &BucketKey, lease: Spend) {
        let now = self.now();
        let Some(account) = self.account(key) else { return };
        let commit = match account.begin_write(key, lease, now) {
            Ok(batch) => self.store.commit(batch),
            Err(error) => Box::pin(async { Err(error) }),
        };
        let (key, events) = (key.clone(), self.events.clone());
        actix_rt::spawn(async move {
            let outcome = match tokio::time::timeout(DISK_LIMIT, commit).await {
                Ok(outcome) => outcome.map_err(Error::from),
                Err(_) => Err(StoreError::Busy.into()),
            };
            let _ = events.send(Event::Written(key, outcome));
        });
    }

    pub(super) fn written(&mut self, key: &BucketKey, outcome: Result<(), Error>) {
        let Some(account) = self.account(key) else { return };
        let flushed = std::mem::take(&mut account.flushing);
        match outcome {
            Ok(()) => {
                account.written();
                if account.leaving && account.is_exact() {
                    self.remove(key);
                } else {
                    self.renew(key);
                }
            }
            Err(error) => {
                tracing::warn!(subject = ?key.subject, category = key.category.name(), %error, "could not write limits");
                account.leaving = false;
                account.not_written(&error);
            }
        }
        if flushed {
            self.flushes -= 1;
            self.flush_some();
        }
    }

    /// Removes a bucket from memory.
    pub(super) fn remove(&mut self, key: &BucketKey) {
        if let Some(Entry::Ready(account)) = self.entries.remove(key) {
            self.pool(key).remove(account.place);
        }
    }

    /// Writes some of the buckets queued for an exact write.
    pub(super) fn flush_some(&mut self) {
        while self.flushes < MAX_FLUSHES {
            let Some(key) = self.flushing.pop_front() else { return };
            let Some(account) = self.account(&key) else { continue };
            if !account.in_flight() && (account.leaving || !account.is_exact()) {
                account.flushing = true;
                self.flushes += 1;
                self.write(&key, Spend::default());
            }
        }
    }

    pub(super) fn drain(&mut self) {
        self.draining = true;
        self.flushing = self.principals.oldest().cloned().collect();
        self.flush_some();
    }

    /// Queues everything that is not exact when the shard ends. Nobody waits for the result; the store flushes its
    /// queue when it is closed, and a remaining lease is charged.
    pub(super) fn write_all_exactly(&mut self) {
        let now = self.now();
        for (key, entry) in &mut self.entries {
            let Entry::Ready(account) = entry else { continue };
            if account.is_exact() {
                continue;
            }
            match account.begin_write(key, Spend::default(), now) {
                // A commit is queued by the call; dropping its future does not cancel it.
                Ok(batch) => drop(self.store.commit(batch)),
                Err(error) => tracing::error!(subject = ?key.subject, %error, "could not write limits"),
            }
        }
    }
}
