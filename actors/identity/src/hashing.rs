//! The password hashing pool: a fixed number of hashes at a time in memory that is used again, with a bounded queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_queue::ArrayQueue;
use muster_auth::password::{Hasher, PasswordMatch, PasswordMemory};
use tokio::sync::Semaphore;

use super::users::Phc;
use muster_core::{Error, Kind};

/// Largest number of passwords that wait for a core.
const QUEUE: usize = 64;
/// Further places for those who have logged in from the same source before.
const RESERVED: usize = 16;

/// Whose password waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Priority {
    /// That of a source which the account knows. Uses the reserved places too.
    Known,
    /// That of anybody else.
    Other,
}

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
    /// Memory of hashes that are not being computed, one for each core at most. Blocks of this size that are allocated
    /// and freed on changing threads stay in the allocator's arenas of each of them.
    memory: ArrayQueue<PasswordMemory>,
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

impl Pool {
    /// Runs `work` in memory of the pool.
    fn with_memory<T>(&self, work: impl FnOnce(&mut PasswordMemory) -> T) -> T {
        let mut memory = self.memory.pop().unwrap_or_default();
        let done = work(&mut memory);
        // A hash of other parameters may have needed more.
        memory.shrink_to(self.hasher);
        // There are as many places as cores, so there is one.
        let _ = self.memory.push(memory);
        done
    }

    fn hash(&self, password: &str) -> Result<Phc, Error> {
        self.with_memory(|memory| self.hasher.hash_in(password, memory)).map(Phc).map_err(internal)
    }
}

impl HashingPool {
    /// Creates a pool that computes `cores` hashes at a time.
    ///
    /// # Errors
    /// The parameters are invalid, or the system has no random numbers.
    pub fn new(hasher: Hasher, cores: usize) -> Result<Self, Error> {
        let dummy = Phc(hasher.dummy().map_err(internal)?);
        let cores = cores.max(1);
        Ok(Self(Arc::new(Pool {
            hasher,
            dummy,
            cores: Arc::new(Semaphore::new(cores)),
            memory: ArrayQueue::new(cores),
            waiting: AtomicUsize::new(0),
            done: AtomicU64::new(0),
        })))
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
        self.run(Priority::Known, move |pool| pool.hash(&password)).await?
    }

    /// Compares a password with a user's hash, or with a dummy hash if there is no user: both take the same time.
    ///
    /// # Errors
    /// `Unavailable` if the queue is full.
    pub async fn check(
        &self,
        password: String,
        stored: Option<Phc>,
        priority: Priority,
    ) -> Result<PasswordCheck, Error> {
        self.run(priority, move |pool| {
            let known = stored.is_some();
            let stored = stored.as_ref().unwrap_or(&pool.dummy);
            match pool.with_memory(|memory| pool.hasher.verify_in(&password, &stored.0, memory)) {
                PasswordMatch::Match if known => Ok(PasswordCheck::Correct(None)),
                PasswordMatch::MatchRehash if known => Ok(PasswordCheck::Correct(Some(pool.hash(&password)?))),
                _ => Ok(PasswordCheck::Wrong),
            }
        })
        .await?
    }

    async fn run<T: Send + 'static>(
        &self,
        priority: Priority,
        work: impl FnOnce(&Pool) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let pool = Arc::clone(&self.0);
        let places = if priority == Priority::Known { QUEUE + RESERVED } else { QUEUE };
        if pool.waiting.fetch_add(1, Ordering::AcqRel) >= places {
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
