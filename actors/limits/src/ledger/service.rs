//! Public interface of the ledger.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_store::{Journal, JournalOptions, JournalStats, StoreError, StoreHandle};

use super::actor::{LedgerActor, LedgerResources, draw};
use super::credit::{Credit, Payers};
use super::line::bounded;
use super::messages::{
    Abandoned, BudgetRequest, BudgetView, Budgets, BudgetsRequest, DayRequest, DayRows, Entry, Flush, Hold,
    HoldRequest, LedgerStatus, Query, Refusal, Reserve, RowsRequest, StatusRequest, UsageRow,
};
use super::period::Day;
use super::record::{self, HEAD, Head};
use super::row::Budget;
use super::usage;
use crate::published::Published;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind};

/// Time limit of a flush.
const FLUSH_LIMIT: Duration = Duration::from_secs(20);

/// Options of the ledger.
#[derive(Debug, Clone)]
pub struct LedgerOptions {
    /// Interval at which the journal is synced.
    pub sync_every: Duration,
    /// Interval at which changes are written to the store.
    pub checkpoint_every: Duration,
    /// Interval at which old records are removed from the store.
    pub sweep_every: Duration,
    /// Maximum number of concurrent reservations and queries.
    pub mailbox: usize,
    /// Options of the journal.
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
    credits: Arc<Published<Credit>>,
    clock: Clock,
    store: StoreHandle,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("journal", &self.journal.stats()).finish_non_exhaustive()
    }
}

impl Ledger {
    /// Opens the journal in `folder`, for the ledger's exclusive use, and starts the actor `ledger` in `group`. Blocks
    /// while listing the folder; the files are read when the actor starts.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be created, or the ledger's head cannot be read from the store.
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
        let credits = Arc::<Published<Credit>>::default();
        let resources = LedgerResources {
            store: Arc::clone(store),
            journal: Arc::clone(&journal),
            clock: clock.clone(),
            options,
            credits: Arc::clone(&credits),
        };
        let spec = ChildSpec::new("ledger", arbiter, move |control| LedgerActor::build(resources.clone(), control));
        Ok(Self {
            actor: group.start(spec.capacity(mailbox)),
            journal,
            credits,
            clock: clock.clone(),
            store: Arc::clone(store),
        })
    }

    /// Waits until everything is restored.
    pub async fn up(&self) {
        self.actor.up().await;
    }

    /// Returns whether a call has a budget at all; otherwise [`Hold::none`] is sufficient.
    pub fn needs_hold(key_limit: Option<u64>, model_limit: Option<u64>) -> bool {
        key_limit.is_some() || model_limit.is_some()
    }

    /// Reserves money for a call if all of its budgets are sufficient. Returns immediately if nothing has to be reserved.
    ///
    /// # Errors
    ///
    /// `Exhausted`, for the key if several budgets are; or `Unavailable` if the ledger is restarting, overloaded or cannot
    /// write.
    pub async fn reserve(&self, mut request: Reserve) -> Result<Hold, Refusal> {
        let shared = request.owner_limit.is_some() || request.team_limit.is_some();
        let budgeted = Self::needs_hold(request.key_limit, request.model_limit) || shared;
        if request.nanos == 0 || !budgeted {
            return Ok(Hold::none());
        }
        for id in [&mut request.key_id, &mut request.model_id, &mut request.owner, &mut request.team] {
            id.truncate(bounded(id).len());
        }
        if let Some(drawn) = draw(&self.credits, &self.journal, &request, &Payers::of(&request), self.clock.now()) {
            return drawn;
        }
        self.actor.ask(HoldRequest(request)).await.map_err(|error| Refusal::Error(error.into()))?
    }

    /// Records a finished call, and replaces its reservation by the actual cost. When this returns, the entry survives
    /// the end of the process. Waits neither for other callers nor for the disk.
    pub fn post(&self, entry: &Entry<'_>, hold: Hold) {
        // Failures are visible in the journal's figures.
        self.journal.append_or_buffer(&entry.line(hold.settle()).encode_for(entry.attribution, entry.images));
    }

    /// Records a call whose cost nobody learnt, and replaces its reservation by the estimated cost. The
    /// request that it was made for has an entry of its own.
    pub fn abandon(&self, call: &Abandoned<'_>, hold: Hold) {
        self.journal.append_or_buffer(&call.line(hold.settle()).encode_for(call.attribution, call.images));
    }

    /// Returns one budget for the current month, of a key, a model, an owner or a team.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the ledger is restarting or overloaded.
    pub async fn budget(&self, budget: Budget, id: &str, limit: Option<u64>) -> Result<BudgetView, Error> {
        self.actor.ask(BudgetRequest { budget, id: bounded(id).to_owned(), limit }).await?
    }

    /// Returns the rows of these days in one group, sorted by day, subject and model, including everything posted before.
    ///
    /// # Errors
    ///
    /// `Invalid` for more than 400 days or 10,000 rows; `Unavailable` if the ledger is restarting or overloaded.
    pub async fn usage(&self, query: Query) -> Result<Vec<UsageRow>, Error> {
        let fresh = self.actor.ask(RowsRequest(query.clone())).await??;
        let store = Arc::clone(&self.store);
        let read = tokio::task::spawn_blocking(move || usage::read(store.as_ref(), &query, fresh));
        read.await.unwrap_or_else(|_| Err(Error::new(Kind::Unavailable, "the ledger's read ended early: try again")))
    }

    /// Returns the rows of all keys on a day, including everything posted before, whatever their number.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the ledger is restarting or overloaded.
    pub async fn day(&self, day: Day) -> Result<DayRows, Error> {
        let (fresh, oldest_hold) = self.actor.ask(DayRequest(day)).await??;
        let store = Arc::clone(&self.store);
        let read = tokio::task::spawn_blocking(move || usage::read_day(store.as_ref(), day, fresh)).await;
        let rows = read.unwrap_or_else(|_| Err(Error::new(Kind::Unavailable, "the ledger's read ended early")))?;
        let settled = oldest_hold.is_none_or(|oldest| oldest > day) && Day::of(self.clock.now()) > day;
        Ok(DayRows { rows, settled })
    }

    /// Returns the first day of which there are rows, including everything posted before, or on which a call was admitted
    /// that still holds money and may be charged to it.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the ledger is restarting or cannot write.
    pub async fn first_day(&self) -> Result<Option<Day>, Error> {
        // Holds come first: what is posted meanwhile has rows.
        let (_, oldest_hold) = self.actor.ask(DayRequest(Day::of(self.clock.now()))).await??;
        self.flush().await?;
        let store = Arc::clone(&self.store);
        let read = tokio::task::spawn_blocking(move || usage::first_day(store.as_ref())).await;
        let first = read.unwrap_or_else(|_| Err(Error::new(Kind::Unavailable, "the ledger's read ended early")))?;
        Ok(first.into_iter().chain(oldest_hold).min())
    }

    /// Returns the budgets of a key and of a model for the current month.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the ledger is restarting or overloaded.
    pub async fn budgets(
        &self,
        key_id: &str,
        key_limit: Option<u64>,
        model_id: &str,
        model_limit: Option<u64>,
    ) -> Result<Budgets, Error> {
        let (key_id, model_id) = (bounded(key_id).to_owned(), bounded(model_id).to_owned());
        self.actor.ask(BudgetsRequest { key_id, key_limit, model_id, model_limit }).await?
    }

    /// Returns current figures.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the ledger is restarting or overloaded.
    pub async fn status(&self) -> Result<LedgerStatus, Error> {
        self.actor.ask(StatusRequest).await?
    }

    /// Returns the journal's figures, even if the actor is not running.
    pub fn journal(&self) -> JournalStats {
        self.journal.stats()
    }

    /// Writes everything posted so far to the store; used before shutdown and before a backup.
    ///
    /// # Errors
    ///
    /// `Unavailable` if that failed: the entries are then in the journal, and written later.
    pub async fn flush(&self) -> Result<(), Error> {
        self.actor.ask_within(FLUSH_LIMIT, Flush).await?
    }
}

/// Converts US dollars to billionths, rounded; 0 for negative values and NaN.
pub fn nanos_of_usd(usd: f64) -> u64 {
    // Casts from float saturate, and convert NaN to 0.
    (usd * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_converted_to_billionths() {
        for (usd, nanos) in [(0.0, 0), (12.5, 12_500_000_000), (0.000_000_001, 1), (-1.0, 0), (f64::NAN, 0)] {
            assert_eq!(nanos_of_usd(usd), nanos, "{usd}");
        }
        assert_eq!(nanos_of_usd(f64::INFINITY), u64::MAX);
        assert_eq!(nanos_of_usd(0.1 + 0.2), 300_000_000);
    }
}
