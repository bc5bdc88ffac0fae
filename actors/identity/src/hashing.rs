//! The password hashing pool: a fixed number of hashes at a time, with a bounded queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use muster_auth::password::{Hasher, PasswordMatch};
use tokio::sync::Semaphore;

use super::users::Phc;
use muster_core::{Error, Kind};

/// Largest number of passwords that wait for a core.
const QUEUE: usize = 64;

/// Result of a password check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PasswordCheck {
    Wrong,
    /// The password is correct. Contains a new hash if the stored one has outdated parameters.
    Correct(Option<Phc>),
}

/// Hashes passwords off the threads of requests and actors.
#[derive(Debug, Clone)]
pub(super) struct HashingPool(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    hasher: Hasher,
    /// A password hash to compare with if there is no account, so that both cases take the same time.
    dummy: Phc,
    cores: Arc<Semaphore>,
    waiting: AtomicUsize,
    done: AtomicU64,
}

/// A place in the queue.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl HashingPool {
    /// Creates a pool that computes `cores` hashes at a time.
    ///
    /// # Errors
    /// The parameters are invalid, or the system has no random numbers.
    pub fn new(hasher: Hasher, cores: usize) -> Result<Self, Error> {
        let dummy = Phc(hasher.dummy().map_err(internal)?);
        let cores = Arc::new(Semaphore::new(cores.max(1)));
        Ok(Self(Arc::new(Pool { hasher, dummy, cores, waiting: AtomicUsize::new(0), done: AtomicU64::new(0) })))
    }

    /// Returns the number of hashes computed or compared since the start.
    pub fn done(&self) -> u64 {
        self.0.done.load(Ordering::Relaxed)
    }

    /// Hashes a password.
    ///
    /// # Errors
    /// `Unavailable` if the queue is full.
    pub async fn hash(&self, password: String) -> Result<Phc, Error> {
        self.run(move |pool| hash(&pool.hasher, &password)).await?
    }

    /// Compares a password with a user's hash, or with a dummy hash if there is no user: both take the same time.
    ///
    /// # Errors
    /// `Unavailable` if the queue is full.
    pub async fn check(&self, password: String, stored: Option<Phc>) -> Result<PasswordCheck, Error> {
        self.run(move |pool| {
            let known = stored.is_some();
            let stored = stored.unwrap_or_else(|| pool.dummy.clone());
            match pool.hasher.verify(&password, &stored.0) {
                PasswordMatch::Match if known => Ok(PasswordCheck::Correct(None)),
                PasswordMatch::MatchRehash if known => Ok(PasswordCheck::Correct(Some(hash(&pool.hasher, &password)?))),
                _ => Ok(PasswordCheck::Wrong),
            }
        })
        .await?
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce(&Pool) -> T + Send + 'static) -> Result<T, Error> {
        let pool = Arc::clone(&self.0);
        if pool.waiting.fetch_add(1, Ordering::AcqRel) >= QUEUE {
            pool.waiting.fetch_sub(1, Ordering::AcqRel);
            let message = "too many users are logging in at the moment: try again";
            return Err(Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(1)));
        }
        let place = Place(&self.0.waiting);
        let core = Arc::clone(&pool.cores).acquire_owned().await.map_err(internal)?;
        drop(place);
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work is done: a caller that stops waiting does not free a core.
            let _core = core;
            pool.done.fetch_add(1, Ordering::Relaxed);
            work(&pool)
        });
        done.await.map_err(internal)
    }
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::new(Kind::Internal, error.to_string())
}

fn hash(hasher: &Hasher, password: &str) -> Result<Phc, Error> {
    hasher.hash(password).map(Phc).map_err(internal)
}
