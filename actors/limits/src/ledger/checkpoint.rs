//! Moves journal lines into the store, and removes old rows from it; outside of the actor.

use std::sync::Arc;

use muster_store::{Batch, Frames, Journal, PageRequest, Record, Store, StoreError, StoreHandle, Tree};

use super::line::{JournalLine, report_unknown};
use super::period::{Day, Month};
use super::record::{self, GROUP, HEAD, Head, ROW, RecordReader, account_prefix, day_prefix};
use super::state::{Changes, LedgerState};
use muster_core::Millis;

/// Maximum number of writes in one batch.
const BATCH: usize = 2_000;
/// Number of days for which rows are kept.
pub(super) const KEEP_DAYS: u32 = 400;
/// Number of months for which monthly totals are kept.
const KEEP_MONTHS: u32 = 14;
/// Maximum number of records removed in one sweep.
const SWEEP: usize = 50_000;

/// The state restored from store and journal, and the journal position that the actor follows.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) ledger: LedgerState,
    pub(super) follower: u64,
    pub(super) torn_bytes: u64,
}

/// Restores everything. Blocking. Holds left open by a server that did not shut down cleanly are charged.
pub(super) fn load(store: &dyn Store, journal: &Journal) -> Result<Loaded, StoreError> {
    let followed = journal.follow();
    // Read first: rows that reach the store meanwhile state which lines they include.
    let head: Head = record::read(store, HEAD)?.unwrap_or_default();
    let after = head.line;
    let mut ledger = LedgerState::restore(head, RecordReader(store))?;
    let mut failed = Ok(());
    let mut each = |number: u64, payload: &[u8]| {
        if failed.is_ok() {
            failed = count(&mut ledger, number, payload, store);
        }
    };
    let replayed = journal.replay(after, followed.through, &mut each)?;
    Frames::new(&followed.waiting).for_each(|(number, payload)| each(number, payload));
    failed?;
    let open = ledger.holds_before(journal.started());
    for &hold in &open {
        journal.append_or_buffer(&JournalLine::Charge { hold }.encode());
    }
    tracing::info!(lines = replayed.frames, torn_bytes = replayed.torn_bytes, charged = open.len(), "ledger restored");
    Ok(Loaded { ledger, follower: followed.follower, torn_bytes: replayed.torn_bytes })
}

/// Applies one line of the journal.
pub(super) fn count(
    ledger: &mut LedgerState,
    number: u64,
    payload: &[u8],
    store: &dyn Store,
) -> Result<(), StoreError> {
    match JournalLine::decode(payload) {
        Some(line) => ledger.apply(number, &line, RecordReader(store)),
        None => {
            report_unknown(number);
            Ok(())
        }
    }
}

/// Writes a checkpoint. The journal is synced first: lines included in the store must not be missing from it after a
/// power cut, or their numbers would be assigned again.
pub(super) async fn save(store: StoreHandle, journal: Arc<Journal>, changes: Changes) -> Result<(), StoreError> {
    let synced = tokio::task::spawn_blocking(move || journal.sync()).await;
    synced.unwrap_or_else(|_| Err(StoreError::Io("a sync of the journal ended early".to_owned())))?;
    for batch in batches(changes)? {
        store.commit(batch).await?;
    }
    Ok(())
}

/// Returns the batches of a checkpoint, to be committed in order. The last one contains the head, which declares the
/// others complete.
pub(super) fn batches(changes: Changes) -> Result<Vec<Batch>, StoreError> {
    let mut puts = Vec::with_capacity(changes.rows.len() + changes.accounts.len() + 1);
    for (key, record) in &changes.rows {
        puts.push((key.encode(), record.encode()?));
    }
    for (key, record) in &changes.accounts {
        puts.push((key.encode(), record.encode()?));
    }
    puts.push((HEAD.to_vec(), changes.head.encode()?));
    let batch = |puts: &[(Vec<u8>, muster_store::Rec)]| {
        let put = |batch: Batch, (key, rec): &(Vec<u8>, muster_store::Rec)| {
            batch.and_put(Tree::Ledger, key.clone(), rec.clone())
        };
        puts.iter().fold(Batch::default(), put)
    };
    Ok(puts.chunks(BATCH).map(batch).collect())
}

/// Returns the batches that remove old records. Blocking.
pub(super) fn sweep(store: &dyn Store, now: Millis) -> Result<Vec<Batch>, StoreError> {
    let (day, month) = (Day::of(now).minus(KEEP_DAYS), Month(Month::of(now).0.saturating_sub(KEEP_MONTHS)));
    let mut old = keys(store, &day_prefix(ROW, Day(0)), &day_prefix(ROW, day))?;
    old.extend(keys(store, &day_prefix(GROUP, Day(0)), &day_prefix(GROUP, day))?);
    old.extend(keys(store, &account_prefix(Month(0)), &account_prefix(month))?);
    let batch =
        |keys: &[Vec<u8>]| keys.iter().fold(Batch::default(), |batch, key| batch.and_delete(Tree::Ledger, key.clone()));
    Ok(old.chunks(BATCH).map(batch).collect())
}

fn keys(store: &dyn Store, from: &[u8], end: &[u8]) -> Result<Vec<Vec<u8>>, StoreError> {
    let (prefix, page) = (from.get(..1).unwrap_or(&[ROW]), PageRequest::default().starting_at(Some(from.to_vec())));
    let keys = store.entries(Tree::Ledger, prefix, page).map(|entry| entry.map(|(key, _)| key));
    keys.take_while(|key| key.as_ref().map_or(true, |key| key.as_slice() < end)).take(SWEEP).collect()
}
