//! Rebuilds from the store, with concurrent changes.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use muster_store::{Batch, MemStore, Page, Rec, Scan, Store, StoreError, StoreStats, Tree as StoreTree, VerifyReport};

use super::fixture::*;
use crate::embed::tests::model::WordModel;
use crate::port::{ApplyOutcome, IndexHealth, IndexSink, Searcher};
use muster_core::{Millis, test_world};

/// A store whose entry scans wait while its gate is closed.
#[derive(Debug)]
struct GatedStore {
    disk: Arc<MemStore>,
    /// Scans that may pass.
    open: Mutex<usize>,
    opened: Condvar,
    /// Scans of entries so far.
    scans: Mutex<usize>,
    failing: Mutex<bool>,
}

impl GatedStore {
    fn new(disk: &Arc<MemStore>, open: usize) -> Arc<Self> {
        Arc::new(Self {
            disk: Arc::clone(disk),
            open: Mutex::new(open),
            opened: Condvar::new(),
            scans: Mutex::new(0),
            failing: Mutex::new(false),
        })
    }

    fn let_pass(&self, scans: usize) {
        *self.open.lock().unwrap() = scans;
        self.opened.notify_all();
    }
}

impl Store for GatedStore {
    fn get(&self, tree: StoreTree, key: &[u8]) -> Result<Option<Rec>, StoreError> {
        self.disk.get(tree, key)
    }

    fn scan(&self, tree: StoreTree, scan: &Scan) -> Result<Page, StoreError> {
        if tree == StoreTree::Memory {
            *self.scans.lock().unwrap() += 1;
            if *self.failing.lock().unwrap() {
                return Err(StoreError::Io("unreadable".to_owned()));
            }
            let mut open = self.open.lock().unwrap();
            while *open == 0 {
                open = self.opened.wait(open).unwrap();
            }
            *open -= 1;
        }
        self.disk.scan(tree, scan)
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'static, Result<(), StoreError>> {
        self.disk.commit(batch)
    }

    fn appended(&self, tree: StoreTree) -> tokio::sync::watch::Receiver<u64> {
        self.disk.appended(tree)
    }

    fn snapshot(&self, to: &mut dyn Write) -> Result<u64, StoreError> {
        self.disk.snapshot(to)
    }

    fn stats(&self) -> StoreStats {
        self.disk.stats()
    }

    fn verify(&self) -> Result<VerifyReport, StoreError> {
        self.disk.verify()
    }
}

const UNLIMITED: usize = 1_000_000;

#[test]
fn changes_during_a_rebuild_are_found_at_once_and_kept() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let owned = space("key_1", "default");
        for key in ["a", "b", "c"] {
            fixture.put(&owned, key, "red fox").await;
        }
        let gated = GatedStore::new(&fixture.disk, 0);
        let mut options = fixture.options(&WordModel::absent());
        options.store = Arc::clone(&gated) as _;
        let indexes = fixture.begin(&tree, options);
        indexes.up().await;
        while *gated.scans.lock().unwrap() < 2 {
            tokio::task::yield_now().await;
        }
        assert!(matches!(indexes.health(), IndexHealth::Rebuilding { .. }));
        assert_eq!(found(&indexes, "key_1", "fox").await, [].into());
        fixture.store_and_index(&indexes, &owned, "d", "white fox").await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(4, 1)].into(), "found by the next search");
        fixture.store_and_index(&indexes, &owned, "a", "red deer").await;
        let gone = fixture.delete(&owned, "b").await.unwrap();
        assert_eq!(announced(&indexes, gone).await, ApplyOutcome::Complete);
        let answer = indexes.search(text_search("key_1", "fox")).await.unwrap();
        assert!(
            matches!(answer.index, IndexHealth::Rebuilding { .. }),
            "the response reports that the index is incomplete"
        );
        gated.let_pass(UNLIMITED);
        ready(&indexes).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(3, 1), (4, 1)].into());
        assert_eq!(found(&indexes, "key_1", "deer").await, [(1, 2)].into());
        assert_eq!(indexes.search(text_search("key_1", "fox")).await.unwrap().index, IndexHealth::Ready);
    });
}

#[test]
fn a_panic_during_a_rebuild_restarts_the_shard() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        for number in 0..40 {
            fixture.put(&space(&format!("key_{number}"), "default"), "k", "red fox").await;
        }
        let gated = GatedStore::new(&fixture.disk, 0);
        let mut options = fixture.options(&WordModel::absent());
        options.store = Arc::clone(&gated) as _;
        let indexes = fixture.begin(&tree, options);
        indexes.up().await;
        assert!(tree.inject_panic("memory/index-0"));
        test_world::until(|| indexes.health() == IndexHealth::Down).await;
        gated.let_pass(UNLIMITED);
        ready(&indexes).await;
        for number in 0..40 {
            assert_eq!(found(&indexes, &format!("key_{number}"), "fox").await.len(), 1);
        }
        assert_eq!(tree.snapshot().iter().map(|actor| actor.restarts).sum::<u64>(), 1);
    });
}

#[test]
fn expired_entries_are_not_indexed_by_a_rebuild() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let owned = space("key_1", "default");
        fixture.put_until(&owned, "a", "red fox", Some(Millis(test_world::START.0 - 1))).await;
        fixture.put_until(&owned, "b", "red fox", Some(Millis(test_world::START.0 + 3_600_000))).await;
        let indexes = fixture.start(&tree).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(2, 1)].into());
        assert_eq!(indexes.stats().await.entries, 1);
    });
}

/// The previous version must not reappear if its successor has expired when a restart reads it.
#[test]
fn an_expired_version_does_not_reveal_the_previous_one() {
    let fixture = Fixture::new();
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let owned = space("key_1", "default");
        let indexes = server.start(&tree).await;
        server.store_and_index(&indexes, &owned, "a", "red fox").await;
        indexes.checkpoint().await.unwrap();
        server.put_until(&owned, "a", "red fox", Some(Millis(test_world::START.0 - 1))).await;
    });
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [].into());
    });
}

#[test]
fn unreadable_stores_are_retried() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        fixture.put(&space("key_1", "default"), "a", "red fox").await;
        let gated = GatedStore::new(&fixture.disk, UNLIMITED);
        *gated.failing.lock().unwrap() = true;
        let mut options = fixture.options(&WordModel::absent());
        options.store = Arc::clone(&gated) as _;
        let indexes = fixture.begin(&tree, options);
        indexes.up().await;
        test_world::after(Duration::from_secs(12)).await;
        assert!(matches!(indexes.health(), IndexHealth::Rebuilding { .. }));
        assert!(*gated.scans.lock().unwrap() >= 4, "each shard, more than once");
        *gated.failing.lock().unwrap() = false;
        ready(&indexes).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(1, 1)].into());
        assert!(tree.snapshot().iter().all(|actor| actor.restarts == 0), "no actor restarted");
    });
}

#[test]
fn a_store_that_takes_no_writes_is_searched_all_the_same() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        fixture.put(&space("key_1", "default"), "a", "red fox").await;
        fixture.kill();
        let indexes = fixture.start(&tree).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(1, 1)].into());
        assert_eq!(indexes.checkpoint().await, Ok(()), "there is none to be written");
        assert_eq!(fixture.files(), [].into());
        assert_eq!(indexes.apply(Vec::new().into()).await, ApplyOutcome::Complete);
    });
}
