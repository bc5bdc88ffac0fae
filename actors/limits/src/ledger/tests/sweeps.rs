//! Removal of old records.

use futures::FutureExt;
use muster_store::{Store, Tree as StoreTree};

use super::*;
use crate::ledger::checkpoint::{batches, sweep};
use crate::ledger::period::Month;
use crate::ledger::record::{AccountKey, AccountRecord, Head, RowRecord};
use crate::ledger::row::RowKey;
use crate::ledger::state::Changes;

#[test]
fn rows_expire_after_400_days_and_totals_after_14_months() {
    let disk = MemStore::default();
    let today = Day::of(test_world::START);
    let of = |dimension, day| (RowKey { day, dimension, id: "key_1".into(), model: "m".into() }, RowRecord::default());
    let row = |day: Day| of(Dimension::Key, day);
    let account = |month: u32| {
        let month = Month(Month::of(test_world::START).0 - month);
        (AccountKey { month, budget: Budget::Key, id: "key_1".into() }, AccountRecord::default())
    };
    let rows = [0, 399, 400, 401, 4_000].map(|days| row(today.minus(days)));
    let teams = [400, 401].map(|days| of(Dimension::Team, today.minus(days)));
    let accounts = [0, 14, 15, 99].map(account);
    let changes = Changes { rows: [&rows[..], &teams].concat(), accounts: accounts.to_vec(), head: Head::default() };
    for batch in batches(changes).unwrap() {
        disk.commit(batch).now_or_never().unwrap().unwrap();
    }
    for batch in sweep(&disk, test_world::START).unwrap() {
        disk.commit(batch).now_or_never().unwrap().unwrap();
    }
    let there = |key: Vec<u8>| disk.get(StoreTree::Ledger, &key).unwrap().is_some();
    assert_eq!(rows.map(|(key, _)| there(key.encode())), [true, true, true, false, false]);
    assert_eq!(teams.map(|(key, _)| there(key.encode())), [true, false]);
    assert_eq!(accounts.map(|(key, _)| there(key.encode())), [true, true, false, false]);
    assert!(there(b"h".to_vec()));
    assert!(sweep(&disk, test_world::START).unwrap().is_empty());
}
