//! Fixture of the limiter's tests: a running limiter, and a store that can lose power.

use std::future::Future;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_rt::Arbiter;
use futures::future::BoxFuture;
use muster_store::{Batch, MemStore, Page, Rec, Scan, Store, StoreError, StoreStats, Tree as StoreTree, VerifyReport};

use crate::*;
use muster_core::supervise::{ActorState, Tree};
use muster_core::{Clock, Error, test_world};

pub(super) const PER_MINUTE: u64 = 120;

/// A running limiter with one shard, over a store in memory and a clock that stands still.
pub(super) struct LimiterFixture {
    pub(super) tree: Tree,
    pub(super) disk: Arc<MemStore>,
    pub(super) limiter: RateLimiter,
}

/// Runs a test with a limiter of its own, as `limits/rate-0` in the tree.
pub(super) fn with_limiter<F, Fut>(test: F)
where
    F: FnOnce(LimiterFixture) -> Fut,
    Fut: Future<Output = ()>,
{
    test_world::run(|tree| async move {
        let disk = Arc::new(MemStore::default());
        let store: Arc<dyn Store> = disk.clone();
        let limiter = limiter(&tree, "limits", &store, &Clock::manual(test_world::START));
        running(&tree, "limits/rate-0").await;
        test(LimiterFixture { tree, disk, limiter }).await;
    });
}

/// Starts a limiter with one shard in a group of its own, on virtual time.
pub(super) fn limiter(tree: &Tree, group: &str, store: &Arc<dyn Store>, clock: &Clock) -> RateLimiter {
    with(tree, group, store, clock, &Options::default())
}

pub(super) fn with(tree: &Tree, group: &str, store: &Arc<dyn Store>, clock: &Clock, options: &Options) -> RateLimiter {
    RateLimiter::start(&tree.group(group), &[Arbiter::current()], store, clock, options)
}

pub(super) async fn running(tree: &Tree, path: &str) {
    test_world::until(|| tree.snapshot().iter().any(|actor| actor.path == path && actor.state == ActorState::Running))
        .await;
}

pub(super) fn admit(id: &str, rules: &[Rule], estimate: Estimate) -> Admit {
    Admit {
        key: BucketKey { subject: Subject::principal(id), category: Category::Chat },
        rules: Arc::from(rules),
        part: AdmissionPart::Whole,
        estimate,
        hold_for: Duration::from_secs(40),
    }
}

/// One request under 120 per minute.
pub(super) fn chat(id: &str) -> Admit {
    admit(id, &[Rule::requests(PER_MINUTE, Window::Minute)], Estimate::default())
}

pub(super) async fn passes(limiter: &RateLimiter, request: Admit) -> Result<bool, Error> {
    Ok(matches!(limiter.admit(request).await?, Decision::Admitted { .. }))
}

/// Advances virtual time, running everything that is due.
pub(super) async fn later(by: Duration) {
    // The timeout is expected to elapse.
    let _ = tokio::time::timeout(by, std::future::pending::<()>()).await;
}

/// Sends requests until one is rejected; returns the number admitted.
pub(super) async fn exhaust(limiter: &RateLimiter, request: &Admit) -> u64 {
    let mut passed = 0;
    while passes(limiter, request.clone()).await.unwrap() {
        passed += 1;
    }
    passed
}

/// The store as seen by one run of the server, until its power is cut: from then on its commits have no effect and are
/// never replied to, while others continue with what is there.
#[derive(Debug)]
pub(super) struct PowerCutStore {
    pub(super) disk: Arc<MemStore>,
    off: AtomicBool,
}

impl PowerCutStore {
    pub(super) fn new(disk: &Arc<MemStore>) -> Arc<Self> {
        Arc::new(Self { disk: Arc::clone(disk), off: AtomicBool::new(false) })
    }

    pub(super) fn cut(&self) {
        self.off.store(true, Ordering::SeqCst);
    }
}

impl Store for PowerCutStore {
    fn get(&self, tree: StoreTree, key: &[u8]) -> Result<Option<Rec>, StoreError> {
        self.disk.get(tree, key)
    }

    fn scan(&self, tree: StoreTree, scan: &Scan) -> Result<Page, StoreError> {
        self.disk.scan(tree, scan)
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'static, Result<(), StoreError>> {
        if self.off.load(Ordering::SeqCst) { Box::pin(std::future::pending()) } else { self.disk.commit(batch) }
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

/// Returns the number of stored records of limits.
pub(super) fn records(store: &dyn Store) -> usize {
    store.scan(StoreTree::Limits, &Scan { limit: 1_000, ..Scan::default() }).unwrap().items.len()
}
