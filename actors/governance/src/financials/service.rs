//! Public face of the closes.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use muster_core::audit::AuditEntry;
use muster_core::{Clock, Error, Kind, Millis};
use muster_store::{Batch, Encoding, Expect, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::close::{Close, DayBooks, Totals};

/// Action of the entries of closes; their resource is the day.
pub const CLOSE_ACTION: &str = "ledger.close";
/// Time after the end of a day before it is closed: posts of calls that ended at midnight arrive.
pub const GRACE: Duration = Duration::from_secs(600);
/// Key of the first day of which there is to be a close; days begin with a digit.
const BEGIN: &[u8] = b"begin";
/// Days that are closed in one run: more than a year without a run is closed by the next ones.
const MOST: u32 = 400;
const DAY_MS: u64 = 86_400_000;

/// The ledger as closes read it. Days are counted from 1970-01-01 (UTC).
pub trait LedgerDays: Send + Sync {
    /// Returns the books of a day.
    fn day(&self, day: u32) -> BoxFuture<'_, Result<DayBooks, Error>>;

    /// Returns the first day that has rows, or on which a call was admitted that still holds money.
    fn first(&self) -> BoxFuture<'_, Result<Option<u32>, Error>>;
}

/// A close, and whether the ledger still agrees with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseState {
    /// The close.
    pub close: Close,
    /// Whether the rows of the day have the same hash.
    pub matches: bool,
}

/// First day of which there is to be a close.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Begin {
    day: u32,
}

impl Record for Begin {
    const TREE: Tree = Tree::Closes;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// The closes of the ledger. Cheap to clone.
#[derive(Clone)]
pub struct Closes {
    store: StoreHandle,
    clock: Clock,
    ledger: Arc<dyn LedgerDays>,
}

impl std::fmt::Debug for Closes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Closes")
    }
}

impl Closes {
    /// Returns the closes of a store and ledger.
    pub fn new(store: &StoreHandle, clock: &Clock, ledger: Arc<dyn LedgerDays>) -> Self {
        Self { store: Arc::clone(store), clock: clock.clone(), ledger }
    }

    /// Closes every day that is over and settled, in order, and returns them. A day that something can still be charged to
    /// ends the run: the next one goes on from it.
    ///
    /// # Errors
    /// `Unavailable`: the ledger does not answer, or the store accepts no writes. Closes so far stand.
    pub async fn close_due(&self) -> Result<Vec<Close>, Error> {
        let now = self.clock.now();
        let today = day_of(now);
        let first = match self.next().await? {
            Some(day) => day,
            None => self.begin(today).await?,
        };
        // The last day that ended long enough ago.
        let end = day_of(Millis(now.0.saturating_sub(u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX))));
        let mut closed = Vec::new();
        for day in first..end.min(first.saturating_add(MOST)) {
            let DayBooks { rows, settled } = self.ledger.day(day).await?;
            if !settled {
                break;
            }
            // Large days take a while to hash.
            let totals = tokio::task::spawn_blocking(move || Totals::of(rows)).await;
            let totals = totals.map_err(|_| Error::new(Kind::Internal, "a close was not computed"))?;
            match self.close(day, totals, now).await {
                Ok(close) => closed.push(close),
                // Another run closed it.
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(closed)
    }

    async fn close(&self, day: u32, totals: Totals, now: Millis) -> Result<Close, StoreError> {
        let text = text_of(day);
        let details = json!({ "nanos": totals.nanos, "rows": totals.rows, "sha256": totals.sha256 });
        let entry = AuditEntry::new(now, "system", CLOSE_ACTION, &text, details);
        let close = Close { day: text.clone(), totals, at: now, entry: entry.id.clone() };
        let mut batch =
            Batch::put(Tree::Closes, text.clone(), close.encode()?).when(Tree::Closes, text, Expect::Absent);
        batch.ops.push(entry.op()?);
        self.store.commit(batch).await?;
        Ok(close)
    }

    /// Returns the closes of these days, `YYYY-MM-DD` inclusive, each compared with the ledger.
    ///
    /// # Errors
    /// `Unavailable`: the store or the ledger cannot be read.
    pub async fn list(&self, from: &str, to: &str) -> Result<Vec<CloseState>, Error> {
        let (store, from, to) = (Arc::clone(&self.store), from.to_owned(), to.to_owned());
        let read = move || {
            let request = PageRequest::default().starting_at(Some(from.into_bytes()));
            let mut closes = Vec::new();
            for entry in store.entries(Tree::Closes, Vec::new(), request) {
                let (key, rec) = entry?;
                if key.as_slice() > to.as_bytes() {
                    break;
                }
                closes.push(Close::decode(&rec)?);
            }
            Ok::<Vec<Close>, StoreError>(closes)
        };
        let closes = tokio::task::spawn_blocking(read).await.map_err(|_| unread())??;
        let mut states = Vec::with_capacity(closes.len());
        for close in closes {
            let matches = match day_from(&close.day) {
                Some(day) => Totals::of(self.ledger.day(day).await?.rows) == close.totals,
                None => false,
            };
            states.push(CloseState { close, matches });
        }
        Ok(states)
    }

    /// Returns the day after the last close, or the day from which closes begin; `None` if that is not known yet.
    async fn next(&self) -> Result<Option<u32>, Error> {
        let store = Arc::clone(&self.store);
        let read = move || {
            let begin = store.get(Tree::Closes, BEGIN)?.as_ref().map(Begin::decode).transpose()?;
            // Days sort before the key of the beginning.
            let last = store
                .entries(Tree::Closes, Vec::new(), PageRequest::of(2).descending())
                .find(|entry| !matches!(entry, Ok((key, _)) if key == BEGIN))
                .transpose()?;
            let last = last.and_then(|(key, _)| day_from(&String::from_utf8_lossy(&key)));
            Ok::<_, StoreError>(last.map(|day| day + 1).or(begin.map(|begin| begin.day)))
        };
        Ok(tokio::task::spawn_blocking(read).await.map_err(|_| unread())??)
    }

    /// Stores from which day on there are closes: the first one of the ledger, or today.
    async fn begin(&self, today: u32) -> Result<u32, Error> {
        let day = self.ledger.first().await?.map_or(today, |first| first.min(today));
        let batch = Batch::put(Tree::Closes, BEGIN, Begin { day }.encode()?);
        self.store.commit(batch.when(Tree::Closes, BEGIN, Expect::Absent)).await?;
        Ok(day)
    }
}

fn unread() -> Error {
    Error::new(Kind::Internal, "the closes could not be read")
}

fn day_of(at: Millis) -> u32 {
    u32::try_from(at.0 / DAY_MS).unwrap_or(u32::MAX)
}

fn text_of(day: u32) -> String {
    let text = Millis(u64::from(day) * DAY_MS).rfc3339();
    text.get(..10).unwrap_or(&text).to_owned()
}

fn day_from(text: &str) -> Option<u32> {
    Millis::parse_rfc3339(&format!("{text}T00:00:00Z")).map(day_of)
}
