//! Reading and removing stored records.

use std::collections::BTreeSet;

use muster_store::{MemStore, Store};

use super::support::*;
use crate::collect;
use crate::log::{EventLog, Spend};
use crate::record;
use crate::rule::Window;

const T0: u64 = 1_000_000_000_000;
const EXACTLY: Spend = Spend { requests: 0, tokens: 0 };
const LEASED: Spend = Spend { requests: 6, tokens: 0 };

/// A log of requests at intervals of a second from `T0`, with the minute window.
fn log(requests: u64) -> EventLog {
    let mut log = EventLog::default();
    log.watch(Window::Minute, T0);
    for n in 0..requests {
        log.push(T0 + n * 1_000, 1, 0);
    }
    log
}

async fn write(store: &MemStore, log: &mut EventLog, lease: Spend, now: u64) {
    let changed = log.take_dirty();
    let batch = record::batch(&chat("key_1").key, log, lease, now, &changed, &[]).unwrap();
    store.commit(batch).await.unwrap();
}

#[tokio::test]
async fn a_segment_newer_than_its_head_counts_up_to_the_head() {
    let (store, key) = (MemStore::default(), chat("key_1").key);
    write(&store, &mut log(5), LEASED, T0 + 5_000).await;
    // The same bucket three requests later: its segment is stored already, its head is not.
    let mut later = log(8);
    let changed = later.take_dirty();
    let mut batch = record::batch(&key, &later, LEASED, T0 + 8_000, &changed, &[]).unwrap();
    batch.ops.retain(|op| !matches!(op, muster_store::Op::Put { key: at, .. } if *at == record::head_key(&key)));
    store.commit(batch).await.unwrap();
    let found = record::read(&store, &key).unwrap().unwrap();
    assert_eq!((found.events.len(), found.head.lease()), (5, LEASED));
    assert_eq!(found.segments, BTreeSet::from([0]));
}

#[tokio::test]
async fn a_bucket_with_a_missing_segment_is_an_error() {
    let (store, key) = (MemStore::default(), chat("key_1").key);
    let log = log(5);
    store.commit(record::batch(&key, &log, EXACTLY, T0, &BTreeSet::new(), &[]).unwrap()).await.unwrap();
    assert!(matches!(record::read(&store, &key), Err(muster_store::StoreError::Corrupt(_))));
}

#[tokio::test]
async fn only_expired_buckets_are_removed() {
    let last = T0 + 4_000;
    let over = last + 60_000;
    // Lease, time of the write, start of the server, now; whether it is removed.
    let cases = [
        (EXACTLY, last, T0, over - 1, false),
        (EXACTLY, last, T0, over, true),
        // Written by this run of the server: its shard may be admitting under it.
        (LEASED, last, T0, over + 3_600_000, false),
        (LEASED, last, last, over + 3_600_000, false),
        // Written by an earlier run, which may have used it until its end.
        (LEASED, last, last + 30_000, last + 89_999, false),
        (LEASED, last, last + 30_000, last + 90_000, true),
    ];
    for (lease, written, started, now, removed) in cases {
        let store = MemStore::default();
        write(&store, &mut log(5), lease, written).await;
        for batch in collect::rounds(&store, started, now).unwrap() {
            store.commit(batch).await.unwrap();
        }
        assert_eq!(records(&store), if removed { 0 } else { 2 }, "{lease:?} of {written}, from {started}, at {now}");
    }
}

#[tokio::test]
async fn a_bucket_used_again_meanwhile_is_not_removed() {
    let store = MemStore::default();
    write(&store, &mut log(5), EXACTLY, T0 + 4_000).await;
    let rounds = collect::rounds(&store, T0, T0 + 90_000).unwrap();
    let mut revived = log(5);
    revived.push(T0 + 90_000, 1, 0);
    write(&store, &mut revived, LEASED, T0 + 90_000).await;
    for batch in rounds {
        assert_eq!(store.commit(batch).await, Err(muster_store::StoreError::Conflict));
    }
    assert_eq!(records(&store), 2);
}
