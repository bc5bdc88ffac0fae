//! The way in.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_store::{Journal, JournalOptions, JournalStats, StoreError, StoreHandle};

use super::actor::{LedgerActor, Parts};
use super::line::bounded;
use super::messages::{
    AskBudgets, AskHold, AskRows, AskStatus, Budgets, Entry, Flush, Hold, LedgerStatus, Query, Refusal, Reserve,
    UsageRow,
};
use super::record::{self, HEAD, Head};
use super::usage;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind};

/// Longest wait for everything to be in the store.
const FLUSH_LIMIT: Duration = Duration::from_secs(20);

/// Bounds of the ledger.
#[derive(Debug, Clone)]
pub struct LedgerOptions {
    /// How often what was written is made to survive a power cut.
    pub sync_every: Duration,
    /// How often what changed is carried into the store.
    pub checkpoint_every: Duration,
    /// How often the store is cleared of what is too old.
    pub sweep_every: Duration,
    /// Most reservations and questions that wait.
    pub mailbox: usize,
    pub journal: JournalOptions,
}

impl Default for LedgerOptions {
    fn default() -> Self {
        Self {
            sync_every: Duration::from_millis(100),
            checkpoint_every: Duration::from_secs(5),
            sweep_every: Duration::from_secs(3_600),
            mailbox: 4_096,
            journal: JournalOptions::default(),
        }
    }
}

/// The ledger. Cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    actor: Handle<LedgerActor>,
    journal: Arc<Journal>,
    store: StoreHandle,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("journal", &self.journal.stats()).finish_non_exhaustive()
    }
}

impl Ledger {
    /// Opens the journal in `folder`, which is the ledger's own, and starts the actor `ledger` in `group`. Blocking, for
    /// the few files of the folder; they are read by the actor's start.
    ///
    /// # Errors
    /// Where the folder cannot be made, or the store's head of the ledger cannot be read.
    pub fn start(
        group: &Group,
        arbiter: ArbiterHandle,
        store: &StoreHandle,
        folder: &Path,
        clock: &Clock,
        options: LedgerOptions,
    ) -> Result<Self, StoreError> {
        let head: Option<Head> = record::read(store.as_ref(), HEAD)?;
        let above = head.map_or(0, |head| head.line);
        let journal = Arc::new(Journal::open(folder, above, options.journal.clone())?);
        let mailbox = options.mailbox;
        let parts = Parts { store: Arc::clone(store), journal: Arc::clone(&journal), clock: clock.clone(), options };
        let spec = ChildSpec::new("ledger", arbiter, move |control| LedgerActor::build(parts.clone(), control));
        Ok(Self { actor: group.start(spec.capacity(mailbox)), journal, store: Arc::clone(store) })
    }

    /// Waits until everything was read back.
    pub async fn up(&self) {
        self.actor.up().await;
    }

    /// Whether a call has a budget at all; else [`Hold::none`] will do.
    pub fn needs_hold(key_limit: Option<u64>, model_limit: Option<u64>) -> bool {
        key_limit.is_some() || model_limit.is_some()
    }

    /// Sets money aside for a call, if both budgets have room for it. Nothing is asked where nothing is to be set aside.
    ///
    /// # Errors
    /// `Exhausted`, of the key where both are; or `Unavailable` where the ledger is restarting, overloaded or cannot write.
    pub async fn reserve(&self, mut ask: Reserve) -> Result<Hold, Refusal> {
        if ask.nanos == 0 || !Self::needs_hold(ask.key_limit, ask.model_limit) {
            return Ok(Hold::none());
        }
        for id in [&mut ask.key_id, &mut ask.model_id] {
            id.truncate(bounded(id).len());
        }
        self.actor.ask(AskHold(ask)).await.map_err(|error| Refusal::Error(error.into()))?
    }

    /// Counts a call that has ended, and puts its real cost in the place of what was set aside. When this returns, the
    /// entry outlives the process. Never waits for another, nor for the disk.
    pub fn post(&self, entry: &Entry<'_>, hold: Hold) {
        // What becomes of it is in the journal's figures.
        self.journal.append_or_buffer(&entry.line(hold.settle()).encode());
    }

    /// The rows of these days, sorted by day, key and model, with everything that was posted before.
    ///
    /// # Errors
    /// `Invalid` for more than 400 days or 10,000 rows; `Unavailable` where the ledger is restarting or overloaded.
    pub async fn usage(&self, query: Query) -> Result<Vec<UsageRow>, Error> {
        let fresh = self.actor.ask(AskRows(query.clone())).await??;
        let store = Arc::clone(&self.store);
        let read = tokio::task::spawn_blocking(move || usage::read(store.as_ref(), &query, fresh));
        read.await.unwrap_or_else(|_| Err(Error::new(Kind::Unavailable, "the ledger's read ended early: try again")))
    }

    /// How the budgets of a key and of a model stand this month.
    ///
    /// # Errors
    /// `Unavailable` where the ledger is restarting or overloaded.
    pub async fn budgets(
        &self,
        key_id: &str,
        key_limit: Option<u64>,
        model_id: &str,
        model_limit: Option<u64>,
    ) -> Result<Budgets, Error> {
        let (key_id, model_id) = (bounded(key_id).to_owned(), bounded(model_id).to_owned());
        self.actor.ask(AskBudgets { key_id, key_limit, model_id, model_limit }).await?
    }

    /// # Errors
    /// `Unavailable` where the ledger is restarting or overloaded.
    pub async fn status(&self) -> Result<LedgerStatus, Error> {
        self.actor.ask(AskStatus).await?
    }

    /// The journal's figures, whether or not the actor runs.
    pub fn journal(&self) -> JournalStats {
        self.journal.stats()
    }

    /// Carries everything posted so far into the store: before the end, and before a backup.
    ///
    /// # Errors
    /// `Unavailable` where that failed: it is then in the journal, and carried over later.
    pub async fn flush(&self) -> Result<(), Error> {
        self.actor.ask_within(FLUSH_LIMIT, Flush).await?
    }
}

/// Dollars as billionths, rounded; nothing for what is negative or no number.
pub fn nanos_of_usd(usd: f64) -> u64 {
    // A cast from float saturates, and takes NaN for 0.
    (usd * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_become_billionths() {
        for (usd, nanos) in [(0.0, 0), (12.5, 12_500_000_000), (0.000_000_001, 1), (-1.0, 0), (f64::NAN, 0)] {
            assert_eq!(nanos_of_usd(usd), nanos, "{usd}");
        }
        assert_eq!(nanos_of_usd(f64::INFINITY), u64::MAX);
        assert_eq!(nanos_of_usd(0.1 + 0.2), 300_000_000);
    }
}
