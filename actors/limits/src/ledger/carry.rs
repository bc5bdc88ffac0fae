//! From the journal into the store, and out of it what is too old. Beside the actor.

use std::sync::Arc;

use muster_store::{Batch, Frames, Journal, Record, Scan, Store, StoreError, StoreHandle, Tree};

use super::line::Line;
use super::period::{Day, Month};
use super::record::{self, HEAD, Head, ROW, Shelf, account_prefix, day_prefix};
use super::state::{Book, Changes};
use muster_core::Millis;

/// Most writes of one batch.
const BATCH: usize = 2_000;
/// Rows are kept for so many days.
pub(super) const KEEP_DAYS: u32 = 400;
/// What was spent in a month is kept for so many months.
const KEEP_MONTHS: u32 = 14;
/// Most records cleared away in one sweep.
const SWEEP: usize = 50_000;

/// A book as store and journal have it, and what its actor follows.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) book: Book,
    pub(super) follower: u64,
    pub(super) torn_bytes: u64,
}

/// Reads everything back. Blocking. Holds of a server that ended without a word are charged.
pub(super) fn load(store: &dyn Store, journal: &Journal) -> Result<Loaded, StoreError> {
    let followed = journal.follow();
    // First of all: rows that reach the store meanwhile say themselves which lines they count.
    let head: Head = record::read(store, HEAD)?.unwrap_or_default();
    let after = head.line;
    let mut book = Book::restore(head, Shelf(store))?;
    let mut failed = Ok(());
    let mut each = |number: u64, payload: &[u8]| {
        if failed.is_ok() {
            failed = count(&mut book, number, payload, store);
        }
    };
    let replayed = journal.replay(after, followed.through, &mut each)?;
    Frames::new(&followed.waiting).for_each(|(number, payload)| each(number, payload));
    failed?;
    let open = book.holds_before(journal.started());
    for &hold in &open {
        journal.append_or_buffer(&Line::Charge { hold }.encode());
    }
    tracing::info!(lines = replayed.frames, torn_bytes = replayed.torn_bytes, charged = open.len(), "ledger read back");
    Ok(Loaded { book, follower: followed.follower, torn_bytes: replayed.torn_bytes })
}

/// Counts one line of the journal.
pub(super) fn count(book: &mut Book, number: u64, payload: &[u8], store: &dyn Store) -> Result<(), StoreError> {
    match Line::decode(payload) {
        Some(line) => book.apply(number, &line, Shelf(store)),
        None => {
            tracing::error!(number, "a line of the ledger's journal is of a newer program and is not counted");
            Ok(())
        }
    }
}

/// Writes a checkpoint. The journal first: what the store counts must not be missing there after a power cut, or its
/// number would be given away again.
pub(super) async fn save(store: StoreHandle, journal: Arc<Journal>, changes: Changes) -> Result<(), StoreError> {
    let synced = tokio::task::spawn_blocking(move || journal.sync()).await;
    synced.unwrap_or_else(|_| Err(StoreError::Io("a sync of the journal ended early".to_owned())))?;
    for batch in batches(changes)? {
        store.commit(batch).await?;
    }
    Ok(())
}

/// The batches of a checkpoint, to be committed in order: the head, which vouches for all, is in the last.
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

/// The batches that clear away what is too old. Blocking.
pub(super) fn sweep(store: &dyn Store, now: Millis) -> Result<Vec<Batch>, StoreError> {
    let (day, month) = (Day::of(now).minus(KEEP_DAYS), Month(Month::of(now).0.saturating_sub(KEEP_MONTHS)));
    let mut old = keys(store, &day_prefix(Day(0)), &day_prefix(day))?;
    old.extend(keys(store, &account_prefix(Month(0)), &account_prefix(month))?);
    let batch =
        |keys: &[Vec<u8>]| keys.iter().fold(Batch::default(), |batch, key| batch.and_delete(Tree::Ledger, key.clone()));
    Ok(old.chunks(BATCH).map(batch).collect())
}

fn keys(store: &dyn Store, from: &[u8], end: &[u8]) -> Result<Vec<Vec<u8>>, StoreError> {
    let prefix = from.get(..1).unwrap_or(&[ROW]).to_vec();
    let (mut found, mut from) = (Vec::new(), Some(from.to_vec()));
    while found.len() < SWEEP && from.is_some() {
        let page = store.scan(Tree::Ledger, &Scan { prefix: prefix.clone(), from, limit: 1_000, ..Scan::default() })?;
        let read = page.items.len();
        let before = found.len();
        found.extend(page.items.into_iter().map(|(key, _)| key).take_while(|key| key.as_slice() < end));
        from = page.next.filter(|_| found.len() - before == read);
    }
    Ok(found)
}
