//! Rebuilds from the store, with concurrent changes.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use muster_store::{Batch, MemStore, Page, Rec, Scan, Store, StoreError, StoreStats, Tree as StoreTree, VerifyReport};

use super::site::*;
use crate::embed::tests::model::Words;
use crate::port::{IndexHealth, IndexSink, Searcher, Taken};
use muster_core::{Millis, test_world};

/// A store whose entry scans wait while its gate is closed.
#[derive(Debug)]
struct Gated {
    disk: Arc<MemStore>,
    /// Scans that may pass.
    open: Mutex<usize>,
    opened: Condvar,
    /// Scans of entries so far.
    scans: Mutex<usize>,
    failing: Mutex<bool>,
}

impl Gated {
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

impl Store for Gated {
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

const MANY: usize = 1_000_000;

#[test]
fn what_comes_while_a_shard_is_built_is_found_at_once_and_stays() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let home = space("key_1", "default");
        for key in ["a", "b", "c"] {
            site.put(&home, key, "red fox").await;
        }
        let gated = Gated::new(&site.disk, 0);
        let mut options = site.options(&Words::absent());
        options.store = Arc::clone(&gated) as _;
        let indexes = site.begin(&tree, options);
        indexes.up().await;
        while *gated.scans.lock().unwrap() < 2 {
            tokio::task::yield_now().await;
        }
        assert!(matches!(indexes.health(), IndexHealth::Rebuilding { .. }));
        assert_eq!(found(&indexes, "key_1", "fox").await, [].into());
        site.store_and_index(&indexes, &home, "d", "white fox").await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(4, 1)].into(), "found by the next search");
        site.store_and_index(&indexes, &home, "a", "red deer").await;
        let gone = site.delete(&home, "b").await.unwrap();
        assert_eq!(announced(&indexes, gone).await, Taken::All);
        let answer = indexes.search(ask("key_1", "fox")).await.unwrap();
        assert!(matches!(answer.index, IndexHealth::Rebuilding { .. }), "it says that it is not whole");
        gated.let_pass(MANY);
        ready(&indexes).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(3, 1), (4, 1)].into());
        assert_eq!(found(&indexes, "key_1", "deer").await, [(1, 2)].into());
        assert_eq!(indexes.search(ask("key_1", "fox")).await.unwrap().index, IndexHealth::Ready);
    });
}

#[test]
fn a_panic_while_a_shard_is_built_is_one_more_start() {
    let site = Site::new();
    test_world::run(|tree| async move {
        for number in 0..40 {
            site.put(&space(&format!("key_{number}"), "default"), "k", "red fox").await;
        }
        let gated = Gated::new(&site.disk, 0);
        let mut options = site.options(&Words::absent());
        options.store = Arc::clone(&gated) as _;
        let indexes = site.begin(&tree, options);
        indexes.up().await;
        assert!(tree.inject_panic("memory/index-0"));
        test_world::until(|| indexes.health() == IndexHealth::Down).await;
        gated.let_pass(MANY);
        ready(&indexes).await;
        for number in 0..40 {
            assert_eq!(found(&indexes, &format!("key_{number}"), "fox").await.len(), 1);
        }
        assert_eq!(tree.snapshot().iter().map(|actor| actor.restarts).sum::<u64>(), 1);
    });
}

#[test]
fn what_is_over_when_it_is_read_is_not_indexed() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let home = space("key_1", "default");
        site.put_until(&home, "a", "red fox", Some(Millis(test_world::START.0 - 1))).await;
        site.put_until(&home, "b", "red fox", Some(Millis(test_world::START.0 + 3_600_000))).await;
        let indexes = site.start(&tree).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(2, 1)].into());
        assert_eq!(indexes.stats().await.entries, 1);
    });
}

/// The previous version must not reappear if its successor has expired when a restart reads it.
#[test]
fn a_version_that_is_over_takes_the_one_before_it_along() {
    let site = Site::new();
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        let home = space("key_1", "default");
        let indexes = server.start(&tree).await;
        server.store_and_index(&indexes, &home, "a", "red fox").await;
        indexes.checkpoint().await.unwrap();
        server.put_until(&home, "a", "red fox", Some(Millis(test_world::START.0 - 1))).await;
    });
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [].into());
    });
}

#[test]
fn a_store_that_cannot_be_read_is_tried_again() {
    let site = Site::new();
    test_world::run(|tree| async move {
        site.put(&space("key_1", "default"), "a", "red fox").await;
        let gated = Gated::new(&site.disk, MANY);
        *gated.failing.lock().unwrap() = true;
        let mut options = site.options(&Words::absent());
        options.store = Arc::clone(&gated) as _;
        let indexes = site.begin(&tree, options);
        indexes.up().await;
        test_world::after(Duration::from_secs(12)).await;
        assert!(matches!(indexes.health(), IndexHealth::Rebuilding { .. }));
        assert!(*gated.scans.lock().unwrap() >= 4, "each shard, more than once");
        *gated.failing.lock().unwrap() = false;
        ready(&indexes).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(1, 1)].into());
        assert!(tree.snapshot().iter().all(|actor| actor.restarts == 0), "nobody died of it");
    });
}

#[test]
fn a_store_that_takes_no_writes_is_searched_all_the_same() {
    let site = Site::new();
    test_world::run(|tree| async move {
        site.put(&space("key_1", "default"), "a", "red fox").await;
        site.kill();
        let indexes = site.start(&tree).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(1, 1)].into());
        assert_eq!(indexes.checkpoint().await, Ok(()), "there is none to be written");
        assert_eq!(site.files(), [].into());
        assert_eq!(indexes.apply(Vec::new().into()).await, Taken::All);
    });
}
