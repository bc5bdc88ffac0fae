//! The journal under an actor: a counter whose value is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix::{Handler, Message};
use actix_rt::Arbiter;
use futures::future::join_all;
use muster_store::{Expect, MemStore, Op, Rec, Store, Tree as Trees};

use super::*;
use crate::supervise::{ActorState, ChildSpec, Handle, Tree};
use crate::{Kind, test_world};

const KEY: &[u8] = b"count";

struct Counter {
    count: u64,
    /// The last count that is durable, as others see it.
    published: Arc<AtomicU64>,
    journal: Journal<Reply<u64>>,
    store: StoreHandle,
}

impl Actor for Counter {
    type Context = Context<Self>;
}

impl Journalled for Counter {
    type Effects = Reply<u64>;

    fn journal(&mut self) -> &mut Journal<Reply<u64>> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.store
    }

    fn on_committed(&mut self, committed: Committed<Reply<u64>>, _: &mut Context<Self>) {
        self.published.fetch_max(committed.last, Ordering::SeqCst);
        committed.effects.into_iter().for_each(Reply::send);
    }

    fn on_conflict(&mut self, reply: Reply<u64>, _: &mut Context<Self>) {
        reply.fail(&StoreError::Conflict.into());
    }

    fn on_failed(&mut self, effects: Vec<Reply<u64>>, error: &Error) {
        effects.into_iter().for_each(|reply| reply.fail(error));
    }
}

/// Adds one; answers the count.
#[derive(Message)]
#[rtype(result = "Result<u64, Error>")]
struct Add;

/// Stores something only where it is absent.
#[derive(Message)]
#[rtype(result = "Result<u64, Error>")]
struct Claim;

/// Answers the count, once it is durable.
#[derive(Message)]
#[rtype(result = "Result<u64, Error>")]
struct Count;

impl Handler<Add> for Counter {
    type Result = actix::ResponseFuture<Result<u64, Error>>;

    fn handle(&mut self, _: Add, context: &mut Context<Self>) -> Self::Result {
        if let Err(refused) = self.admit() {
            return Box::pin(std::future::ready(Err(refused)));
        }
        self.count += 1;
        let rec = Rec { schema: 1, bytes: self.count.to_be_bytes().to_vec() };
        let (reply, answer) = Reply::new(self.count);
        self.journal.push(vec![Op::Put { tree: Trees::Meta, key: KEY.to_vec(), rec }], reply);
        self.flush(context);
        Box::pin(answer)
    }
}

impl Handler<Claim> for Counter {
    type Result = actix::ResponseFuture<Result<u64, Error>>;

    fn handle(&mut self, _: Claim, context: &mut Context<Self>) -> Self::Result {
        let (tree, key, rec) = (Trees::Meta, b"claim".to_vec(), Rec { schema: 1, bytes: vec![1] });
        let (reply, answer) = Reply::new(self.count);
        self.journal.push_if(vec![(tree, key.clone(), Expect::Absent)], vec![Op::Put { tree, key, rec }], reply);
        self.flush(context);
        Box::pin(answer)
    }
}

impl Handler<Count> for Counter {
    type Result = actix::ResponseFuture<Result<u64, Error>>;

    fn handle(&mut self, _: Count, context: &mut Context<Self>) -> Self::Result {
        let (reply, answer) = Reply::new(self.count);
        self.journal.push(Vec::new(), reply);
        self.flush(context);
        Box::pin(answer)
    }
}

struct Site {
    counter: Handle<Counter>,
    store: Arc<MemStore>,
    published: Arc<AtomicU64>,
    tree: Tree,
}

impl Site {
    async fn start(tree: Tree) -> Self {
        let (store, published) = (Arc::new(MemStore::default()), Arc::<AtomicU64>::default());
        let (of_counter, seen) = (Arc::clone(&store), Arc::clone(&published));
        let spec = ChildSpec::new("counter", Arbiter::current(), move |_| {
            let (store, published): (StoreHandle, _) = (of_counter.clone(), Arc::clone(&seen));
            async move {
                let journal = Journal::open(&store).await?;
                let count = stored(&*store);
                Ok(Counter { count, published, journal, store })
            }
        });
        let counter = tree.group("test").start(spec);
        counter.up().await;
        Self { counter, store, published, tree }
    }

    async fn add(&self) -> Result<u64, Error> {
        self.counter.ask(Add).await?
    }

    async fn count(&self) -> Result<u64, Error> {
        self.counter.ask(Count).await?
    }

    fn restarts(&self) -> u64 {
        self.tree.snapshot()[0].restarts
    }

    async fn running(&self) {
        test_world::until(|| self.tree.snapshot()[0].state == ActorState::Running).await;
    }
}

fn stored(store: &dyn Store) -> u64 {
    let rec = store.get(Trees::Meta, KEY).unwrap();
    rec.map_or(0, |rec| u64::from_be_bytes(rec.bytes.try_into().unwrap()))
}

fn refused(error: Error, seconds: u64) {
    let expected = "the store does not accept writes now: try again later";
    assert_eq!((error.kind, error.message.as_str()), (Kind::Unavailable, expected));
    assert_eq!((error.code, error.retry_after), (None, Some(Duration::from_secs(seconds))));
}

#[test]
fn writers_share_commits_and_are_answered_in_order_once_durable() {
    test_world::run(|tree| async move {
        let site = Site::start(tree).await;
        let before = site.store.stats().commits;
        site.store.hold_commits();
        let adding = async {
            let answers = join_all((0..500).map(|_| site.add())).await;
            assert!(answers.into_iter().map(Result::unwrap).eq(1..=500));
        };
        let reading = async {
            assert_eq!(site.count().await, Ok(500), "behind what it shows");
        };
        let releasing = async {
            site.store.held(2).await;
            assert_eq!((stored(&*site.store), site.published.load(Ordering::SeqCst)), (0, 0));
            site.store.release();
        };
        tokio::join!(adding, reading, releasing);
        assert_eq!(stored(&*site.store), 500);
        assert!(site.store.stats().commits - before <= 3, "{:?}", site.store.stats());
    });
}

#[test]
fn a_full_store_delays_and_loses_nothing() {
    test_world::run(|tree| async move {
        let site = Site::start(tree).await;
        site.store.fail_commits(Some(StoreError::Busy));
        let adding = async {
            let answers = join_all((0..100).map(|_| site.add())).await;
            assert!(answers.into_iter().map(Result::unwrap).eq(1..=100));
        };
        let mending = async {
            test_world::after(Duration::from_secs(1)).await;
            assert_eq!(site.published.load(Ordering::SeqCst), 0);
            site.store.fail_commits(None);
        };
        tokio::join!(adding, mending);
        assert_eq!((stored(&*site.store), site.restarts()), (100, 0));
    });
}

#[test]
fn a_read_only_store_refuses_before_a_decision_and_reads_go_on() {
    test_world::run(|tree| async move {
        let site = Site::start(tree).await;
        site.add().await.unwrap();
        site.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        for _ in 0..20 {
            refused(site.add().await.unwrap_err(), 30);
        }
        assert_eq!((site.count().await, site.restarts()), (Ok(1), 0));
        site.store.fail_commits(None);
        assert_eq!(site.add().await, Ok(2));
    });
}

#[test]
fn a_failed_commit_fails_all_who_wait_with_one_error_and_the_actor_starts_from_the_store() {
    test_world::run(|tree| async move {
        let site = Site::start(tree).await;
        site.add().await.unwrap();
        site.store.hold_commits();
        let adding = async { join_all((0..50).map(|_| site.add())).await };
        let breaking = async {
            site.store.held(2).await;
            site.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
            site.store.release();
        };
        let (answers, ()) = tokio::join!(adding, breaking);
        // In flight and waiting alike.
        answers.into_iter().for_each(|answer| refused(answer.unwrap_err(), 30));
        site.running().await;
        assert_eq!((site.count().await, site.restarts()), (Ok(1), 1));
        test_world::after(Duration::from_secs(120)).await;
        refused(site.add().await.unwrap_err(), 30);
        assert_eq!(site.restarts(), 1, "no loop while the store stays read-only");
        site.store.fail_commits(None);
        assert_eq!(site.add().await, Ok(2));
    });
}

#[test]
fn a_panic_loses_nothing_that_was_acknowledged_and_the_next_incarnation_sees_what_was_in_flight() {
    test_world::run(|tree| async move {
        let site = Site::start(tree).await;
        for round in 0..4 {
            let before = site.count().await.unwrap();
            site.store.hold_commits();
            let adding = async { join_all((0..20).map(|_| site.add())).await };
            let killing = async {
                site.store.held(2).await;
                assert!(site.tree.inject_panic("test/counter"));
                test_world::until(|| site.restarts() == round + 1).await;
                site.store.release();
            };
            let (answers, ()) = tokio::join!(adding, killing);
            assert!(answers.iter().all(|answer| answer.as_ref().is_err_and(|error| error.kind == Kind::Unavailable)));
            site.running().await;
            assert_eq!(site.count().await, Ok(before + 2), "one in each of two batches");
            assert_eq!(stored(&*site.store), before + 2);
        }
    });
}

#[test]
fn a_condition_that_does_not_hold_is_told_and_breaks_nothing() {
    test_world::run(|tree| async move {
        let site = Site::start(tree).await;
        assert_eq!(site.counter.ask(Claim).await.unwrap(), Ok(0));
        assert_eq!(site.counter.ask(Claim).await.unwrap().unwrap_err().kind, Kind::Conflict);
        assert_eq!((site.add().await, site.restarts()), (Ok(1), 0));
    });
}
